"""Both stores keep what `HistoryReader` promises."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import datetime

import pytest
import pytest_asyncio

from hermes_memory.adapters.inmemory import InMemoryStore
from hermes_memory.adapters.postgres.history_reader import PostgresHistory
from hermes_memory.testing.history_contract import HistoryContract, HistoryUnderTest
from tests.support.clocks import ticking
from tests.support.postgres_store import ANALYZE, Installation


class TestInMemoryHistory(HistoryContract):
    """Every promise, kept in memory."""

    @pytest.fixture
    async def past(self) -> HistoryUnderTest:
        clock = ticking()

        async def moment() -> datetime:
            return clock()

        store = InMemoryStore(analyze=ANALYZE, clock=clock)
        return HistoryUnderTest(delivery=store.delivery, history=store.history, moment=moment)


class TestPostgresHistory(HistoryContract):
    """Every promise, kept by Postgres."""

    @pytest_asyncio.fixture
    async def past(self, template: Installation) -> AsyncIterator[HistoryUnderTest]:
        async with template.copy() as installation, installation.store() as store:

            async def moment() -> datetime:
                now: datetime = await installation.administer("select clock_timestamp()")
                return now

            yield HistoryUnderTest(delivery=store.delivery, history=PostgresHistory(store.pool), moment=moment)
