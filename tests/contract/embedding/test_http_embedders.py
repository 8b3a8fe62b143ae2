"""What an embedder over HTTP sends, and the answers it does not believe."""

from __future__ import annotations

import logging
import traceback
import tracemalloc
from functools import partial
from typing import Any

import anyio
import pytest
from aiohttp import web

from hermes_memory.adapters.embedding.http import HttpEmbedder
from hermes_memory.adapters.embedding.ollama import OllamaEmbedder
from hermes_memory.adapters.embedding.openai import OpenAIEmbedder
from hermes_memory.adapters.inmemory.embedder import hashed_vector
from hermes_memory.domain.errors import EmbedderUnavailable, EmbeddingRejected
from hermes_memory.testing.embedder_contract import cosine
from tests.support import embedding_server as faults
from tests.support.embedders import KEY, PATIENCE, PRIVATE
from tests.support.embedding_server import Asked, EmbeddingServer, Fault
from tests.support.tables import for_each


class TestQuestion:
    async def test_the_key_travels_as_a_bearer_token(self, http: HttpEmbedder, server: EmbeddingServer) -> None:
        await http.embed_query("hello", timeout=PATIENCE)

        assert server.requests[0].authorization == f"Bearer {KEY}"

    @pytest.mark.parametrize("key", [None, "", "  "])
    async def test_without_a_key_no_header_is_sent(self, server: EmbeddingServer, key: str | None) -> None:
        embedder = OpenAIEmbedder(server.url, model="m", dimension=server.dimension, key=lambda: key)

        await embedder.embed_query("hello", timeout=PATIENCE)
        await embedder.aclose()

        assert server.requests[0].authorization is None

    @pytest.mark.parametrize("key", ["sk-\r\nX-Evil: 1", "sk-ключ"])
    async def test_a_key_that_no_header_can_carry_is_not_sent_and_not_shown(
        self, server: EmbeddingServer, key: str
    ) -> None:
        embedder = OpenAIEmbedder(
            server.url, model="m", dimension=server.dimension, key=lambda: key, key_variable="EMBED_KEY"
        )

        with pytest.raises(EmbedderUnavailable, match="EMBED_KEY") as caught:
            await embedder.embed_query("hello", timeout=PATIENCE)
        await embedder.aclose()

        assert server.requests == []
        assert "sk-" not in repr(caught.value)

    async def test_texts_go_in_batches_over_one_connection(self, server: EmbeddingServer) -> None:
        embedder = OpenAIEmbedder(server.url, model="m", dimension=server.dimension, max_batch=32)

        vectors = await embedder.embed_documents([f"note {number}" for number in range(100)], timeout=PATIENCE)
        await embedder.aclose()

        assert [len(asked.texts) for asked in server.requests] == [32, 32, 32, 4]
        assert len({id(asked.connection) for asked in server.requests}) == 1
        assert cosine(vectors[99], hashed_vector("note 99", server.dimension)) == pytest.approx(1.0)

    async def test_no_more_connections_are_opened_than_allowed(self, server: EmbeddingServer) -> None:
        embedder = OpenAIEmbedder(server.url, model="m", dimension=server.dimension, connections=2)
        server.fault = faults.delayed(0.05)

        async with anyio.create_task_group() as callers:
            for number in range(8):
                callers.start_soon(lambda text: embedder.embed_query(text, timeout=PATIENCE), f"question {number}")
        await embedder.aclose()

        assert len({id(asked.connection) for asked in server.requests}) == 2

    async def test_a_text_is_cut_to_its_bound(self, server: EmbeddingServer) -> None:
        embedder = OllamaEmbedder(server.url, model="m", dimension=server.dimension, max_chars=10)

        await embedder.embed_query("0123456789ABC", timeout=PATIENCE)
        await embedder.aclose()

        assert server.texts == ["0123456789"]

    @pytest.mark.parametrize("kind", [OpenAIEmbedder, OllamaEmbedder])
    async def test_the_dimension_is_asked_for_only_on_wish(
        self, server: EmbeddingServer, kind: type[HttpEmbedder]
    ) -> None:
        for shorten in (False, True):
            embedder = kind(server.url, model="m", dimension=server.dimension, shorten=shorten)
            await embedder.embed_query("hello", timeout=PATIENCE)
            await embedder.aclose()

        assert [asked.body.get("dimensions") for asked in server.requests] == [None, server.dimension]


