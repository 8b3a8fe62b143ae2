"""The subject behind a key as an operator has it: the host's session key, an address, or a platform and a contact."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from hermes_memory.domain.contact_spelling import contact_name
from hermes_memory.domain.contacts import ContactKind, recognise
from hermes_memory.domain.errors import InvalidInput
from hermes_memory.domain.model import SUBJECT_BYTES, Subject
from hermes_memory.domain.names import fold_name
from hermes_memory.domain.platforms import platform_name
from hermes_memory.domain.subjects import subject_for

_UNKNOWN: Final = (
    "this key names nobody: give the host's session key, PLATFORM:CONTACT as in telegram:12345, an address, or the 64 "
    "hexadecimal digits of a subject"
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
        InvalidInput: The key is empty or names nobody.
    """
    given = key.strip()
    if len(given) == 2 * SUBJECT_BYTES and _is_hexadecimal(given):
        return Named(subject=Subject(bytes.fromhex(given)), kind=None)
    if contact := recognise(given):
        return Named(subject=subject_for(secret, contact.kind, contact.platform, contact.key), kind=contact.kind)
    platform, colon, name = given.partition(":")
    known, folded = platform_name(platform), fold_name(name)
    if not colon or not known or not folded or any(character in "*%?" for character in given):
        raise InvalidInput(_UNKNOWN, field="subject")
    subject = subject_for(secret, ContactKind.PERSON, known, contact_name(known, folded))
    return Named(subject=subject, kind=ContactKind.PERSON)


def _is_hexadecimal(text: str) -> bool:
    return all(character in "0123456789abcdef" for character in text.lower())
