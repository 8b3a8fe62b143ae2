"""The Postgres store keeps the contract of every store port, on a real server, as the unprivileged runtime role."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest_asyncio

from hermes_memory.adapters.postgres.folding import PostgresTextIndex
from hermes_memory.testing import StoreUnderTest
from hermes_memory.testing.store_contract import StoreContract
from hermes_memory.testing.text_index_contract import TextIndexContract
from tests.support.postgres_store import Installation


class TestPostgresStore(StoreContract):
    """Every promise, kept by Postgres."""

    @pytest_asyncio.fixture
    async def store(self, template: Installation) -> AsyncIterator[StoreUnderTest]:
        async with template.copy() as installation, installation.under_test() as opened:
            yield opened


class TestPostgresTextIndex(TextIndexContract):
    """Every promise, kept by Postgres."""

    @pytest_asyncio.fixture
    async def place(self, template: Installation) -> AsyncIterator[Installation]:
        async with template.copy() as installation:
            yield installation

    @pytest_asyncio.fixture
    async def store(self, place: Installation) -> AsyncIterator[StoreUnderTest]:
        async with place.under_test() as opened:
            yield opened

    @pytest_asyncio.fixture
    async def index(self, place: Installation) -> AsyncIterator[PostgresTextIndex]:
        async with place.store() as opened:
            yield PostgresTextIndex(opened.pool, rest=0.0)
