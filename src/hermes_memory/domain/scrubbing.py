"""Characters and objects that a store cannot hold, made harmless."""

from __future__ import annotations

import re
import unicodedata
from datetime import date, datetime, time
from typing import Final

_LINE_ENDS: Final = re.compile(r"\r\n?|\x85")
_ESCAPES: Final = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]{0,64}[ -/]{0,8}[@-~]|(?:\x1b\]|\x9d)[^\x07\x1b\x9c\n]{0,1024}(?:\x07|\x1b\\|\x9c)"
)
"""What tells a terminal to move, to colour or to name its window (ECMA-48, 5.4 and 5.6)."""
_CONTROLS: Final = dict.fromkeys((*range(9), *range(11, 32), *range(127, 160)))
_SURROGATES: Final = re.compile(r"[\ud800-\udfff]")
_HALF_CHARACTERS: Final = frozenset({"Mn", "Me", "Mc"})
_JOINERS: Final = frozenset("\u200d\ufe0f")
_LONGEST_CLUSTER: Final = 32

_REPRESENTATION_ERRORS: Final = (
    ArithmeticError,
    AttributeError,
    LookupError,
    NameError,
    OSError,
    RuntimeError,
    TypeError,
    ValueError,
)
"""What a foreign `__str__` may raise for reasons of its own."""


def without_escapes(text: str) -> str:
    r"""Remove the sequences by which a text controls a terminal.

    >>> without_escapes("\x1b[1;31mred\x1b[0m")
    'red'
    """
    return _ESCAPES.sub("", text) if "\x1b" in text or "\x9b" in text or "\x9d" in text else text


def scrub(text: str) -> str:
    r"""Remove NUL and the other control characters but `\n` and `\t`, and escape sequences whole; mend surrogates.

    Line ends become `\n`. Two surrogates that form a character become it; a lone one becomes U+FFFD.

    >>> scrub("a\x00b\r\nc\ud83d")
    'ab\nc�'
    """
    # Most texts are printable but for what parts their lines: they have neither controls nor surrogates.
    if text.isprintable() or text.replace("\n", " ").replace("\t", " ").isprintable():
        return text
    text = _LINE_ENDS.sub("\n", without_escapes(text)).translate(_CONTROLS)
    if _SURROGATES.search(text):
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def cut(text: str, max_chars: int, marker: str) -> str:
    """Shorten a text to `max_chars` characters, the marker included, without splitting a character from its marks."""
    if len(text) <= max_chars:
        return text
    end = max(max_chars - len(marker), 0)
    for _ in range(min(_LONGEST_CLUSTER, end)):
        if not _belongs_together(text[end - 1], text[end]):
            break
        end -= 1
    return text[:end] + marker[: max_chars - end]


def text_of(value: object) -> str:
    """Write any object as text, even one whose own conversion fails."""
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value).decode("utf-8", "replace")
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    try:
        return str(value)
    except _REPRESENTATION_ERRORS:
        return f"[{type(value).__name__}]"


def _belongs_together(left: str, right: str) -> bool:
    return left == "\u200d" or right in _JOINERS or unicodedata.category(right) in _HALF_CHARACTERS
