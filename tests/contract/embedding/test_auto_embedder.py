"""The shape of an endpoint is found out without hiding what it says."""

from __future__ import annotations

import pytest

from hermes_memory.adapters.embedding.auto import AutoEmbedder
from hermes_memory.adapters.embedding.http import HttpEmbedder
from hermes_memory.domain.errors import EmbedderUnavailable, EmbeddingRejected
from tests.support import embedding_server as faults
from tests.support.embedders import PATIENCE, http_embedder
from tests.support.embedding_server import EmbeddingServer, Fault


class TestAuto:
    async def test_the_shape_that_worked_is_kept(self) -> None:
        async with EmbeddingServer(dimension=8, shapes=frozenset({"ollama"})) as server:
            embedder = AutoEmbedder(server.url, model="m", dimension=8)
            for _ in range(3):
                await embedder.embed_query("hello", timeout=PATIENCE)
            await embedder.aclose()

        assert [asked.shape for asked in server.requests] == ["ollama"] * 3
        assert embedder._found is not None

    async def test_the_openai_shape_is_tried_first(self, server: EmbeddingServer) -> None:
        async with http_embedder(AutoEmbedder, server) as auto:
            await auto.embed_query("hello", timeout=PATIENCE)

        assert [asked.shape for asked in server.requests] == ["openai"]

    @pytest.mark.parametrize(
        ("fault", "error", "message"),
        [
            (faults.status(401), EmbedderUnavailable, "refuses the key"),
            (
                faults.status(404, body={"error": {"message": "The model `m` does not exist"}}),
                EmbeddingRejected,
                "model",
            ),
            (faults.status(400), EmbeddingRejected, "HTTP 400"),
            (faults.status(503), EmbedderUnavailable, "HTTP 503"),
            (faults.wrong_dimension(3), EmbeddingRejected, "3 dimensions"),
        ],
    )
    async def test_what_the_first_shape_says_is_not_hidden_by_the_absence_of_the_other(
        self, fault: Fault, error: type[Exception], message: str
    ) -> None:
        async with EmbeddingServer(dimension=8, shapes=frozenset({"openai"}), fault=fault) as server:
            embedder = AutoEmbedder(server.url, model="m", dimension=8)

            with pytest.raises(error, match=message):
                await embedder.embed_query("hello", timeout=PATIENCE)
            await embedder.aclose()

        assert [asked.shape for asked in server.requests] == ["openai"]

    async def test_what_the_second_shape_says_is_not_hidden_by_the_absence_of_the_first(self) -> None:
        refuses = faults.status(404, body={"error": 'model "m" not found, try pulling it first'})
        async with EmbeddingServer(dimension=8, shapes=frozenset({"ollama"}), fault=refuses) as server:
            embedder = AutoEmbedder(server.url, model="m", dimension=8)

            with pytest.raises(EmbeddingRejected, match="does not know the model"):
                await embedder.embed_query("hello", timeout=PATIENCE)
            await embedder.aclose()

    async def test_an_endpoint_that_speaks_neither_is_named_so(self) -> None:
        async with EmbeddingServer(dimension=8, shapes=frozenset()) as server:
            embedder = AutoEmbedder(server.url, model="m", dimension=8)

            with pytest.raises(EmbeddingRejected, match="neither"):
                await embedder.embed_query("hello", timeout=PATIENCE)
            await embedder.aclose()

    async def test_a_server_that_was_replaced_by_one_of_the_other_shape_is_found_again(self) -> None:
        async with EmbeddingServer(dimension=8, shapes=frozenset({"ollama"})) as server:
            embedder = AutoEmbedder(server.url, model="m", dimension=8)
            await embedder.embed_query("hello", timeout=PATIENCE)
        async with EmbeddingServer(dimension=8, shapes=frozenset({"openai"}), port=server.port) as second:
            vector = await _until_available(embedder)
            await embedder.aclose()

        assert len(vector) == 8
        assert second.requests[-1].shape == "openai"


async def _until_available(embedder: HttpEmbedder) -> list[float]:
    """Ask again after the one failure that a kept connection to a dead server may cost."""
    try:
        return await embedder.embed_query("hello", timeout=PATIENCE)
    except EmbedderUnavailable:
        return await embedder.embed_query("hello", timeout=PATIENCE)
