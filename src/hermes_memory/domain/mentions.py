"""Whether a longer name holds the key of a contact, and how the key may be spelt within it."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from hermes_memory.domain.contact_spelling import count_digits, flatten

_SHORTEST_KEY: Final = 3
_SHORTEST_NUMBER: Final = 5
"""Characters, and digits, of a key that tell whom a name is about."""
SHORTEST_GLUED: Final = 5
"""Characters of a key that tell so wherever they stand. A shorter one is a piece of too many words and numbers."""


@lru_cache(maxsize=1_024)
def spellings(key: str) -> frozenset[str]:
    """Return how a contact may be named within a longer name; nothing that is too short to tell who it is."""
    flat = flatten(key)
    digits = "".join(filter(str.isdecimal, flat))
    spelt = {flat, flat.strip("+@#!")}
    if len(digits) >= _SHORTEST_NUMBER and count_digits(flat.partition("@")[0]) == len(digits):
        spelt.add(digits)
    return frozenset(each for each in spelt if len(each) >= _SHORTEST_KEY)


def mentions(flat: str, contacts: Iterable[str]) -> bool:
    """Tell whether a flattened name holds one of the contacts, be it glued to other letters or digits.

    Linear in the length of the name.

    >>> mentions("wa4915150607080", ["+49 151 50607080"]), mentions("banana", ["ana"])
    (True, False)
    """
    return any(_holds(flat, spelling) for key in contacts for spelling in spellings(key))


def _holds(flat: str, part: str) -> bool:
    if len(part) >= SHORTEST_GLUED:
        return part in flat
    start = flat.find(part)
    while start >= 0:
        around = flat[max(start - 1, 0) : start], flat[start + len(part) : start + len(part) + 1]
        if not any(map(str.isalnum, around)):
            return True
        start = flat.find(part, start + 1)
    return False
