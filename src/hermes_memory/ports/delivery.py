"""Giving accepted operations their effect in the shared store."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import Protocol, TypeAlias

from hermes_memory.domain.model import Caller, OperationId
from hermes_memory.domain.operations import Operation, Outcome

Wanted: TypeAlias = Callable[[Sequence[OperationId]], Awaitable[Collection[OperationId]]]
"""Tells which of some operations are still to be applied."""


class DeliveryStore(Protocol):
    """Applies operations, each exactly once however often it is handed in."""

    async def apply(self, operations: Sequence[Operation], *, wanted: Wanted | None = None) -> Sequence[Outcome]:
        """Apply operations in their order, all or none, and return their outcomes in the same order.

        An operation that was applied before has no effect and returns its recorded outcome, also when it comes twice
        in a batch or from two sides at once. What each kind of operation does stands with its class.

        Args:
            wanted: Asked at each try, once `Eraser.settle` would wait for it and before anything is stored. What it
                does not name is passed over and has no outcome. So what is dropped where the batch came from before the
                store settles is never stored afterwards. What it raises is raised, and nothing was applied.

        Raises:
            StoreUnavailable: Nothing was applied, or it is unknown whether it was; hand the same in again later. Its
                kinds tell of a database that is there: StoreBusy that something one of them needs is held by somebody
                else, StoreFault that one of them met a fault which nothing says is its own.
            DeliveryRejected: One of them can never be applied, as a text that holds a NUL or half a surrogate pair;
                nothing was. Hand them in singly to find it.
            SchemaNotApplied: The database has no schema, or an older one; nothing was applied.
        """
        ...

    async def outcome(self, caller: Caller, operation: OperationId) -> Outcome | None:
        """Return the recorded outcome of an operation of the caller's theme, None when it was not applied yet.

        The outcome of an operation with a subject is told to callers of that subject alone; to others it is None.

        Raises:
            StoreUnavailable: The database cannot be reached.
        """
        ...
