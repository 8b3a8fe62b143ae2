"""The subject behind a key as an operator has it: the host's session key, an address, or a platform and a contact."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from hermes_memory.domain.contact_spelling import contact_name, flatten
from hermes_memory.domain.contacts import ContactKind, recognise
from hermes_memory.domain.errors import InvalidInput
from hermes_memory.domain.model import SUBJECT_BYTES, Subject
from hermes_memory.domain.names import fold_name
from hermes_memory.domain.platforms import platform_name
from hermes_memory.domain.subjects import subject_for

_PATTERN: Final = re.compile(r"[*?]|%(?!(?<=\w%)\w[\w.+%'-]{0,63}@)|\.\+(?!\w)")
"""What patterns are made of, and keys are not, but for a percent sign within an address. A key that looks like a
pattern would be taken for many, and is nobody's."""
_BRACKETS: Final = re.compile(r"[\[\]{}|^\\]")
"""Signs of patterns that are letters in nicknames."""
_NICKNAMES: Final = frozenset({"irc", "xmpp"})
"""Platforms on which people choose what they are called by, with such signs."""
_UNKNOWN: Final = (
    "this key names nobody: give the host's session key with the id in it, PLATFORM:CONTACT as in telegram:12345, an "
    "address, or the 64 hexadecimal digits of a subject. A key names one person or group: no character of a pattern, "
    "as *, %, ? or, but in a nickname, a bracket, may be in it"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """Whom a key names.

    Attributes:
        kind: Person or group; None for the digits of a subject, which do not tell.
    """

    subject: Subject
    kind: ContactKind | None


def subject_of_key(secret: bytes, key: str) -> Subject:
    """Return the subject of a key; see `named_by_key`."""
    return named_by_key(secret, key).subject


def named_by_key(secret: bytes, key: str) -> Named:
    """Return the subject of a key, the same one under which the host's conversations are kept, and what it is.

    Args:
        secret: The installation's secret.
        key: Personal data; nothing of it is kept, and no message quotes it.

    Raises:
        InvalidInput: The key is empty, names nobody, lacks the id of whom it names, or has characters of a pattern.
    """
    given = key.strip()
    if len(given) == 2 * SUBJECT_BYTES and _is_hexadecimal(given):
        return Named(subject=Subject(bytes.fromhex(given)), kind=None)
    if _PATTERN.search(flatten(given)):
        raise InvalidInput(_UNKNOWN, field="subject")
    if contact := recognise(given):
        _require_nickname(contact.platform, given)
        _require_id(contact.key)
        return Named(subject=subject_for(secret, contact.kind, contact.platform, contact.key), kind=contact.kind)
    platform, colon, name = given.partition(":")
    known, folded = platform_name(platform), fold_name(name)
    if not colon or not known or not folded:
        raise InvalidInput(_UNKNOWN, field="subject")
    _require_nickname(known, given)
    contact_id = contact_name(known, folded)
    _require_id(contact_id)
    subject = subject_for(secret, ContactKind.PERSON, known, contact_id)
    return Named(subject=subject, kind=ContactKind.PERSON)


def _require_nickname(platform: str, key: str) -> None:
    if platform not in _NICKNAMES and _BRACKETS.search(flatten(key)):
        raise InvalidInput(_UNKNOWN, field="subject")


def _require_id(contact: str) -> None:
    # Conversations whose host gives no id have one subject: nobody means all of them by one person's key.
    if not any(map(str.isalnum, contact)):
        raise InvalidInput(_UNKNOWN, field="subject")


def _is_hexadecimal(text: str) -> bool:
    return all(character in "0123456789abcdef" for character in text.lower())
