"""What characters count as the same, and which ones nobody can see."""

from __future__ import annotations

import json
import re
import unicodedata
from typing import Final

# Combining accents and vowel points that readers type or leave out at will. The breve of Cyrillic й stays: it is a
# letter of its own, which word endings (and stemmers) depend on.
# Looking back comes last: a set of characters is found quickly, a way back from every character is not.
_ACCENTS: Final = re.compile(
    "[\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u0640"
    "\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed](?<![иИ]\u0306)"
)
# Letters that are written with a stroke or a ligature, which no decomposition takes apart.
_STROKES: Final = str.maketrans(
    {
        "ł": "l",
        "Ł": "L",
        "ø": "o",
        "Ø": "O",
        "đ": "d",
        "Đ": "D",
        "ð": "d",
        "Ð": "D",
        "ħ": "h",
        "Ħ": "H",
        "ı": "i",
        "æ": "ae",
        "Æ": "AE",
        "œ": "oe",
        "Œ": "OE",
        "þ": "th",
        "Þ": "TH",
    }
)
_STROKE: Final = re.compile(f"[{''.join(map(chr, _STROKES))}]")
_INVISIBLE: Final = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    "\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff\ud800-\udfff]"
)
# Line breaks, too, that JSON has no need of.
_UNSAFE_IN_JSON: Final = re.compile(f"{_INVISIBLE.pattern[:-1]}\x85\u2028\u2029]")


def without_invisible(text: str) -> str:
    """Remove what shows nothing but changes how text is read: controls, bidirectional overrides, zero-width characters.

    Line breaks, tabs and the variation selectors of emoji stay. Lone surrogates, which cannot be stored, go too.
    """
    return text if text.isascii() and text.isprintable() else _INVISIBLE.sub("", text)


def escaped_invisible(document: str) -> str:
    r"""Escape in a JSON document what a terminal would obey, or a reader not see. It says the same as before.

    >>> escaped_invisible('{"a": "safe\u202etxt.exe"}')
    '{"a": "safe\\u202etxt.exe"}'
    """
    return _UNSAFE_IN_JSON.sub(lambda found: json.dumps(found[0])[1:-1], document)


def shows(text: str) -> bool:
    """Tell whether anything of a text can be seen."""
    beginning = text[:1]
    if beginning.isascii() and beginning.isprintable() and not beginning.isspace():  # as that of most trimmed texts
        return bool(text)
    return bool(without_invisible(text).strip())


def fold(text: str) -> str:
    """Bring text to one spelling: compatibility forms unified, accents and invisible characters removed, case kept.

    Example:
        >>> fold("Ｃafé naïve Łódź")
        'Cafe naive Lodz'
    """
    if text.isascii():
        return without_invisible(text)
    decomposed = unicodedata.normalize("NFKD", without_invisible(text))
    composed = unicodedata.normalize("NFC", _ACCENTS.sub("", decomposed))
    # Looking takes a twentieth of the time of translating, and few texts hold any.
    return composed.translate(_STROKES) if _STROKE.search(composed) else composed
