"""What a session remembers of a turn that was forgotten: a mark, by which the same turn is known when it comes again.

A mark holds nothing of the text, but whoever has it can try texts against it, so it goes when its session is erased.
"""

from __future__ import annotations

from collections.abc import Collection
from hashlib import sha256
from typing import Final

MARK_BYTES: Final = 32


def forgotten_mark(role: str, occurrence: int, content_hash: bytes) -> bytes:
    """Return the mark of a turn of a session, `MARK_BYTES` long; `content_hash` is the SHA-256 of its text."""
    return sha256(f"{role} {occurrence} ".encode() + content_hash).digest()


def has_forgotten(kept: Collection[bytes], role: str, occurrence: int, content_hash: bytes) -> bool:
    """Tell whether a turn is one of those that were forgotten in a session that keeps these marks."""
    return forgotten_mark(role, occurrence, content_hash) in kept


def marks_besides(joined: bytes, known: Collection[bytes]) -> bytes:
    """Return those of the marks that a session keeps one behind the other that are not known, in their order.

    >>> marks_besides(b"a" * 32 + b"b" * 32, {b"a" * 32}) == b"b" * 32
    True
    """
    return b"".join(mark for mark in _parted(joined) if mark not in known)


def marks(joined: bytes) -> frozenset[bytes]:
    """Return the marks that a session keeps one behind the other.

    >>> sorted(marks(b"a" * 32 + b"b" * 32 + b"a" * 32)) == [b"a" * 32, b"b" * 32]
    True
    """
    return frozenset(_parted(joined))


def _parted(joined: bytes) -> list[bytes]:
    return [joined[start : start + MARK_BYTES] for start in range(0, len(joined), MARK_BYTES)]
