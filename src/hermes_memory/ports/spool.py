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
    """An operation that was set aside for good, kept with its reason.

    Attributes:
        operation: None when it cannot be read: it was damaged in the spool, or a newer version wrote it.
        reason: What the database said against it, or how it was damaged.
    """

    id: OperationId
    operation: Operation | None
    reason: str
    buried_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """An operation as the spool keeps it, waiting or dead, for an operator's eyes.

    Attributes:
        sequence: Total order of acceptance in this spool.
        operation: None when it cannot be read: it was damaged in the spool, or a newer version wrote it.
        body: Its encoded form, or what is left of it.
        attempts: How often delivery was tried and postponed.
        held_until: Until when it is held back, or None when it may be delivered now, or is dead.
        buried_at: When it became a dead letter, or None while it waits.
        reason: Why it became one.
    """

    sequence: int
    id: OperationId
    operation: Operation | None
    body: bytes
    attempts: int
    held_until: datetime | None
    buried_at: datetime | None
    reason: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SpoolStatus:
    """A snapshot of the spool. Its totals are of all processes since the spool was made, and outlive them.

    Attributes:
        depth: Operations waiting.
        stored_bytes: Size of their bodies.
        oldest_accepted_at: When the oldest of them was accepted, or None when there is none.
        dead: Dead letters kept.
        max_rows: How many operations it keeps at most, dead letters included.
        max_bytes: Size of their bodies at most.
        fill: The share of the tighter of these two bounds that is taken, from 0 to 1.
        accepted: Total of operations accepted.
        delivered: Total of operations that had their effect.
        buried: Total of operations that became dead letters, those that were retried afterwards included.
        discarded: Total of operations that an operator dropped undelivered.
        refused: Total of operations refused because of a bound, this object's that are not noted yet included.
        quarantined: Damaged spool files set aside beside the spool.
        network: Kind of the network file system that the spool lies on, "" when it lies on none that is known.
    """

    depth: int
    stored_bytes: int
    oldest_accepted_at: datetime | None
    dead: int
    max_rows: int
    max_bytes: int
    fill: float
    accepted: int
    delivered: int
    buried: int
    discarded: int
    refused: int
    quarantined: int
    network: str

    def longest_wait(self, now: datetime) -> float:
        """Return for how many seconds the oldest operation has waited, 0 when none waits."""
        return max((now - self.oldest_accepted_at).total_seconds(), 0.0) if self.oldest_accepted_at else 0.0


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
        """Hold operations, and so their lanes, back for so long, a week at most, and count the attempt."""
        ...

    def bury(self, operation: OperationId, reason: str) -> None:
        """Move an operation to the dead letters, which frees its lane."""
        ...

    def pending(self, operation: OperationId) -> bool:
        """Tell whether an operation still waits for delivery."""
        ...

    def still_pending(self, operations: Sequence[OperationId]) -> frozenset[OperationId]:
        """Return which of these operations, all of them once returned by `due`, still wait.

        Asked for each batch, while the store has begun with it: it waits for no other work on what was accepted since.
        """
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
        """Put dead letters (all when None) back in line under their own ids; return how many.

        They take the place that their sequence gives them: before what of their lane waits, and after what of it was
        delivered meanwhile. One that was damaged cannot be delivered and stays where it is.
        """
        ...

    def kept(self, limit: int, *, after: int = 0) -> Sequence[Kept]:
        """Return up to `limit` operations, waiting or dead, in the order of their acceptance.

        Args:
            after: The sequence of the last one that is known already.
        """
        ...

    def discard(self, operations: Sequence[OperationId], *, dead_only: bool = False) -> int:
        """Drop operations, waiting or dead, without delivering them; return how many. Unknown ids are passed over.

        Args:
            dead_only: Pass those over that are no dead letters, or not any more: somebody may just have put them back.
        """
        ...

    def scrub(self, timeout: float) -> bool:
        """Leave nothing on the disk of what was delivered or dropped by now. What is kept stays.

        Others may have the spool open and go on. Whoever reads in it just then is waited for, `timeout` seconds at
        most; while that takes longer, whoever asks what is `due` later, in whatever process, goes on with it. Another
        process that writes is kept waiting for a moment at most, a thread of the same one as long as an attempt lasts.

        Returns:
            Whether it is done.

        Raises:
            StoreUnavailable: It cannot be used for now, or too much is kept to do it in a moment.
        """
        ...

    def full(self) -> bool:
        """Tell whether the last write was refused for want of room. Cheap: what other processes met is not known."""
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
        """Become the leader if nobody is; True also when this object leads already.

        A leader calls it again and again: one that does not for a while is taken for hung, and may lose the seat.
        """
        ...

    def release(self) -> None:
        """Stop leading. Called without leading it does nothing."""
        ...

    def leader(self) -> int | None:
        """Return the process id of the leader, 0 when it is not known, None when nobody leads."""
        ...
