"""The durable local journal between accepting a write and delivering it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from hermes_memory.domain.model import OperationId
from hermes_memory.domain.operations import Operation


@dataclass(frozen=True, slots=True, kw_only=True)
class Spooled:
    """An accepted operation that waits for delivery.

    Attributes:
        sequence: Total order of acceptance in this spool.
        attempts: How often delivery was tried and postponed.
    """

    sequence: int
    operation: Operation
    attempts: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetter:
    """An operation that the database refused for good, kept with its reason."""

    operation: Operation
    reason: str
    buried_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class SpoolStatus:
    """A snapshot of the spool.

    Attributes:
        depth: Operations waiting.
        stored_bytes: Size of their bodies.
        oldest_accepted_at: When the oldest of them was accepted, or None when there is none.
        dead: Dead letters kept.
        accepted: Operations accepted since the spool was made.
        refused: Operations refused since this object was opened, because of a bound.
        quarantined: Damaged spool files set aside beside the spool.
    """

    depth: int
    stored_bytes: int
    oldest_accepted_at: datetime | None
    dead: int
    accepted: int
    refused: int
    quarantined: int


class Spool(Protocol):
    """Keeps accepted operations until they are delivered. Every method may be called from any thread.

    Raises (all methods): StoreUnavailable when the spool cannot be used for now; nothing was kept, changed or dropped.

    Within a lane (`lane_of`) operations come out in the order they went in; an operation that was postponed holds
    its lane back and no other.
    """

    def put(self, operation: Operation) -> None:
        """Keep an operation durably; after return it survives the death of the process.

        Putting an operation id that is known already does nothing.

        Raises:
            SpoolFull: A bound is reached; nothing was kept and nothing older was dropped.
            InvalidInput: The operation alone is larger than an item may be.
        """
        ...

    def due(self, limit: int) -> Sequence[Spooled]:
        """Return up to `limit` operations that may be delivered now, oldest first; a prefix of every lane."""
        ...

    def done(self, operations: Sequence[OperationId]) -> None:
        """Forget delivered operations. Unknown ids are passed over."""
        ...

    def postpone(self, operations: Sequence[OperationId], seconds: float) -> None:
        """Hold operations, and so their lanes, back for a time, and count the attempt."""
        ...

    def bury(self, operation: OperationId, reason: str) -> None:
        """Move an operation to the dead letters, which frees its lane."""
        ...

    def pending(self, operation: OperationId) -> bool:
        """Tell whether an operation still waits for delivery."""
        ...

    def pending_before(self, sequence: int | None = None) -> int:
        """Count the operations that wait, up to and with `sequence` when it is given."""
        ...

    def retractions(self) -> Sequence[OperationId]:
        """Return the waiting operations that take something away, oldest first, those held back included.

        `hermes_memory.domain.operations.takes_away` says which do. Cheap enough to be asked before every answer.
        """
        ...

    def last_sequence(self) -> int:
        """Return the sequence of the newest operation ever accepted, 0 when there was none."""
        ...

    def changed(self) -> bool:
        """Tell whether someone else (another process) changed the spool since this was last asked.

        Cheap enough to be polled. What this object itself did never counts.
        """
        ...

    def dead(self) -> Sequence[DeadLetter]:
        """Return the dead letters, oldest first."""
        ...

    def dead_reason(self, operation: OperationId) -> str | None:
        """Return why an operation was buried, or None when it was not."""
        ...

    def retry_dead(self, operations: Sequence[OperationId] | None = None) -> int:
        """Put dead letters (all when None) back in line under their own ids; return how many."""
        ...

    def status(self) -> SpoolStatus:
        """Return a snapshot for operators."""
        ...

    def close(self) -> None:
        """Let go of files. Called again it does nothing; what was accepted stays accepted."""
        ...


class Leadership(Protocol):
    """Makes one process of a home the one that delivers. The kernel takes it from a process that dies."""

    def try_acquire(self) -> bool:
        """Become the leader if nobody is; True also when this object leads already."""
        ...

    def release(self) -> None:
        """Stop leading. Called without leading it does nothing."""
        ...