WRONG_ANSWERS: dict[str, tuple[Fault, str]] = {
    "too few vectors": (faults.wrong_count(), "2 texts with 1 vectors"),
    "another dimension": (faults.wrong_dimension(48), "48 dimensions, 64 are configured"),
    "the largest dimension": (faults.wrong_dimension(4_000), "4000 dimensions, 64 are configured"),
    "NaN": (faults.not_finite(), "not finite"),
    "infinity": (faults.not_finite("-Infinity"), "not finite"),
    "a huge integer": (faults.answering(lambda vectors: [[10**400] * 64 for _ in vectors]), "not finite"),
    "only zeros": (faults.all_zero(), "all zero"),
    "strings": (faults.answering(lambda vectors: [["0.1"] * 64 for _ in vectors]), "else than numbers"),
    "truth values": (faults.answering(lambda vectors: [[True] * 64 for _ in vectors]), "else than numbers"),
    "null": (faults.answering(lambda vectors: [None for _ in vectors]), "not a list of numbers"),
    "a web page": (faults.html(), "web page|neither"),
    "no JSON": (faults.with_body("{'data': []}"), "not JSON"),
    "no UTF-8 JSON": (faults.with_body("\x80", content_type="text/plain"), "not JSON"),
    "a deep nest": (faults.with_body("[" * 60_000), "not JSON"),
    "an empty body": (faults.with_body(""), "not JSON"),
    "a bare list": (faults.with_body("[1, 2]"), "shape"),
    "an empty object": (faults.with_body("{}"), "shape"),
    "nothing but 204": (faults.status(204), "refuses"),
    "a redirect": (faults.redirect("http://127.0.0.1:1/"), "redirects .HTTP 307"),
    "a redirect of old": (faults.redirect("/v1/embeddings", 301), "redirects .HTTP 301"),
    "a gzip bomb": (faults.gzip_bomb(64), "larger than"),
    "an endless body": (faults.oversized(64), "larger than"),
    "an unknown packing": (faults.packed(encoding="br"), "not asked for"),
    "a broken packing": (faults.with_body("{}", headers={"Content-Encoding": "gzip"}), "broken way"),
    "a refused text": (faults.refusing(PRIVATE), "HTTP 400"),
    "too long a text": (faults.status(413), "HTTP 413"),
    "an invalid text": (faults.status(422), "HTTP 422"),
    "an unknown path": (faults.status(404), "know"),
    "an unknown model": (faults.status(404, body={"error": f"model not found: {PRIVATE} {KEY}"}), "know the model"),
}


