"""Writers that come upon each other in the database: nobody waits for ever, nobody is taken for an outage."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

import anyio
import asyncpg

from hermes_memory.adapters.postgres.store import PostgresStore
from hermes_memory.domain.errors import StoreBusy
from hermes_memory.domain.operations import AddEntry, Effect, Operation, Outcome, row_id
from hermes_memory.testing.making import PLENTY, add, by_content, replace
from tests.support.postgres_store import Installation

LONG: Final = 60.0
GUARD: Final = 60.0
VECTOR: Final = (1.0, 0.0, 0.0, 0.0)
HOLD: Final = "select 1 from hermes_memory.memory_entries where id = $1 for update"


async def hold(connection: asyncpg.Connection[asyncpg.Record], entry: AddEntry) -> None:
    await connection.execute(HOLD, row_id(entry.stamp.operation))


async def test_vectors_are_stored_without_waiting_for_a_row_that_is_being_changed(database: Installation) -> None:
    held, free = add("a note that somebody is changing"), add("another note")
    async with database.store() as store, database.administrator() as other:
        await store.delivery.apply([held, free])
        jobs = await store.queue.claim(PLENTY, lease=LONG)
        async with other.transaction():
            await hold(other, held)
            with anyio.fail_after(GUARD):
                await store.queue.complete({job: [VECTOR] for job in jobs})
            meanwhile = await store.queue.backlog()
        with anyio.fail_after(GUARD):
            while not (again := await store.queue.claim(PLENTY, lease=LONG)):
                await anyio.sleep(0.1)
        await store.queue.complete({job: [VECTOR] for job in again})

        assert meanwhile.waiting == 1
        assert [job.row for job in again] == [row_id(held.stamp.operation)]
        assert (await store.queue.backlog()).waiting == 0
        assert await database.administer("select count(*) from hermes_memory.entry_vectors_g1") == 2


async def apply_when_free(store: PostgresStore, operations: Sequence[Operation]) -> Sequence[Outcome]:
    """Hand in again what gave up waiting for a lock before the deadlock was found, as the deliverer does."""
    while True:
        with suppress(StoreBusy):
            return await store.delivery.apply(operations)


async def test_a_deadlock_with_somebody_else_is_tried_again_and_not_taken_for_an_outage(
    database: Installation,
) -> None:
    first, second = add("the first note"), add("the second note")
    changes = [replace(by_content(f"the {which} note"), f"the {which} note, changed") for which in ("first", "second")]
    await database.administer(f"alter database \"{database.database}\" set deadlock_timeout = '8s'")
    async with database.store() as store, database.administrator() as other:
        await store.delivery.apply([first, second])
        # Whoever waits looks for a deadlock once, after this time: the delivery is to find it, not the other.
        await other.execute("set deadlock_timeout = '1h'")
        collision = other.transaction()
        await collision.start()
        await hold(other, second)
        delivery = asyncio.ensure_future(apply_when_free(store, changes))
        with anyio.fail_after(GUARD):
            while not await database.administer("select count(*) from pg_locks where not granted"):
                await anyio.sleep(0.02)
        # The delivery has the first and waits for the second.
        await hold(other, first)
        await collision.commit()
        outcomes = await asyncio.wait_for(delivery, GUARD)

        assert [outcome.effect for outcome in outcomes] == [Effect.REPLACED, Effect.REPLACED]
