"""Delivering: what stands in its way is waited for, and only what the store refuses for good is set aside."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import anyio
import pytest

from hermes_memory.adapters.inmemory.spool import InMemoryLeadership, InMemorySpool
from hermes_memory.adapters.inmemory.store import InMemoryStore
from hermes_memory.application.breaker import STORE, Breaker
from hermes_memory.application.deliver import Deliverer
from hermes_memory.application.spool_access import SpoolAccess
from hermes_memory.application.worker import Worker
from hermes_memory.domain.errors import (
    ConfigurationError,
    DeliveryRejected,
    HermesMemoryError,
    SchemaNotApplied,
    StoreUnavailable,
)
from hermes_memory.domain.model import Caller, OperationId
from hermes_memory.domain.operations import AddEntry, Operation, Outcome
from hermes_memory.ports.delivery import Wanted
from hermes_memory.ports.spool import Spooled
from hermes_memory.testing.making import add

GUARD = 60.0


class StumblingSpool(InMemorySpool):
    """A spool that cannot be read a number of times, as when another process keeps it locked."""

    def __init__(self, error: HermesMemoryError, times: int) -> None:
        super().__init__()
        self._error = error
        self.left = times

    def due(self, limit: int) -> Sequence[Spooled]:
        if self.left:
            self.left -= 1
            raise self._error
        return super().due(limit)


@dataclass(slots=True)
class StumblingStore:
    """A store that answers the first batches with errors, and refuses one content for good."""

    store: InMemoryStore = field(default_factory=lambda: InMemoryStore(analyze=str.split))
    errors: list[Exception] = field(default_factory=list)
    poison: str = ""

    async def apply(self, operations: Sequence[Operation], *, wanted: Wanted | None = None) -> Sequence[Outcome]:
        if self.errors:
            raise self.errors.pop(0)
        if any(isinstance(each, AddEntry) and each.content == self.poison for each in operations):
            raise DeliveryRejected("refused", reason="poison")
        return await self.store.delivery.apply(operations, wanted=wanted)

    async def outcome(self, caller: Caller, operation: OperationId) -> Outcome | None:
        return await self.store.delivery.outcome(caller, operation)


async def deliver_all(spool: InMemorySpool, store: StumblingStore) -> Deliverer:
    """Deliver until nothing waits any more."""
    breaker = Breaker(STORE, failures=1, delay=0.01)
    deliverer = Deliverer(SpoolAccess(spool, Worker()), InMemoryLeadership(), store, breaker=breaker)
    with anyio.fail_after(GUARD):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(deliverer.run)
            while spool.status().depth:
                await anyio.sleep(0.02)
            tasks.cancel_scope.cancel()
    return deliverer


@contextmanager
def logged(caplog: pytest.LogCaptureFixture) -> Iterator[list[str]]:
    """Collect the messages of the deliverer that an operator would see."""
    messages: list[str] = []
    with caplog.at_level(logging.WARNING, logger="hermes_memory.application.deliver"):
        yield messages
    messages += [record.getMessage() for record in caplog.records]


@pytest.mark.parametrize(
    "error",
    [StoreUnavailable("another process keeps the local spool locked"), ConfigurationError("a newer format: upgrade")],
    ids=["locked", "newer"],
)
async def test_a_spool_that_cannot_be_used_for_a_while_does_not_end_delivery(
    error: HermesMemoryError, caplog: pytest.LogCaptureFixture
) -> None:
    spool, store = StumblingSpool(error, times=2), StumblingStore()
    spool.put(add("kept"))

    with logged(caplog) as messages:
        deliverer = await deliver_all(spool, store)

    assert deliverer.counts.delivered == 1
    assert len(messages) == 1


@pytest.mark.parametrize(
    "error",
    [
        StoreUnavailable("out of reach"),
        SchemaNotApplied("no schema: run migrate"),
        ConfigurationError("the database address is not usable"),
    ],
    ids=lambda error: type(error).__name__,
)
async def test_what_an_operator_has_to_mend_sets_no_write_aside(error: HermesMemoryError) -> None:
    spool, store = InMemorySpool(), StumblingStore(errors=[error])
    for number in range(3):
        spool.put(add(f"note {number}"))

    deliverer = await deliver_all(spool, store)

    assert (deliverer.counts.delivered, deliverer.counts.buried) == (3, 0)
    assert spool.dead() == []


async def test_only_the_write_that_the_store_refuses_for_good_is_set_aside() -> None:
    spool, store = InMemorySpool(), StumblingStore(poison="note 3")
    for number in range(8):
        spool.put(add(f"note {number}"))

    deliverer = await deliver_all(spool, store)

    (letter,) = spool.dead()
    assert isinstance(letter.operation, AddEntry)
    assert (letter.operation.content, letter.reason) == ("note 3", "poison")
    assert (deliverer.counts.delivered, deliverer.counts.buried) == (7, 1)
