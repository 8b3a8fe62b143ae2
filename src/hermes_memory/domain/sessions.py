"""Names of sessions: whatever a host calls a conversation, brought to a name that can be stored and indexed.

A host may call it by the person or the group that it is with. Such a name is kept as a keyed hash alone.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from hermes_memory.domain.contact_spelling import flatten
from hermes_memory.domain.contacts import recognise
from hermes_memory.domain.mentions import mentions
from hermes_memory.domain.model import SessionId
from hermes_memory.domain.redaction import redact
from hermes_memory.domain.scrubbing import scrub, text_of
from hermes_memory.domain.subjects import subject_for

MAX_SESSION_CHARS: Final = 256
_DIGEST_CHARS: Final = 32
_SHORT_DIGEST_CHARS: Final = 8
"""Enough to tell the sessions of a home apart, too few to confirm a guess at a secret."""
_ROUNDS: Final = 4
"""A digest that comes after `password=` looks like a secret itself. A name is mended until it stands for itself."""
_HIDDEN: Final = re.compile(r"contact~[0-9a-f]{32}")
_ORDINARY: Final = re.compile(r"[0-9]{8}_[0-9]{6}(?:_(?P<after>[0-9a-f]{1,32}))?|1[0-9]{9}\.[0-9]{6}")
"""How hosts name sessions by their time: such a name may have digits alone, and could be dialled."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionNames:
    """Names the sessions of an installation as they are kept.

    A name that tells whom a conversation is with, by its shape or because it holds one of the contacts, is kept as
    `contact~` and 32 hexadecimal digits of a keyed hash: the same name always leads to the same session, and nothing
    that is kept leads back. Every other name is kept as it is.

    Attributes:
        secret: The installation's secret, at least 16 bytes.
        contacts: Keys of whom the talk is with, as the host says. Personal data, kept in memory alone.
    """

    secret: bytes = field(repr=False)
    contacts: frozenset[str] = field(default=frozenset(), repr=False)

    def __call__(self, value: object) -> SessionId | None:
        """Return the name under which the session is kept that a host's id stands for; None when it names none."""
        name = session_name(value)
        return None if name is None else _kept(self.secret, self.contacts, name)

    def hidden(self, value: object) -> SessionId | None:
        """Return the name under which the session would be kept if the id told of a contact."""
        name = session_name(value)
        return None if name is None else _hidden(self.secret, name)


def tells_a_contact(name: str) -> bool:
    """Tell whether the name of a session is by its shape the key of a person or group.

    >>> tells_a_contact("telegram:dm:12345"), tells_a_contact("20260503_101500_12345678")
    (True, False)
    """
    return not _named_otherwise(name) and recognise(name) is not None


def _named_otherwise(name: str) -> bool:
    return _ORDINARY.fullmatch(name) is not None or _HIDDEN.fullmatch(name) is not None


def _holds_one(name: str, contacts: frozenset[str]) -> bool:
    if not contacts or _HIDDEN.fullmatch(name):
        return False
    ordinary = _ORDINARY.fullmatch(name)
    # Of a time, some digits may equal a short id; what comes after it is the host's to choose.
    return mentions(flatten(ordinary["after"] or "" if ordinary else name), contacts)


@lru_cache(maxsize=1_024)
def _kept(secret: bytes, contacts: frozenset[str], name: SessionId) -> SessionId:
    # Asked at every write: looking a name over takes as long as accepting one.
    return _hidden(secret, name) if tells_a_contact(name) or _holds_one(name, contacts) else name


def _hidden(secret: bytes, name: str) -> SessionId:
    if _HIDDEN.fullmatch(name):
        return SessionId(name)
    return SessionId(f"contact~{subject_for(secret, 'session', name).hex()[:_DIGEST_CHARS]}")


def session_name(value: object) -> SessionId | None:
    r"""Return the session that a host's id stands for, None when it names none.

    Control characters and half characters are mended as in any text. A longer id than 256 characters keeps its
    beginning and gets a digest of the whole, so that two long ids stay two. A secret in it is taken out, whatever the
    policy on texts: the name stays one that no other id leads to, and a short digest tells nothing of what it was.

    >>> session_name("20260503\x00_ab12"), session_name("  "), session_name(7)
    ('20260503_ab12', None, '7')
    """
    if type(value) is str:
        return _name(value)
    return None if value is None else _name(text_of(value))


@lru_cache(maxsize=1_024)
def _name(text: str) -> SessionId | None:
    name = scrub(text).strip()
    for _ in range(_ROUNDS):
        mended = _fitting(_without_secrets(name))
        if mended == name:
            return SessionId(name) if name else None
        name = mended
    return SessionId(f"~{_digest(name)[:_DIGEST_CHARS]}")


def _fitting(name: str) -> str:
    if len(name) <= MAX_SESSION_CHARS:
        return name
    return f"{name[: MAX_SESSION_CHARS - _DIGEST_CHARS - 1]}~{_digest(name)[:_DIGEST_CHARS]}"


def _without_secrets(name: str) -> str:
    redacted = redact(name)
    return f"{redacted.text}~{_digest(name)[:_SHORT_DIGEST_CHARS]}" if redacted.counts else name


def _digest(name: str) -> str:
    return hashlib.sha256(name.encode("utf-8")).hexdigest()
