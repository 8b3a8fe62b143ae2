"""Whether a longer name holds the key of a contact, and how the key may be spelt within it."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from hermes_memory.domain.contact_spelling import count_digits, flatten

_SHORTEST_KEY: Final = 3
_SHORTEST_NUMBER: Final = 5
"""Characters, and digits, of a key that tell whom a name is about."""
_SHORTEST_GLUED: Final = 5
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


def is_plain_word(spelling: str) -> bool:
    """Tell whether a spelling is a word as any other: without a digit and a sign of an address.

    >>> is_plain_word("maria"), is_plain_word("maria@example.org")
    (True, False)
    """
    return not any(char.isdecimal() or char in "@:" for char in spelling)


def counts_glued(spelling: str) -> bool:
    """Tell whether a spelling tells of a contact wherever it stands, and not only as a word of its own."""
    return len(spelling) >= _SHORTEST_GLUED and not is_plain_word(spelling)


def mentions(flat: str, contacts: Iterable[str]) -> bool:
    """Tell whether a flattened name holds one of the contacts, be it glued to other letters or digits.

    A plain word is no piece of another: whoever is called "maria" is not in "mariana".

    Linear in the length of the name.

    >>> mentions("wa4915150607080", ["+49 151 50607080"]), mentions("banana", ["ana"])
    (True, False)
    """
    return any(_holds(flat, spelling) for key in contacts for spelling in spellings(key))


def _holds(flat: str, part: str) -> bool:
    if counts_glued(part):
        return part in flat
    start = flat.find(part)
    while start >= 0:
        around = flat[max(start - 1, 0) : start], flat[start + len(part) : start + len(part) + 1]
        if not any(map(str.isalnum, around)):
            return True
        start = flat.find(part, start + 1)
    return False
