"""Embedders of the tests, and what their tests look for."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TypeVar

from hermes_memory.adapters.embedding.auto import AutoEmbedder
from hermes_memory.adapters.embedding.http import HttpEmbedder
from hermes_memory.adapters.embedding.ollama import OllamaEmbedder
from hermes_memory.adapters.embedding.openai import OpenAIEmbedder
from tests.support.embedding_server import EmbeddingServer

KEY = "sk-very-secret-1234"
PRIVATE = "the private sentence"
PATIENCE = 60.0
"""Seconds; a guard against hanging, no measure of speed."""

HTTP_EMBEDDERS: list[type[HttpEmbedder]] = [OpenAIEmbedder, OllamaEmbedder, AutoEmbedder]

E = TypeVar("E", bound=HttpEmbedder)


@asynccontextmanager
async def http_embedder(kind: type[E], server: EmbeddingServer) -> AsyncIterator[E]:
    """Yield an embedder that asks the server with a key, and close it."""
    embedder = kind(
        server.url, model="some-model", dimension=server.dimension, key=lambda: KEY, key_variable="EMBED_KEY"
    )
    try:
        yield embedder
    finally:
        await embedder.aclose()


def threads_named(name: str) -> list[threading.Thread]:
    """Return the living threads of a name."""
    return [thread for thread in threading.enumerate() if thread.name == name]
