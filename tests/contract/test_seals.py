"""Both stores keep what `Seals` promises, and sealing goes on beside writers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from datetime import UTC, datetime, timedelta

import anyio
import pytest
import pytest_asyncio

from hermes_memory.adapters.inmemory import InMemoryStore
from hermes_memory.adapters.postgres.administrator import administrator
from hermes_memory.adapters.postgres.history_audit import histories
from hermes_memory.adapters.postgres.history_reader import PostgresHistory
from hermes_memory.adapters.postgres.seals import PostgresSeals
from hermes_memory.domain.chain import verify
from hermes_memory.ports.seals import Sealed
from hermes_memory.testing.making import DESK, SALES_DESK, add
from hermes_memory.testing.seals_contract import SealsContract, SealsUnderTest
from tests.support.postgres import TestServer
from tests.support.postgres_store import ANALYZE, Installation, migrated


@pytest.fixture(scope="module")
def server() -> Iterator[TestServer]:
    with TestServer() as started:
        yield started


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def template(server: TestServer) -> AsyncIterator[Installation]:
    async with migrated(server) as installation:
        yield installation


class TestInMemorySeals(SealsContract):
    """Every promise, kept in memory."""

    @pytest.fixture
    async def chain(self) -> SealsUnderTest:
        now = datetime(2024, 6, 1, tzinfo=UTC)

        def clock() -> datetime:
            nonlocal now
            now += timedelta(seconds=1)
            return now

        store = InMemoryStore(analyze=ANALYZE, clock=clock)
        return SealsUnderTest(delivery=store.delivery, history=store.history, seals=store.seals)


class TestPostgresSeals(SealsContract):
    """Every promise, kept by Postgres."""

    @pytest_asyncio.fixture
    async def chain(self, template: Installation) -> AsyncIterator[SealsUnderTest]:
        async with template.copy() as installation, installation.store() as store:
            yield SealsUnderTest(
                delivery=store.delivery, history=PostgresHistory(store.pool), seals=PostgresSeals(store.pool)
            )


async def test_several_who_seal_while_others_write_make_one_chain(template: Installation) -> None:
    sealed: list[Sealed] = []
    async with template.copy() as database, database.store() as store:

        async def write(writer: int) -> None:
            for number in range(8):
                await store.delivery.apply(
                    [add(f"{writer} says {number}", DESK), add(f"{writer} sells {number}", SALES_DESK)]
                )

        async def seal(made: Sequence[Sealed] = ()) -> None:
            async with database.store() as own:
                for _ in range(12):
                    made = await PostgresSeals(own.pool).seal(5)
                    sealed.extend(made)

        async with anyio.create_task_group() as tasks:
            for writer in range(3):
                tasks.start_soon(write, writer)
            for _ in range(3):
                tasks.start_soon(seal)
        while made := await PostgresSeals(store.pool).seal(1_000):
            sealed.extend(made)
        heads = [each.head for each in sealed]
        async with administrator(database.admin_dsn) as opened:
            told = [
                (theme, links, verify(theme, links, seals, heads)) async for theme, links, seals in histories(opened)
            ]

    assert {theme: (len(links), flaws) for theme, links, flaws in told} == {"marketing": (24, []), "sales": (24, [])}
    assert sum(each.changes for each in sealed) == 48
    assert len({(head.theme, head.seal) for head in heads}) == len(heads)
