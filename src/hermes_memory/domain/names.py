"""The one spelling of a name, whoever writes it in whatever script."""

from __future__ import annotations

import unicodedata
from functools import lru_cache
from typing import Final

_SPACES: Final = frozenset("\t\n\v\f\r\x85")
_SPACE_CATEGORIES: Final = frozenset({"Zs", "Zl", "Zp"})
_UNSEEN_CATEGORIES: Final = frozenset({"Cc", "Cf", "Cs"})
_UNSEEN_RANGES: Final = (
    (0x034F, 0x034F),
    (0x115F, 0x1160),
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x3164, 0x3164),
    (0xFE00, 0xFE0F),
    (0xFFA0, 0xFFA0),
    (0xE0000, 0xE0FFF),
)
"""Letters and marks that show nothing (fillers, joiners, variation selectors): Unicode's Default_Ignorable_Code_Point
outside the categories above."""
_SETTLING_ROUNDS: Final = 4


def fold_name(text: str) -> str:
    r"""Bring a name to its one spelling: compatibility forms and case folded, nothing invisible, single spaces.

    Folding again changes nothing, whatever the script.

    >>> fold_name("  Ｍarke\u200bting \x00 Desk")
    'marketing desk'
    """
    folded = _fold_once(text)
    for _ in range(_SETTLING_ROUNDS):
        again = _fold_once(folded)
        if again == folded:
            break
        folded = again
    return folded


def _fold_once(text: str) -> str:
    seen = "".join(map(_shown, text))
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", seen).casefold())
    return " ".join(part for part in "".join(map(_shown, folded)).split(" ") if part)


@lru_cache(maxsize=4096)
def _shown(char: str) -> str:
    """Return what shows of a character: itself, a space, or nothing."""
    category = unicodedata.category(char)
    if char in _SPACES or category in _SPACE_CATEGORIES:
        return " "
    if category in _UNSEEN_CATEGORIES or any(first <= ord(char) <= last for first, last in _UNSEEN_RANGES):
        return ""
    return char
