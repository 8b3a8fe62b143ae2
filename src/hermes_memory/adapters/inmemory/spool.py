"""A spool and a leadership that live in memory: for tests, and for embeddings that need no durability."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from hermes_memory.adapters.spool.codec import encode
from hermes_memory.adapters.spool.row import LONGEST_HOLD
from hermes_memory.domain.errors import InvalidInput, SpoolFull
from hermes_memory.domain.model import OperationId
from hermes_memory.domain.operations import Operation, lane_of, takes_away
from hermes_memory.ports.spool import DeadLetter, Kept, Spooled, SpoolStatus


@dataclass(slots=True, kw_only=True)
class _Kept:
    sequence: int
    operation: Operation
    size: int
    attempts: int = 0
    held_at: float = 0.0
    not_before: float = 0.0
    reason: str | None = None
    buried_at: datetime | None = None


class InMemorySpool:
    """Keeps operations in this process only; what it holds dies with it.

    Args:
        max_rows: Operations kept at most, dead letters included.
        max_bytes: Size of their encoded bodies at most, dead letters included.
        max_item_bytes: Size of one encoded body at most.
        now: Clock in seconds, by which operations are held back and dead letters are dated.
    """

    def __init__(
        self,
        *,
        max_rows: int = 100_000,
        max_bytes: int = 256 * 1024 * 1024,
        max_item_bytes: int = 1024 * 1024,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._max_rows, self._max_bytes, self._max_item_bytes = max_rows, max_bytes, max_item_bytes
        self._now = now
        self._lock = threading.Lock()
        self._kept: dict[OperationId, _Kept] = {}
        self._bytes = 0
        self._accepted = 0
        self._delivered = 0
        self._buried = 0
        self._discarded = 0
        self._refused = 0
        self._full = False

    def put(self, operation: Operation) -> None:
        """Keep an operation."""
        size = len(encode(operation))
        with self._lock:
            if operation.stamp.operation in self._kept:
                return
            self._check_bounds(size)
            self._full = False
            self._accepted += 1
            self._bytes += size
            kept = _Kept(sequence=self._accepted, operation=operation, size=size)
            self._kept[operation.stamp.operation] = kept

    def due(self, limit: int) -> Sequence[Spooled]:
        """Return what may be delivered now, oldest first."""
        ready: list[Spooled] = []
        held: set[str] = set()
        with self._lock:
            now = self._now()
            for kept in self._waiting():
                lane = lane_of(kept.operation)
                if kept.held_at <= now < kept.not_before:
                    held.add(lane)
                elif lane not in held and len(ready) < limit:
                    ready.append(Spooled(sequence=kept.sequence, operation=kept.operation, attempts=kept.attempts))
        return ready

    def done(self, operations: Sequence[OperationId]) -> None:
        """Forget delivered operations."""
        with self._lock:
            for kept in self._waiting(operations):
                self._drop(kept)
                self._delivered += 1

    def postpone(self, operations: Sequence[OperationId], seconds: float) -> None:
        """Hold operations and their lanes back."""
        with self._lock:
            now = self._now()
            for kept in self._waiting(operations):
                kept.held_at, kept.not_before = now, now + min(seconds, LONGEST_HOLD)
                kept.attempts += 1

    def bury(self, operation: OperationId, reason: str) -> None:
        """Move an operation to the dead letters."""
        with self._lock:
            for kept in self._waiting([operation]):
                kept.reason = reason
                kept.buried_at = datetime.fromtimestamp(self._now(), UTC)
                self._buried += 1

    def pending(self, operation: OperationId) -> bool:
        """Tell whether an operation still waits."""
        with self._lock:
            return bool(self._waiting([operation]))

    def still_pending(self, operations: Sequence[OperationId]) -> frozenset[OperationId]:
        """Return which of these operations still wait."""
        with self._lock:
            return frozenset(kept.operation.stamp.operation for kept in self._waiting(operations))

    def pending_before(self, sequence: int | None = None) -> int:
        """Count what waits, up to and with a sequence."""
        with self._lock:
            return sum(1 for kept in self._waiting() if sequence is None or kept.sequence <= sequence)

    def retractions(self) -> Sequence[OperationId]:
        """Return what waits and takes something away."""
        with self._lock:
            return [kept.operation.stamp.operation for kept in self._waiting() if takes_away(kept.operation)]

    def last_sequence(self) -> int:
        """Return the sequence of the newest operation ever accepted."""
        return self._accepted

    def changed(self) -> bool:
        """Return False: nobody else can reach this spool."""
        return False

    def dead(self) -> Sequence[DeadLetter]:
        """Return the dead letters, oldest first."""
        with self._lock:
            letters = [
                DeadLetter(
                    id=kept.operation.stamp.operation,
                    operation=kept.operation,
                    reason=kept.reason,
                    buried_at=kept.buried_at,
                )
                for kept in self._kept.values()
                if kept.reason is not None and kept.buried_at is not None
            ]
        return sorted(letters, key=lambda letter: letter.buried_at)

    def dead_reason(self, operation: OperationId) -> str | None:
        """Return why an operation was buried."""
        with self._lock:
            kept = self._kept.get(operation)
            return None if kept is None else kept.reason

    def retry_dead(self, operations: Sequence[OperationId] | None = None) -> int:
        """Put dead letters back in line."""
        with self._lock:
            chosen = [kept for kept in self._select(operations) if kept.reason is not None]
            for kept in chosen:
                kept.reason, kept.buried_at = None, None
                kept.attempts, kept.held_at, kept.not_before = 0, 0.0, 0.0
            return len(chosen)

    def kept(self, limit: int, *, after: int = 0) -> Sequence[Kept]:
        """Return what is kept, oldest first."""
        with self._lock:
            later = [kept for kept in self._kept.values() if kept.sequence > after]
            return [self._shown(kept) for kept in later[:limit]]

    def discard(self, operations: Sequence[OperationId], *, dead_only: bool = False) -> int:
        """Drop operations undelivered."""
        with self._lock:
            chosen = [kept for kept in self._select(operations) if not dead_only or kept.buried_at is not None]
            for kept in chosen:
                self._drop(kept)
            self._discarded += len(chosen)
            return len(chosen)

    def scrub(self, timeout: float) -> bool:
        """Tell that nothing is left of what was dropped: nothing was ever on a disk."""
        return True

    def full(self) -> bool:
        """Tell whether the last write was refused for want of room."""
        return self._full

    def status(self) -> SpoolStatus:
        """Return a snapshot for operators."""
        with self._lock:
            waiting = self._waiting()
            return SpoolStatus(
                depth=len(waiting),
                stored_bytes=sum(kept.size for kept in waiting),
                oldest_accepted_at=waiting[0].operation.stamp.accepted_at if waiting else None,
                dead=len(self._kept) - len(waiting),
                max_rows=self._max_rows,
                max_bytes=self._max_bytes,
                fill=max(len(self._kept) / self._max_rows, self._bytes / self._max_bytes),
                accepted=self._accepted,
                delivered=self._delivered,
                buried=self._buried,
                discarded=self._discarded,
                refused=self._refused,
                quarantined=0,
                network="",
            )

    def close(self) -> None:
        """Do nothing: there is no file to let go of."""

    def _drop(self, kept: _Kept) -> None:
        del self._kept[kept.operation.stamp.operation]
        self._bytes -= kept.size

    def _shown(self, kept: _Kept) -> Kept:
        held = kept.reason is None and kept.held_at <= self._now() < kept.not_before
        return Kept(
            sequence=kept.sequence,
            id=kept.operation.stamp.operation,
            operation=kept.operation,
            body=encode(kept.operation),
            attempts=kept.attempts,
            held_until=datetime.fromtimestamp(kept.not_before, UTC) if held else None,
            buried_at=kept.buried_at,
            reason=kept.reason,
        )

    def _select(self, operations: Iterable[OperationId] | None) -> list[_Kept]:
        if operations is None:
            return list(self._kept.values())
        return [self._kept[operation] for operation in dict.fromkeys(operations) if operation in self._kept]

    def _waiting(self, operations: Iterable[OperationId] | None = None) -> list[_Kept]:
        """Return the waiting ones of these, or of all; all come by sequence, as they were put."""
        return [kept for kept in self._select(operations) if kept.reason is None]

    def _check_bounds(self, size: int) -> None:
        if size > self._max_item_bytes:
            self._refused += 1
            raise InvalidInput(f"an operation may have {self._max_item_bytes} bytes, this one has {size}: shorten it")
        if len(self._kept) >= self._max_rows or self._bytes + size > self._max_bytes:
            self._refused += 1
            self._full = True
            raise SpoolFull("the spool is full: nothing was accepted until the database takes what waits")


class InMemoryLeadership:
    """One of several contenders for a seat in this process.

    Args:
        seat: What they contend for: share one lock among them.
    """

    def __init__(self, seat: threading.Lock | None = None) -> None:
        self._seat = seat or threading.Lock()
        self._leads = False

    def try_acquire(self) -> bool:
        """Become the leader if nobody is."""
        self._leads = self._leads or self._seat.acquire(blocking=False)
        return self._leads

    def release(self) -> None:
        """Stop leading."""
        if self._leads:
            self._leads = False
            self._seat.release()

    def leader(self) -> int | None:
        """Return this process while one of the contenders leads."""
        return os.getpid() if self._seat.locked() else None
