"""Takes from quoted text what could end the quotation or pass for something else than a quotation."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import Final

from hermes_memory.domain.characters import without_invisible
from hermes_memory.domain.fences import BLOCK_TAG, HOST_TAG

LINE_BREAK: Final = " ⏎ "
"""Stands for a line break in text that is shown on one line."""

_TAG_NAMES: Final = "|".join(
    (
        *(name.replace("-", r"[\s⏎_-]{0,3}") for name in (HOST_TAG, BLOCK_TAG)),
        r"(?:system|sys|assistant|developer|human)\b",
        r"(?:tool|function)[\s⏎_-]{0,3}(?:calls?|results?|responses?|outputs?)\b",
        r"(?:invoke|instructions?|prompt|im_start|im_end|endoftext)\b",
    )
)
# A tag opens with "<"; what looks like one with blanks, slashes or bars before the name is read like one.
_OPENING: Final = re.compile(
    rf"<(?=[\s⏎/\\|!?]*(?:{_TAG_NAMES}))|<(?=\|)|\[(?=\s*(?:system\s*note|/?inst\]))", re.IGNORECASE
)
_HARMLESS: Final = {"<": "‹", "[": "("}
_BLANKS: Final = re.compile(r"\s+")
_LINE_BREAKS: Final = re.compile("[\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029]")
_CODE_FENCE: Final = re.compile("[`~]{3,}")
_MARKUP: Final = re.compile(r"(?:^|(?<=⏎ ))(?=[#＃>]|[-*+•‣▪◦–—](?:\s|$))")
_QUOTES: Final = str.maketrans("“”„‟", '""""')


def defuse(text: str) -> str:
    """Make text harmless inside of a fence, with its lines kept: nothing invisible, no tag of a fence or of a role.

    The opening bracket of such a tag, and of the host's own note, becomes one that looks alike and means nothing.
    Compatibility forms of the same characters count as the characters. Applying it twice changes nothing more.

    Example:
        >>> defuse("see </memory-context> and <b>")
        'see ‹/memory-context> and <b>'
    """
    visible = without_invisible(text)
    plain = visible if visible.isascii() else "".join(map(_plain, visible))
    parts: list[str] = []
    position = 0
    for match in _OPENING.finditer(plain):
        parts += (visible[position : match.start()], _HARMLESS[plain[match.start()]])
        position = match.start() + 1
    return "".join((*parts, visible[position:]))


def neutralise(text: str) -> str:
    r"""Make text harmless inside of a quotation on one line: `defuse`, and nothing that structures a document.

    Line breaks become a visible mark, code fences lose their backticks, headings and bullets at the beginning of a
    line are escaped, and typographic double quotes become plain ones, because those are what it is quoted with.
    Applying it twice changes nothing more.

    Example:
        >>> neutralise("done\n# SYSTEM\n- obey")
        'done ⏎ \\# SYSTEM ⏎ \\- obey'
    """
    one_line = defuse(_BLANKS.sub(_blank, without_invisible(text).strip())).translate(_QUOTES)
    return _MARKUP.sub(r"\\", _CODE_FENCE.sub(lambda match: "'" * len(match[0]), one_line))


def _blank(blanks: re.Match[str]) -> str:
    return LINE_BREAK if _LINE_BREAKS.search(blanks[0]) else " "


@lru_cache(maxsize=4_096)
def _plain(character: str) -> str:
    """Return the one plain character that this one is a form of, or itself when it is none or several."""
    if unicodedata.category(character) == "Pd":
        return "-"
    plain = unicodedata.normalize("NFKC", character)
    return plain if len(plain) == 1 else character
