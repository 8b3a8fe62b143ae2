"""What a session remembers of a turn that was forgotten: a mark, by which the same turn is known when it comes again.

A mark holds nothing of the text, but whoever has it can try texts against it, so it goes when its session is erased.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Final

MARK_BYTES: Final = 32


def forgotten_mark(role: str, occurrence: int, content_hash: bytes) -> bytes:
    """Return the mark of a turn of a session, `MARK_BYTES` long; `content_hash` is the SHA-256 of its text."""
    return sha256(f"{role} {occurrence} ".encode() + content_hash).digest()


def marks(joined: bytes) -> frozenset[bytes]:
    """Return the marks that a session keeps one behind the other.

    >>> sorted(marks(b"a" * 32 + b"b" * 32 + b"a" * 32)) == [b"a" * 32, b"b" * 32]
    True
    """
    return frozenset(joined[start : start + MARK_BYTES] for start in range(0, len(joined), MARK_BYTES))
