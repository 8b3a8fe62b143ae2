"""The fixtures of databases for the conftest of a layer: a server and a template a module, a copy of it a test."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio

from tests.support.postgres import TestServer
from tests.support.postgres_store import Installation, migrated


@pytest.fixture(scope="module")
def server() -> Iterator[TestServer]:
    """A server of the module's own."""
    with TestServer() as started:
        yield started


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def template(server: TestServer) -> AsyncIterator[Installation]:
    """A migrated database, to be copied."""
    async with migrated(server) as installation:
        yield installation


@pytest_asyncio.fixture
async def database(template: Installation) -> AsyncIterator[Installation]:
    """A copy of it for one test."""
    async with template.copy() as copied:
        yield copied
