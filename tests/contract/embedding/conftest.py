"""Embedders under test, and the server that those over HTTP ask."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing, contextmanager
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


@contextmanager
def _held(holder: LocalEmbedder | QualityEmbedder) -> Iterator[None]:
    """Keep what embedders of a kind share between the tests, which is let go of with the last of them."""
    anyio.run(partial(holder.warm_up, timeout=60))
    yield
    anyio.run(holder.aclose)


@pytest.fixture(scope="package")
def loaded_model() -> Iterator[None]:
    """Keeps the weights loaded."""
    with _held(LocalEmbedder()):
        yield


@pytest.fixture
async def in_process(loaded_model: None) -> AsyncIterator[LocalEmbedder]:
    async with aclosing(LocalEmbedder()) as embedder:
        yield embedder


@pytest.fixture(scope="package")
def loaded_process() -> Iterator[None]:
    """Keeps the model's process running."""
    with _held(QualityEmbedder()):
        yield


@pytest.fixture
async def beside(loaded_process: None) -> AsyncIterator[QualityEmbedder]:
    async with aclosing(QualityEmbedder()) as embedder:
        yield embedder
