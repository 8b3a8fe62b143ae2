"""Names of sessions: whatever a host calls a conversation, brought to a name that can be stored and indexed."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from typing import Final

from hermes_memory.domain.model import SessionId
from hermes_memory.domain.redaction import redact
from hermes_memory.domain.scrubbing import scrub, text_of

MAX_SESSION_CHARS: Final = 256
_DIGEST_CHARS: Final = 32
_SHORT_DIGEST_CHARS: Final = 8
"""Enough to tell the sessions of a home apart, too few to confirm a guess at a secret."""


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
    name = _without_secrets(scrub(text).strip())
    if len(name) > MAX_SESSION_CHARS:
        name = f"{name[: MAX_SESSION_CHARS - _DIGEST_CHARS - 1]}~{_digest(name)[:_DIGEST_CHARS]}"
    return SessionId(name) if name else None


def _without_secrets(name: str) -> str:
    redacted = redact(name)
    return f"{redacted.text}~{_digest(name)[:_SHORT_DIGEST_CHARS]}" if redacted.counts else name


def _digest(name: str) -> str:
    return hashlib.sha256(name.encode("utf-8")).hexdigest()
