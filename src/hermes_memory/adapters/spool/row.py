"""One row of the spool, and the digests in it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from typing import Final

LATEST: Final = 253_402_300_800.0
"""The year 10000 in Unix seconds: no moment that Python's calendar knows comes after it."""
LONGEST_HOLD: Final = 7 * 86_400.0
"""Seconds for which an operation is held back at most."""
_CHECKSUM_BYTES: Final = 16


class Damaged(Exception):
    """The file is not what was written."""


class DamagedRow(Exception):
    """A row is not what was written, though the file around it may be."""


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

    def held(self, now: float) -> bool:
        """Tell whether a waiting row is held back now. The times may be damaged: see `lookups.due`."""
        return self.held_at <= now < self.not_before <= self.held_at + LONGEST_HOLD

    @property
    def sound(self) -> bool:
        """Whether the checksum confirms what must never change. In a damaged file a column may hold anything."""
        try:
            return self.checksum == checksum_of(self.sequence, self.id, self.lane, self.body) and self.attempts >= 0
        except TypeError:
            return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """What was ever counted in a spool, in the order of the columns; never less than before."""

    last_sequence: int = 0
    delivered: int = 0
    buried: int = 0
    discarded: int = 0
    refused: int = 0


@lru_cache(maxsize=1_024)
def lane_key(lane: str) -> bytes:
    """Shorten the name of a lane, which is long and tells who talks, to 16 bytes."""
    return blake2b(lane.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def checksum_of(sequence: int, operation: bytes, lane: bytes, body: bytes) -> bytes:
    """Digest the parts of a row that never change."""
    parts = b"".join((sequence.to_bytes(8, "big", signed=True), operation, lane, body))
    return blake2b(parts, digest_size=_CHECKSUM_BYTES).digest()
