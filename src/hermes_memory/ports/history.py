"""Reading what became of memories, and how they stood at a moment.

Every method returns only what `hermes_memory.domain.visibility.past_visible` allows the caller: who may only read a
theme sees what it knows, and not what it has forgotten. (`stored_at` is about turns as they are: `visible` rules it.)
`timeout` is the seconds the answer is worth waiting for.

Raises (all methods):
    StoreUnavailable: The database cannot be reached.
    DeadlineExceeded: The answer did not come in time.
    SchemaNotApplied: The database has no schema, or an older one.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Protocol

from hermes_memory.domain.history import Change
from hermes_memory.domain.model import Caller, Entry, OperationId, RowId, Scope, Target


class HistoryReader(Protocol):
    """The past of durable memories, and of turns that they were said, or forgotten."""

    async def of_row(self, caller: Caller, row: RowId, *, limit: int, timeout: float) -> Sequence[Change]:
        """Return the changes of a memory, newest first; none when it never was or is not the caller's to see.

        A turn has one: that it was said (`hermes_memory.domain.history.said`), or that it was forgotten.
        """
        ...

    async def of_operation(self, caller: Caller, operation: OperationId, *, timeout: float) -> Sequence[Change]:
        """Return what a write changed in the caller's own theme, newest first."""
        ...

    async def recent(self, caller: Caller, scope: Scope, *, limit: int, timeout: float) -> Sequence[Change]:
        """Return the changes within a scope, newest first."""
        ...

    async def entries_at(
        self,
        caller: Caller,
        scope: Scope,
        moment: datetime,
        *,
        target: Target | None = None,
        limit: int,
        timeout: float,
    ) -> Sequence[Entry]:
        """Return durable memories as they stood at a moment, those changed last before it first.

        What counts is when the store recorded a change, not when it was said. Memories whose texts were erased since
        are left out. `source` of each is None: which home mirrored it then is not kept.
        """
        ...

    async def stored_at(
        self, caller: Caller, turns: Collection[RowId], moment: datetime, *, timeout: float
    ) -> frozenset[RowId]:
        """Tell which of these turns, as far as the caller sees them, had been accepted by a moment."""
        ...

    async def moment(self, *, timeout: float) -> datetime:
        """Return the time of the call by the clock that tells when changes are recorded.

        What was recorded before the call is not later. It is late itself by no more than the way to the store takes.
        """
        ...
