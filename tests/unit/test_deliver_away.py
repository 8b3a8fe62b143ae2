"""While the store is away, those who write are left alone: nobody reads again and again what waits."""

from __future__ import annotations

from collections.abc import Sequence

import anyio
from tests.support.faulty import FaultyDelivery
from tests.support.inprocess import GUARD, until

from hermes_memory.adapters.inmemory import InMemoryStore
from hermes_memory.adapters.inmemory.spool import InMemoryLeadership, InMemorySpool
from hermes_memory.application.breaker import STORE, Breaker
from hermes_memory.application.deliver import Deliverer
from hermes_memory.application.spool_access import SpoolAccess
from hermes_memory.application.worker import Worker
from hermes_memory.domain.errors import StoreUnavailable
from hermes_memory.ports.spool import Spooled
from hermes_memory.testing.making import add


class WatchedSpool(InMemorySpool):
    """Counts how often what waits is read."""

    read = 0

    def due(self, limit: int) -> Sequence[Spooled]:
        self.read += 1
        return super().due(limit)


async def test_writes_that_come_while_the_store_is_away_are_not_read_until_it_may_be_back() -> None:
    spool, breaker = WatchedSpool(), Breaker(STORE, failures=1, delay=3_600.0, longest_delay=3_600.0)
    store = FaultyDelivery(InMemoryStore(analyze=str.split).delivery)
    store.applying.standing = StoreUnavailable("the database is away")
    deliverer = Deliverer(SpoolAccess(spool, Worker()), InMemoryLeadership(), store, breaker=breaker, batch=10)
    spool.put(add("the first"))
    read = 0
    with anyio.fail_after(GUARD):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(deliverer.run)
            await until(lambda: not breaker.allows())
            read = spool.read
            for number in range(20):
                spool.put(add(f"note {number}"))
                deliverer.doorbell.ring()
                await anyio.sleep(0.002)
            tasks.cancel_scope.cancel()

    assert (read, spool.read) == (1, 1)
