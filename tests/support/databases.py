"""The fixtures of databases for the conftest of a layer: a template for all its modules, a copy of it a test."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio

from tests.support.postgres import TestServer
from tests.support.postgres_store import Installation, migrated


@pytest.fixture(scope="module")
def own_server() -> Iterator[TestServer]:
    """A server of one module's own, for tests that change what belongs to a whole server, as roles do."""
    with TestServer() as started:
        yield started


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def template(server: TestServer) -> AsyncIterator[Installation]:
    """A migrated database, to be copied."""
    async with migrated(server) as installation:
        yield installation


@pytest_asyncio.fixture
async def database(template: Installation) -> AsyncIterator[Installation]:
    """A copy of it for one test."""
    async with template.copy() as copied:
        yield copied
