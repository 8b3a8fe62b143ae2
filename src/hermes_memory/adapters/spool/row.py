"""One row of the spool, and the digests in it."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import Final

_CHECKSUM_BYTES: Final = 16


class Damaged(Exception):
    """The file, or a row in it, is not what was written."""


@dataclass(frozen=True, slots=True)
class Row:
    """One operation as kept, waiting or (with `buried_at`, in Unix seconds) dead. The columns in their order."""

    sequence: int
    id: bytes
    lane: bytes
    attempts: int
    held_at: float
    not_before: float
    buried_at: float | None
    reason: str | None
    checksum: bytes
    body: bytes

    @property
    def sound(self) -> bool:
        """Whether the checksum confirms what must never change. In a damaged file a column may hold anything."""
        try:
            return self.checksum == checksum_of(self.sequence, self.id, self.lane, self.body) and self.attempts >= 0
        except TypeError:
            return False


def lane_key(lane: str) -> bytes:
    """Shorten the name of a lane, which is long and tells who talks, to 16 bytes."""
    return blake2b(lane.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def checksum_of(sequence: int, operation: bytes, lane: bytes, body: bytes) -> bytes:
    """Digest the parts of a row that never change."""
    digest = blake2b(sequence.to_bytes(8, "big", signed=True), digest_size=_CHECKSUM_BYTES)
    for part in (operation, lane, body):
        digest.update(part)
    return digest.digest()
