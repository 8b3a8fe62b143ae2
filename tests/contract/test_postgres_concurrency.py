"""Several hosts at once on the same themes: every operation has its effect once, and all that is derived agrees."""

from __future__ import annotations

import random
from typing import Final

import anyio

from hermes_memory.adapters.postgres.store import PostgresStore
from hermes_memory.domain.errors import StoreUnavailable
from hermes_memory.domain.model import Caller, SessionId, Theme
from hermes_memory.domain.operations import Operation
from hermes_memory.testing.making import ANA, add, by_content, record, remove, replace, said
from tests.support.index_and_rows import GAPS, INDEX_AND_ROWS
from tests.support.postgres_store import Installation

HOSTS: Final = 5
BATCHES: Final = 6
CALLERS: Final = [
    Caller(theme=Theme(theme), subject=subject, session=SessionId("shared"))
    for theme in ("north", "south")
    for subject in (None, ANA)
]

STRAY_JOBS: Final = """
select (select count(*) from hermes_memory.embedding_jobs) - (select count(*) from hermes_memory.memory_rows)"""


def _batch(chance: random.Random, host: int, number: int) -> list[Operation]:
    """Mix every kind of change over few contents, so that hosts meet again and again."""
    operations: list[Operation] = []
    for caller in chance.sample(CALLERS, k=len(CALLERS)):
        content, other = (f"note {chance.randint(0, 5)}" for _ in range(2))
        changes: list[Operation] = [replace(by_content(content), other, caller), remove(by_content(other), caller)]
        operations += [
            add(content, caller),
            chance.choice(changes),
            record(said(f"host {host} says {number}"), said("all say so"), caller=caller),
        ]
    return operations


async def _deliver(store: PostgresStore, batch: list[Operation]) -> None:
    """Hand a batch in until it is applied, as the deliverer does when two hosts got in each other's way."""
    while True:
        try:
            outcomes = await store.delivery.apply(batch)
        except StoreUnavailable:
            await anyio.sleep(0.01)
            continue
        assert len(outcomes) == len(batch)
        return


async def test_hosts_that_change_the_same_things_at_once_leave_index_and_rows_in_agreement(
    database: Installation,
) -> None:
    applied: list[list[Operation]] = []

    async def host(number: int) -> None:
        chance = random.Random(number)
        async with database.store() as store:
            for batch in (_batch(chance, number, n) for n in range(BATCHES)):
                await _deliver(store, batch)
                await _deliver(store, batch)
                applied.append(batch)

    async with anyio.create_task_group() as hosts:
        for number in range(HOSTS):
            hosts.start_soon(host, number)

    operations = {operation.stamp.operation for batch in applied for operation in batch}
    turns = await database.administer("select count(*) from hermes_memory.conversations")
    assert await database.administer("select count(*) from hermes_memory.inbox") == len(operations)
    assert turns == len(CALLERS) * (HOSTS * BATCHES + 1)
    assert await database.administer(GAPS) == 0
    assert await database.administer(INDEX_AND_ROWS) == 0
    assert await database.administer(STRAY_JOBS) == 0


async def test_a_vector_that_comes_while_its_row_is_removed_stays_nowhere(database: Installation) -> None:
    async with database.store() as store:
        contents = [f"short lived {n}" for n in range(30)]
        await store.delivery.apply([add(content, CALLERS[0]) for content in contents])
        jobs = await store.queue.claim(100, lease=60)
        async with anyio.create_task_group() as group:
            for job in jobs:
                group.start_soon(store.queue.complete, {job: [(1.0, 0.0, 0.0, 0.0)]})
                group.start_soon(store.delivery.apply, [remove(by_content(job.text), CALLERS[0])])

        counts = await store.inspector.counts()

    assert len(jobs) == len(contents)
    assert (counts["entries"], counts["vectors"], counts["waiting"]) == (0, 0, 0)
