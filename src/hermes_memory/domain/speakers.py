"""Names of who speaks, without the key of a contact that such a name may be or hold.

Where a platform knows no name, its host hands over the telephone number, the address or the id instead. An id that is
a plain word is a name as any other: platforms of nicknames have no second one.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
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
from hermes_memory.domain.mentions import counts_glued, is_plain_word, spellings

_NUMBER: Final = re.compile(r"(?<!\w)\+?[0-9](?:[\W_]{0,3}[0-9]){6,255}(?!\w)")
"""As many digits as the shortest telephone number has, standing alone. No name needs them."""
_GLUED_NUMBER: Final = re.compile(r"[0-9](?:[\W_]{0,3}[0-9]){9,255}")
"""As many as a number has that is taken for a telephone's without a sign. Within a word, fewer may be a year or two."""
_SENDERS_KEYS: Final = (
    re.compile(
        r"(?!(?:19|20)[0-9]{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])(?:[0-9]{4}|[0-9]{6})?(?![0-9]))[0-9]{7,24}"
    ),
    re.compile(r"\+[0-9](?:[ ()/-]{0,3}[0-9]){6,14}"),
    EMAIL,
    WHATSAPP_JID,
    re.compile(r"@[^\s:@]{1,255}:[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}"),
)
"""Keys that show by their shape: an unbroken number that is no date, one that may be dialled, and addresses."""
_BESIDE_A_NAME: Final = re.compile(r"[^|]{1,320}?\s[(<](.{1,320})[)>]")
_SHORTEST_SENDER: Final = 3
_SHORTEST_ID: Final = 5
"""Digits of a name without a letter that are taken for an id."""
_NUMBERS: Final = (_NUMBER, _GLUED_NUMBER)
_KEYS: Final = (WHATSAPP_JID, IMESSAGE_GUID, EMAIL, INTERNATIONAL_PHONE, *_NUMBERS)
_EMPTY: Final = re.compile(r"[(\[{<][\s\"']{0,9}[)\]}>]")
_ROUNDS: Final = 4
_AROUND: Final = "<>()[]{}\"'`,;:|/~*=- "


def speaker_name(given: str, contacts: frozenset[str] = frozenset()) -> str | None:
    """Return a name without the keys in it, None when nothing is left or what is left still tells a contact.

    A name without a key is returned as it is, and a word that holds one is left out as a whole. Linear in the length of
    the name.

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
        or any(number.search(flat) for number in (*_NUMBERS, *_patterns(contacts)))
        or recognise(flat) is not None
        or any(map(_is_key, flat.split()))
    )


def _is_key(word: str) -> bool:
    flat = flatten(word).strip(_AROUND)
    return recognise(flat) is not None or is_opaque_id(flat)


def _without_keys(name: str, contacts: frozenset[str]) -> str:
    name = " ".join(word for word in name.split() if not _is_key(word))
    for key in (*_KEYS, *_patterns(contacts)):
        name = _without_words(key, name)
    return " ".join(_EMPTY.sub(" ", name).split()).strip(_AROUND)


def _without_words(key: re.Pattern[str], name: str) -> str:
    """Leave out every word in which a key is found, and what is found between words."""
    kept, end = [], 0
    for found in key.finditer(name):
        start = max(found.start(), end)
        while start > end and _goes_on(name, start):
            start -= 1
        kept.append(name[end:start])
        end = max(found.end(), end)
        while end < len(name) and _goes_on(name, end):
            end += 1
    return " ".join((*kept, name[end:])) if kept else name


def _goes_on(name: str, at: int) -> bool:
    """Tell whether a word goes on across a place in a name."""
    return all(char.isalnum() or char == "_" for char in name[at - 1 : at + 1])


def _patterns(contacts: frozenset[str]) -> Iterator[re.Pattern[str]]:
    """Yield what finds the contacts in a name, a longer spelling before one that it holds."""
    spelt = {spelling for key in contacts for spelling in spellings(key) if not is_plain_word(spelling)}
    for spelling in sorted(spelt, key=len, reverse=True):
        found = re.escape(spelling)
        alone = rf"(?<![^\W_]){found}(?![^\W_])"
        yield re.compile(found if counts_glued(spelling) else alone, re.IGNORECASE)


def holds_key(name: str, contacts: frozenset[str] = frozenset()) -> bool:
    """Tell whether a name is the key of a contact or holds one, as `speaker_name` leaves it out.

    >>> holds_key("Ana (+49 151 50607080)"), holds_key("Ana (night shift)")
    (True, False)
    """
    return speaker_name(name, contacts) != name.strip()


def shows_sender(front: str) -> bool:
    """Tell by its shape alone whether what stands in brackets in front of a text is the key of who sent it.

    A name may stand before the key. What people write in brackets themselves is none: dates, times, sums, tickets.

    >>> shows_sender("Ana|777000111"), shows_sender("2026-11-30"), shows_sender("#1234567")
    (True, False, False)
    """
    name, _, key = front.rpartition("|")
    beside = None if name else _BESIDE_A_NAME.fullmatch(front)
    flat = flatten(beside[1] if beside else key).strip()
    return is_opaque_id(flat) or any(shape.fullmatch(flat) for shape in _SENDERS_KEYS)


def sender_keys(names: Iterable[str], contacts: frozenset[str]) -> frozenset[str]:
    """Return the keys with which a host may say who sent a text, in the spellings that `sender_spellings` compares.

    Args:
        names: What the host calls somebody. One that is a name is no key, and what it says is worth keeping.
        contacts: Keys of whom the talk is with. They are personal data.
    """
    keyed = (name for name in names if holds_key(name, contacts))
    spelt = {each for key in contacts for each in sender_spellings(key) if len(each) >= _SHORTEST_SENDER}
    return frozenset({each for each in spelt if not is_plain_word(each)}.union(*map(sender_spellings, keyed)))


def sender_spellings(sender: str) -> frozenset[str]:
    """Return how a sender may be spelt: as given, and a number or the address of one by its digits too."""
    flat = " ".join(flatten(sender).split())
    number = flat.partition("@")[0]
    digits = "".join(filter(str.isdecimal, number))
    return frozenset({flat, digits} if is_numeric(number) and len(digits) >= _SHORTEST_ID else {flat} - {""})
