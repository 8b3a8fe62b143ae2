"""Names of sessions: whatever a host calls a conversation, brought to a name that can be stored and indexed."""

from __future__ import annotations

import hashlib
from typing import Final

from hermes_memory.domain.model import SessionId
from hermes_memory.domain.scrubbing import scrub, text_of

MAX_SESSION_CHARS: Final = 256
_DIGEST_CHARS: Final = 32


def session_name(value: object) -> SessionId | None:
    r"""Return the session that a host's id stands for, None when it names none.

    Control characters and half characters are mended as in any text. A longer id than 256 characters keeps its
    beginning and gets a digest of the whole, so that two long ids stay two.

    >>> session_name("20260503\x00_ab12"), session_name("  "), session_name(7)
    ('20260503_ab12', None, '7')
    """
    if value is None:
        return None
    name = scrub(text_of(value)).strip()
    if len(name) > MAX_SESSION_CHARS:
        digest = hashlib.sha256(name.encode("utf-8")).hexdigest()[:_DIGEST_CHARS]
        name = f"{name[: MAX_SESSION_CHARS - _DIGEST_CHARS - 1]}~{digest}"
    return SessionId(name) if name else None
