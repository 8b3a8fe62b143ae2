"""The spool as seen from the event loop: its short file operations run in a worker thread, one at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from hermes_memory.application.worker import Worker
from hermes_memory.domain.model import OperationId
from hermes_memory.ports.spool import DeadLetter, Spool, Spooled, SpoolStatus

Answer = TypeVar("Answer")


class SpoolAccess:
    """Calls a `Spool` without holding up the loop. See the port for what each method promises."""

    def __init__(self, spool: Spool, worker: Worker) -> None:
        self._spool = spool
        self._worker = worker

    async def due(self, limit: int) -> Sequence[Spooled]:
        """Return operations that may be delivered now."""
        return await self.call(lambda: self._spool.due(limit))

    async def done(self, operations: Sequence[OperationId]) -> None:
        """Forget delivered operations."""
        await self.call(lambda: self._spool.done(operations))

    async def postpone(self, operations: Sequence[OperationId], seconds: float) -> None:
        """Hold operations, and so their lanes, back for a time."""
        await self.call(lambda: self._spool.postpone(operations, seconds))

    async def changed(self) -> bool:
        """Tell whether another process changed the spool since this was last asked."""
        return await self.call(self._spool.changed)

    async def bury(self, operation: OperationId, reason: str) -> None:
        """Move an operation to the dead letters."""
        await self.call(lambda: self._spool.bury(operation, reason))

    async def pending(self, operation: OperationId) -> bool:
        """Tell whether an operation still waits."""
        return await self.call(lambda: self._spool.pending(operation))

    async def still_pending(self, operations: Sequence[OperationId]) -> frozenset[OperationId]:
        """Return which of these operations, once due, still wait."""
        return await self.call(lambda: self._spool.still_pending(operations))

    async def pending_before(self, sequence: int | None = None) -> int:
        """Count the operations that wait, up to `sequence`."""
        return await self.call(lambda: self._spool.pending_before(sequence))

    async def retractions(self) -> Sequence[OperationId]:
        """Return the waiting operations that take something away."""
        return await self.call(self._spool.retractions)

    async def last_sequence(self) -> int:
        """Return the sequence of the newest operation ever accepted."""
        return await self.call(self._spool.last_sequence)

    async def dead(self) -> Sequence[DeadLetter]:
        """Return the dead letters."""
        return await self.call(self._spool.dead)

    async def dead_reason(self, operation: OperationId) -> str | None:
        """Return why an operation was buried, None when it was not."""
        return await self.call(lambda: self._spool.dead_reason(operation))

    async def status(self) -> SpoolStatus:
        """Return a snapshot for operators."""
        return await self.call(self._spool.status)

    async def call(self, work: Callable[[], Answer]) -> Answer:
        """Run any short, blocking work in the worker thread."""
        return await self._worker.call(work)
