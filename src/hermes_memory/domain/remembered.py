"""Remembers what was read out of a text, because what comes up in one answer often comes up in the next."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Final, TypeVar

Read = TypeVar("Read")

TEXTS_KEPT: Final = 4_096
LONGEST_KEPT: Final = 2_000
"""Characters. Longer texts are few, and would take up the room of many."""


def remembered(read: Callable[[str], Read]) -> Callable[[str], Read]:
    """Have a pure function of a text remember its last answers, of texts up to `LONGEST_KEPT` characters.

    Example:
        >>> shout = remembered(str.upper)
        >>> shout("now"), shout("now")
        ('NOW', 'NOW')
    """
    known = lru_cache(maxsize=TEXTS_KEPT)(read)

    @wraps(read)
    def reading(text: str) -> Read:
        return known(text) if len(text) <= LONGEST_KEPT else read(text)

    return reading