class TestWrongAnswers:
    @for_each("case", WRONG_ANSWERS)
    async def test_a_wrong_answer_is_rejected_and_says_why(
        self, http: HttpEmbedder, server: EmbeddingServer, case: str
    ) -> None:
        server.fault, reason = WRONG_ANSWERS[case]

        with pytest.raises(EmbeddingRejected, match=reason):
            await http.embed_documents([PRIVATE, "another"], timeout=PATIENCE)

    async def test_an_embedder_is_as_before_once_the_endpoint_is(
        self, http: HttpEmbedder, server: EmbeddingServer
    ) -> None:
        for fault, _ in WRONG_ANSWERS.values():
            server.fault = fault
            with pytest.raises(EmbeddingRejected):
                await http.embed_documents([PRIVATE, "another"], timeout=PATIENCE)
        server.fault = None

        assert len(await http.embed_documents([PRIVATE], timeout=PATIENCE)) == 1

    async def test_vectors_are_put_in_order_by_their_index(
        self, openai: OpenAIEmbedder, server: EmbeddingServer
    ) -> None:
        server.fault = faults.wrong_order()

        vectors = await openai.embed_documents(["one", "two", "three"], timeout=PATIENCE)

        for vector, text in zip(vectors, ["one", "two", "three"], strict=True):
            assert cosine(vector, hashed_vector(text, server.dimension)) == pytest.approx(1.0)

    @pytest.mark.parametrize("indexes", [[0, 0], [1, 2], [0, None], [0, "1"], [0, True], [0, 1.0]])
    async def test_an_index_that_places_no_vector_is_rejected(
        self, openai: OpenAIEmbedder, server: EmbeddingServer, indexes: list[object]
    ) -> None:
        async def fault(_: EmbeddingServer, __: Any, asked: Asked) -> web.StreamResponse:
            vectors = server.vectors(asked.texts)
            items = [{"index": index, "embedding": vector} for index, vector in zip(indexes, vectors, strict=True)]
            return web.json_response({"data": items})

        server.fault = fault

        with pytest.raises(EmbeddingRejected, match="which vector belongs"):
            await openai.embed_documents(["one", "two"], timeout=PATIENCE)

    async def test_a_gzip_bomb_is_stopped_before_it_unpacks(
        self, openai: OpenAIEmbedder, server: EmbeddingServer
    ) -> None:
        server.fault = faults.gzip_bomb(200)
        tracemalloc.start()
        try:
            with pytest.raises(EmbeddingRejected, match="larger than"):
                await openai.embed_query("hello", timeout=PATIENCE)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()

        assert peak < 20 * 1024 * 1024

    async def test_an_honest_packed_answer_is_read(self, http: HttpEmbedder, server: EmbeddingServer) -> None:
        server.fault = faults.packed()

        [vector] = await http.embed_documents(["hello"], timeout=PATIENCE)

        assert cosine(vector, hashed_vector("hello", server.dimension)) == pytest.approx(1.0)

    async def test_vectors_of_any_length_come_out_at_unit_length(
        self, http: HttpEmbedder, server: EmbeddingServer
    ) -> None:
        for factor in (1e-200, 1e-12, 40.0, 1e150):
            server.fault = faults.answering(partial(_scaled, factor))

            [vector] = await http.embed_documents(["hello"], timeout=PATIENCE)

            assert sum(number * number for number in vector) == pytest.approx(1.0)


class TestSecrecy:
    @pytest.mark.parametrize(
        "fault",
        [
            faults.status(401, body={"error": f"{KEY} {PRIVATE}"}),
            faults.status(404, body={"error": f"model {KEY} {PRIVATE}"}),
            faults.status(429, body={"error": f"{KEY} {PRIVATE}"}),
            faults.refusing(PRIVATE),
            faults.with_body(f"{KEY} {PRIVATE}"),
            faults.wrong_count(),
            faults.reset(),
            faults.html(),
        ],
    )
    async def test_neither_key_nor_content_is_in_errors_logs_or_representation(
        self, http: HttpEmbedder, server: EmbeddingServer, caplog: pytest.LogCaptureFixture, fault: Fault
    ) -> None:
        caplog.set_level(logging.DEBUG)
        server.fault = fault

        with pytest.raises((EmbedderUnavailable, EmbeddingRejected)) as caught:
            await http.embed_documents([PRIVATE], timeout=PATIENCE)

        ours = [record.getMessage() for record in caplog.records if record.name.startswith("hermes_memory")]
        shown = "".join(traceback.format_exception(caught.value)) + repr(caught.value) + repr(http) + "".join(ours)
        assert KEY not in shown
        assert PRIVATE not in shown


def _scaled(factor: float, vectors: list[list[float]]) -> list[list[float]]:
    return [[number * factor for number in vector] for vector in vectors]
