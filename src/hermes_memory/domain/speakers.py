"""Names of who speaks, without the key of a contact that such a name may be or hold.

Where a platform knows no name, its host hands over the telephone number, the address or the id instead.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from hermes_memory.domain.contact_spelling import (
    EMAIL,
    IMESSAGE_GUID,
    INTERNATIONAL_PHONE,
    WHATSAPP_JID,
    count_digits,
    flatten,
    is_numeric,
    plainly,
)
from hermes_memory.domain.contacts import is_opaque_id, recognise
from hermes_memory.domain.mentions import SHORTEST_GLUED, mentions, spellings

_NUMBER: Final = re.compile(r"\+?[0-9](?:[\W_]{0,3}[0-9]){6,255}")
"""As many digits as the shortest telephone number has. No name needs them."""
_SHORTEST_ID: Final = 5
"""Digits of a name without a letter that are taken for an id."""
_KEYS: Final = (WHATSAPP_JID, IMESSAGE_GUID, EMAIL, INTERNATIONAL_PHONE, _NUMBER)
_EMPTY: Final = re.compile(r"[(\[{<][\s\"']{0,9}[)\]}>]")
_ROUNDS: Final = 4
_AROUND: Final = "<>()[]{}\"'`,;:|/~*=- "


def speaker_name(given: str, contacts: frozenset[str] = frozenset()) -> str | None:
    """Return a name without the keys in it, None when nothing is left or what is left still tells a contact.

    A name without a key is returned as it is. Linear in the length of the name.

    Args:
        given: What somebody is called.
        contacts: Keys that are known to be a contact's. They are personal data.

    >>> speaker_name("Ana Kestrel <ana@example.org>"), speaker_name("+49 151 50607080")
    ('Ana Kestrel', None)
    """
    return _named(given, contacts)


@lru_cache(maxsize=1_024)
def _named(given: str, contacts: frozenset[str]) -> str | None:
    # Asked at every turn: looking a name over takes as long as accepting one.
    name = given
    for _ in range(_ROUNDS):
        if not _tells(flatten(name), contacts):
            return name.strip() or None
        name = _without_keys(plainly(unicodedata.normalize("NFKC", name)), contacts)
    return None


def _tells(flat: str, contacts: frozenset[str]) -> bool:
    return (
        (is_numeric(flat) and count_digits(flat) >= _SHORTEST_ID)
        or _NUMBER.search(flat) is not None
        or mentions(flat, contacts)
        or recognise(flat) is not None
        or any(map(_is_key, flat.split()))
    )


def _is_key(word: str) -> bool:
    flat = flatten(word).strip(_AROUND)
    return recognise(flat) is not None or is_opaque_id(flat)


def _without_keys(name: str, contacts: frozenset[str]) -> str:
    name = " ".join(word for word in name.split() if not _is_key(word))
    for key in (*_KEYS, *_patterns(contacts)):
        name = key.sub(" ", name)
    return " ".join(_EMPTY.sub(" ", name).split()).strip(_AROUND)


def _patterns(contacts: frozenset[str]) -> Iterator[re.Pattern[str]]:
    """Yield what finds the contacts in a name, a longer spelling before one that it holds."""
    spelt = {spelling for key in contacts for spelling in spellings(key)}
    for spelling in sorted(spelt, key=len, reverse=True):
        found = re.escape(spelling)
        alone = len(spelling) < SHORTEST_GLUED
        yield re.compile(rf"(?<![^\W_]){found}(?![^\W_])" if alone else found, re.IGNORECASE)
