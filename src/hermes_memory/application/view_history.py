"""What became of memories, and taking the last change of one back."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

import anyio

from hermes_memory.application.arguments import require_limit, row_named
from hermes_memory.application.undo import Decided, last_change, require_left_by, take_back
from hermes_memory.application.view_standpoint import Standpoint
from hermes_memory.domain.errors import Outdated
from hermes_memory.domain.history import Change, ChangeKind
from hermes_memory.domain.model import Entry, OperationId, Origin, RowId, Scope
from hermes_memory.domain.operations import Effect


class LookingBack(Standpoint):
    """Tells of changes and undoes them. An undo is a write like any other, and is told of in turn."""

    async def history(
        self,
        row: RowId | UUID | None = None,
        *,
        scope: str | Scope = "current",
        limit: int = 50,
        timeout: float | None = None,
    ) -> Sequence[Change]:
        """Tell what became of a memory, or of all of a scope, newest change first.

        A memory that was forgotten has its history still, until that is erased. What was said in a conversation never
        changes: of a turn it is told that it was said, and once it is forgotten that alone, without its text.
        What another theme has changed or forgotten is not told, also where its memories may be read.

        Args:
            row: The memory; without one all changes of the scope are told.

        Raises:
            NotVisible: There never was such a memory, or the caller may not see its past: the two look alike.
            InvalidInput: An argument is unusable.
            StoreUnavailable, DeadlineExceeded, SchemaNotApplied: As for `recall`.
        """
        require_limit(limit, most=1000)
        named = None if row is None else row_named(row)
        where = self._scope(scope)
        caller, left = await self._reads.begin(self._reads.seconds(timeout))
        if named is None:
            return await self._services.past.recent(caller, where, limit=limit, timeout=left)
        return await self._services.past.of_row(caller, named, limit=limit, timeout=left)

    async def undo(
        self,
        name: RowId | OperationId | UUID,
        *,
        left_by: OperationId | None = None,
        reason: str | None = None,
        origin: Origin = Origin.USER,
        timeout: float | None = None,
    ) -> Entry | None:
        """Take the last change of a memory of the caller's own theme back.

        It is a change of its own and can be undone again. What was forgotten comes back under a new id.
        Of several at once who undo the same change of a memory one does, and the others are told.

        Args:
            name: The memory, or the write that changed it last.
            left_by: Only what this write has done to it; by default the last change from before the call.
            reason: Why, for the history.

        Returns:
            The memory as it stands now, None when what was undone had added it.

        Raises:
            NotVisible: There is no such memory or write, it is not the caller's to change, or its text was erased.
            Outdated: The memory was changed again since, or meanwhile; the message says what to undo first.
            InvalidInput, SpoolFull, DeadlineExceeded, DeliveryRejected, StoreUnavailable: As for `remember`.
        """
        deadline = anyio.current_time() + self._reads.seconds(timeout)
        self._commits.seconds(timeout)
        decided = await self._decided(deadline) if left_by is None else None
        left = await self._reads.clear(deadline - anyio.current_time())
        past = self._services.past
        change, changes = await last_change(past, self.caller, row_named(name), timeout=left, decided=decided)
        if left_by is not None:
            require_left_by(change, left_by)
        operation = await self._services.spool.call(
            lambda: take_back(
                self._services.acceptor,
                self.caller,
                changes,
                origin=origin,
                reason=f"undoes {change.operation}" + (f": {reason}" if reason else ""),
            )
        )
        outcome = await self._commits.outcome(operation, timeout)
        if outcome.effect is Effect.NOT_FOUND:
            raise Outdated("the memory was changed by somebody else meanwhile: look at it again")
        return None if change.kind is ChangeKind.ADDED else await self._commits.stored(outcome, timeout)

    async def _decided(self, deadline: float) -> Decided:
        """Return that it is decided now. Asked before anything is waited for that others might use."""
        now = anyio.current_time()
        own = await self._services.spool.retractions()
        at = await self._services.past.moment(now, timeout=deadline - anyio.current_time())
        return Decided(at=at, own=own)
