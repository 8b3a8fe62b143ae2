"""Embedding generations, in memory and on a real Postgres: one model takes the place of another."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from hermes_memory.adapters.postgres.administrator import administrator
from hermes_memory.adapters.postgres.embedding_queue import PostgresEmbeddingQueue
from hermes_memory.adapters.postgres.generations import PostgresGenerations
from hermes_memory.adapters.postgres.pool import Pool
from hermes_memory.adapters.postgres.roles import OWNER
from hermes_memory.testing.generations_contract import GenerationsContract, GenerationsUnderTest
from tests.contract.test_store_inmemory import Levers
from tests.support.postgres_store import Installation


class TestInMemoryGenerations(GenerationsContract):
    """Every promise, kept in memory."""

    @pytest.fixture
    async def changing(self) -> GenerationsUnderTest:
        levers = Levers()
        acts = levers.store.generations
        return GenerationsUnderTest(
            store=levers.under_test(), generations=acts, other=acts, queue_of=levers.store.queue_of
        )


class TestPostgresGenerations(GenerationsContract):
    """Every promise, kept by Postgres."""

    @pytest_asyncio.fixture
    async def changing(self, database: Installation) -> AsyncIterator[GenerationsUnderTest]:
        pool = Pool(lambda: database.admin_dsn, max_size=2, statement_cache_size=0)
        try:
            async with (
                database.under_test() as store,
                administrator(database.admin_dsn) as opened,
                administrator(database.admin_dsn) as other,
            ):
                yield GenerationsUnderTest(
                    store=store,
                    generations=PostgresGenerations(opened),
                    other=PostgresGenerations(other),
                    queue_of=lambda number: PostgresEmbeddingQueue(pool, generation=number, role=OWNER),
                )
        finally:
            await pool.close()
