"""The subject behind a key as an operator has it: the host's session key, an address, or a platform and a contact."""

from __future__ import annotations

from typing import Final

from hermes_memory.domain.contact_spelling import contact_name
from hermes_memory.domain.contacts import ContactKind, recognise
from hermes_memory.domain.errors import InvalidInput
from hermes_memory.domain.model import SUBJECT_BYTES, Subject
from hermes_memory.domain.platforms import platform_name
from hermes_memory.domain.subjects import subject_for
from hermes_memory.domain.themes import fold_name

_UNKNOWN: Final = (
    "this key names nobody: give the host's session key, PLATFORM:CONTACT as in telegram:12345, an address, or the 64 "
    "hexadecimal digits of a subject"
)


def subject_of_key(secret: bytes, key: str) -> Subject:
    """Return the subject of a key, the same one under which the host's conversations are kept.

    Args:
        secret: The installation's secret.
        key: Personal data; nothing of it is kept, and no message quotes it.

    Raises:
        InvalidInput: The key is empty or names nobody.
    """
    given = key.strip()
    if len(given) == 2 * SUBJECT_BYTES and _is_hexadecimal(given):
        return Subject(bytes.fromhex(given))
    if contact := recognise(given):
        return subject_for(secret, contact.kind, contact.platform, contact.key)
    platform, colon, name = given.partition(":")
    known, folded = platform_name(platform), fold_name(name)
    if not colon or not known or not folded or any(character in "*%?" for character in given):
        raise InvalidInput(_UNKNOWN, field="subject")
    return subject_for(secret, ContactKind.PERSON, known, contact_name(known, folded))


def _is_hexadecimal(text: str) -> bool:
    return all(character in "0123456789abcdef" for character in text.lower())
