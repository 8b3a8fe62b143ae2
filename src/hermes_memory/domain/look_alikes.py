"""Characters that are drawn like plain Latin letters and brackets, and mean something else.

The pairs are those of Unicode Technical Standard 39 (confusables) that can spell a tag or a role to somebody who reads.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache
from string import ascii_uppercase
from typing import Final

_ALPHABETS: Final = (
    # Cyrillic
    ("авеѕіјкмнорстухѵԁԍһӏԛԝАВЕЅІЈКМНОРСТУХѴԌҺӀԚԜ", "abesijkmhopctyxvdghlqwABESIJKMHOPCTYXVGHLQW"),
    # Greek
    ("αβεικνορτυχγΑΒΕΖΗΙΚΜΝΟΡΤΥΧ", "abeikvoptuxyABEZHIKMNOPTYX"),
    # Armenian and Cherokee
    ("սոհցյօաᎪᎬᏚᎢᎻᏦᎷᏢᏟ", "unhgjowAESTHKMPC"),
    # Phonetic
    ("ᴀᴄᴅᴇɢʜɪᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏᴢɑɩı", "acdeghijklmnoprstuvwyzaii"),
    # Lisu
    ("ꓮꓐꓚꓓꓰꓝꓖꓧꓲꓙꓗꓡꓟꓠꓳꓑꓣꓢꓔꓴꓦꓪꓫꓬꓜ", "ABCDEFGHIJKLMNOPRSTUVWXYZ"),
    # Letters as pictures, white on black in a circle or a square, and those that make up flags
    *(("".join(map(chr, range(start, start + 26))), ascii_uppercase) for start in (0x1F150, 0x1F170, 0x1F1E6)),
)
"""Letters of other alphabets, each with the Latin one that it is drawn like at the same place."""
_LETTERS: Final = {
    ord(letter): latin for letters, latins in _ALPHABETS for letter, latin in zip(letters, latins, strict=True)
}
_SIGNS: Final = str.maketrans(
    dict.fromkeys("〈⟨❮❬❰ᐸ˂⧼≺⋖«≪", "<")
    | dict.fromkeys("【〔〖⟦⟬⦗⁅❲〚", "[")
    | dict.fromkeys("∕⁄⧸⟋", "/")
    | dict.fromkeys("−ー", "-")
)


@lru_cache(maxsize=4_096)
def plain_look(character: str) -> str:
    """Return the plain character that this one looks like, itself when it looks like none, "" for a mark upon another.

    Of a ligature it is several. A syllable of Hangul stays one character.

    Example:
        >>> plain_look("ѕ"), plain_look("【"), plain_look("ｍ"), plain_look("é"), plain_look("水"), plain_look("ﬆ")
        ('s', '[', 'm', 'e', '水', 'st')
        >>> len(plain_look("한"))
        1
    """
    if unicodedata.category(character) == "Pd":
        return "-"
    compatible = unicodedata.normalize("NFKC", character)
    base = "".join(each for each in unicodedata.normalize("NFD", compatible) if not unicodedata.combining(each))
    return unicodedata.normalize("NFC", base).translate(_LETTERS).translate(_SIGNS)


def plain_looks(text: str) -> str:
    """Return a text as it looks, in plain characters where it has any that are drawn like them."""
    return text if text.isascii() else "".join(map(plain_look, text))
