"""The fixtures for modules of trials: a database that is ready for the embedder's vectors, and the embedder."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio

from tests.support.embedding_server import EmbeddingServer, EmbeddingServerThread
from tests.support.postgres import TestServer
from tests.support.postgres_store import Installation
from tests.support.trial import DIMENSION, migrated_for_trials


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def template(server: TestServer) -> AsyncIterator[Installation]:
    """A migrated database, to be copied."""
    async with migrated_for_trials(server) as installation:
        yield installation


@pytest.fixture
def embeddings() -> Iterator[EmbeddingServer]:
    """The embedder of the test's processes."""
    with EmbeddingServerThread(EmbeddingServer(dimension=DIMENSION)) as started:
        yield started
