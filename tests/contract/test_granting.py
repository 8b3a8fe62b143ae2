"""Grants, persons and counts, in memory and on a real Postgres."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from hermes_memory.adapters.postgres.administrator import administrator
from hermes_memory.adapters.postgres.granting import PostgresGranting
from hermes_memory.testing.granting_contract import GrantingContract, GrantingUnderTest
from tests.contract.test_store_inmemory import Levers
from tests.support.postgres_store import Installation


class TestInMemoryGranting(GrantingContract):
    """Every promise, kept in memory."""

    @pytest.fixture
    async def desk(self) -> GrantingUnderTest:
        levers = Levers()
        return GrantingUnderTest(store=levers.under_test(), granting=levers.store.granting)


class TestPostgresGranting(GrantingContract):
    """Every promise, kept by Postgres."""

    @pytest_asyncio.fixture
    async def desk(self, database: Installation) -> AsyncIterator[GrantingUnderTest]:
        async with database.under_test() as store, administrator(database.admin_dsn) as opened:
            yield GrantingUnderTest(store=store, granting=PostgresGranting(opened))
