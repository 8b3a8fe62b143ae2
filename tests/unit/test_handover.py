"""Handing over in parts: what left the spool since the batch was read is not stored from memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from tests.support.inprocess import new_analyzer, store_breaker

from hermes_memory.adapters.inmemory import InMemoryStore
from hermes_memory.adapters.inmemory.spool import InMemorySpool
from hermes_memory.application.batch_size import BatchSize
from hermes_memory.application.handover import Handover
from hermes_memory.application.spool_access import SpoolAccess
from hermes_memory.application.worker import Worker
from hermes_memory.domain.errors import HermesMemoryError, StoreBusy, StoreFault
from hermes_memory.domain.model import Caller, OperationId
from hermes_memory.domain.operations import Operation, Outcome
from hermes_memory.testing.making import DESK_WITH_ANA, SALES_DESK, add


class Interrupted:
    """A store whose first batch fails; `meanwhile` happens before it says so."""

    def __init__(self, error: HermesMemoryError | None, meanwhile: Callable[[], object]) -> None:
        self.error = error
        self.meanwhile = meanwhile
        self.store = InMemoryStore(analyze=new_analyzer().analyze)
        self.batches: list[list[OperationId]] = []

    async def apply(self, operations: Sequence[Operation]) -> Sequence[Outcome]:
        first = not self.batches
        self.batches.append([each.stamp.operation for each in operations])
        if first:
            self.meanwhile()
            if self.error is not None:
                raise self.error
        return await self.store.delivery.apply(operations)

    async def outcome(self, caller: Caller, operation: OperationId) -> Outcome | None:
        return await self.store.delivery.outcome(caller, operation)


def handover(spool: InMemorySpool, store: Interrupted) -> Handover:
    async def heard(_outcomes: Sequence[Outcome]) -> None:
        pass

    return Handover(
        SpoolAccess(spool, Worker()),
        store,
        breaker=store_breaker(),
        size=BatchSize(9, most=9),
        applied=heard,
        set_aside=lambda: None,
    )


@pytest.mark.parametrize("error", [StoreBusy("somebody else holds it"), StoreFault("a fault")])
async def test_what_was_erased_from_the_spool_while_a_batch_failed_is_not_stored_by_its_halves(
    error: HermesMemoryError,
) -> None:
    spool = InMemorySpool()
    hers, ours = add("Ana's code is 8841", DESK_WITH_ANA), add("The price is 9", SALES_DESK)
    for operation in (hers, ours):
        spool.put(operation)
    store = Interrupted(error, lambda: spool.discard([hers.stamp.operation]))
    await handover(spool, store).deliver(spool.due(9))

    assert store.batches[1:] == [[ours.stamp.operation]]
    assert spool.status().depth == 0


async def test_what_was_erased_from_the_spool_while_others_were_stored_is_not_tried_again_after_them() -> None:
    spool = InMemorySpool()
    hers, ours = add("Ana's code is 8841", DESK_WITH_ANA), add("The price is 9", SALES_DESK)
    for operation in (hers, ours):
        spool.put(operation)
    spool.postpone([hers.stamp.operation], 0.0)
    store = Interrupted(None, lambda: spool.discard([hers.stamp.operation]))
    batch = spool.due(9)
    await handover(spool, store).deliver(batch)

    assert [item.attempts for item in batch] == [1, 0]
    assert store.batches == [[ours.stamp.operation]]
