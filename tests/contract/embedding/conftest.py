"""Embedders under test, and the server that those over HTTP ask."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from functools import partial

import anyio
import pytest

from hermes_memory.adapters.embedding.http import HttpEmbedder
from hermes_memory.adapters.embedding.local import LocalEmbedder
from hermes_memory.adapters.embedding.openai import OpenAIEmbedder
from hermes_memory.adapters.embedding.quality import QualityEmbedder
from tests.support.embedders import HTTP_EMBEDDERS, http_embedder
from tests.support.embedding_server import EmbeddingServer


@pytest.fixture
async def server() -> AsyncIterator[EmbeddingServer]:
    async with EmbeddingServer(dimension=64) as server:
        yield server


@pytest.fixture(params=HTTP_EMBEDDERS, ids=lambda kind: kind.__name__)
async def http(request: pytest.FixtureRequest, server: EmbeddingServer) -> AsyncIterator[HttpEmbedder]:
    async with http_embedder(request.param, server) as embedder:
        yield embedder


@pytest.fixture
async def openai(server: EmbeddingServer) -> AsyncIterator[OpenAIEmbedder]:
    async with http_embedder(OpenAIEmbedder, server) as embedder:
        yield embedder


@pytest.fixture(scope="package")
def loaded_model() -> Iterator[None]:
    """Keeps the weights loaded between the tests."""
    holder = LocalEmbedder()
    anyio.run(partial(holder.warm_up, timeout=60))
    yield
    anyio.run(holder.aclose)


@pytest.fixture
async def in_process(loaded_model: None) -> AsyncIterator[LocalEmbedder]:
    embedder = LocalEmbedder()
    yield embedder
    await embedder.aclose()


@pytest.fixture(scope="package")
def loaded_process() -> Iterator[None]:
    """Keeps the model's process running between the tests."""
    holder = QualityEmbedder()
    anyio.run(partial(holder.warm_up, timeout=60))
    yield
    anyio.run(holder.aclose)


@pytest.fixture
async def beside(loaded_process: None) -> AsyncIterator[QualityEmbedder]:
    embedder = QualityEmbedder()
    yield embedder
    await embedder.aclose()
