"""Handing over: what left the spool since the batch was read is not stored from memory."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

import pytest
from tests.support.inprocess import new_analyzer, store_breaker

from hermes_memory.adapters.inmemory import InMemoryStore
from hermes_memory.adapters.inmemory.spool import InMemorySpool
from hermes_memory.application.batch_size import BatchSize
from hermes_memory.application.breaker import STORE, Breaker, BreakerState
from hermes_memory.application.erase import Erasing
from hermes_memory.application.handover import Handover
from hermes_memory.application.setbacks import Stopped
from hermes_memory.application.spool_access import SpoolAccess
from hermes_memory.application.worker import Worker
from hermes_memory.domain.erasure import Certificate, WholeSubject
from hermes_memory.domain.errors import HermesMemoryError, StoreBusy, StoreFault, StoreUnavailable
from hermes_memory.domain.model import Caller, OperationId
from hermes_memory.domain.operations import Operation, Outcome
from hermes_memory.ports.delivery import Wanted
from hermes_memory.testing.making import ANA, DESK_WITH_ANA, SALES_DESK, add, next_moment


class Interrupted:
    """A store in which `meanwhile` happens before it begins with the first batch, which fails with `error`."""

    def __init__(self, error: HermesMemoryError | None, meanwhile: Callable[[], Awaitable[object]]) -> None:
        self.error = error
        self.meanwhile = meanwhile
        self.store = InMemoryStore(analyze=new_analyzer().analyze)
        self.batches: list[list[OperationId]] = []

    async def apply(self, operations: Sequence[Operation], *, wanted: Wanted | None = None) -> Sequence[Outcome]:
        first = not self.batches
        self.batches.append([])
        if first:
            await self.meanwhile()
            if self.error is not None:
                raise self.error
        outcomes = await self.store.delivery.apply(operations, wanted=wanted)
        self.batches[-1] += [outcome.operation for outcome in outcomes]
        return outcomes

    async def outcome(self, caller: Caller, operation: OperationId) -> Outcome | None:
        return await self.store.delivery.outcome(caller, operation)


def handover(spool: InMemorySpool, store: Interrupted, breaker: Breaker | None = None) -> Handover:
    async def heard(_outcomes: Sequence[Outcome]) -> None:
        pass

    return Handover(
        SpoolAccess(spool, Worker()),
        store,
        breaker=breaker or store_breaker(),
        size=BatchSize(9, most=9),
        applied=heard,
        set_aside=lambda: None,
    )


async def nothing() -> None:
    pass


@pytest.mark.parametrize("error", [None, StoreBusy("somebody else holds it"), StoreFault("a fault")])
async def test_what_is_erased_between_reading_a_batch_and_storing_it_is_not_stored_afterwards(
    error: HermesMemoryError | None,
) -> None:
    spool = InMemorySpool()
    hers, ours = add("Ana's code is 8841", DESK_WITH_ANA), add("The price is 9", SALES_DESK)
    for operation in (hers, ours):
        spool.put(operation)
    certificates: list[Certificate] = []

    async def erase() -> None:
        erasing = Erasing(store.store.eraser, [spool], set_aside=lambda: 0, now=next_moment)
        certificates.append(await erasing.execute(WholeSubject(subject=ANA)))

    store = Interrupted(error, erase)
    delivering = handover(spool, store)
    await delivering.deliver(spool.due(9))

    assert [(each.complete, each.counts["waiting"]) for each in certificates] == [(True, 1)]
    assert [batch for batch in store.batches if batch] == [[ours.stamp.operation]]
    assert (spool.status().depth, delivering.counts.delivered) == (0, 1)


async def test_what_was_dropped_from_the_spool_while_others_were_stored_is_not_tried_again_after_them() -> None:
    spool = InMemorySpool()
    hers, ours = add("Ana's code is 8841", DESK_WITH_ANA), add("The price is 9", SALES_DESK)
    for operation in (hers, ours):
        spool.put(operation)
    spool.postpone([hers.stamp.operation], 0.0)

    async def drop() -> None:
        spool.discard([hers.stamp.operation])

    store = Interrupted(None, drop)
    batch = spool.due(9)
    await handover(spool, store).deliver(batch)

    assert [item.attempts for item in batch] == [1, 0]
    assert [each for each in store.batches if each] == [[ours.stamp.operation]]


async def test_a_spool_that_cannot_tell_what_still_waits_stops_delivery_and_is_not_taken_for_the_store() -> None:
    class Locked(InMemorySpool):
        def still_pending(self, operations: Sequence[OperationId]) -> frozenset[OperationId]:
            raise StoreUnavailable("another process keeps the local spool locked")

    spool, breaker = Locked(), Breaker(STORE, failures=1)
    spool.put(add("The price is 9"))
    store = Interrupted(None, nothing)
    with pytest.raises(Stopped) as stopped:
        await handover(spool, store, breaker).deliver(spool.due(9))

    assert stopped.value.obstacle == "another process keeps the local spool locked"
    assert (store.batches, spool.status().depth, breaker.state) == ([[]], 1, BreakerState.CLOSED)
