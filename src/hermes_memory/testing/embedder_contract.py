"""What every embedder promises. Run it on an embedder of your own:

```python
class TestMyEmbedder(EmbedderContract):
    @pytest.fixture
    async def embedder(self):
        embedder = MyEmbedder()
        yield embedder
        await embedder.aclose()
```
"""  # noqa: D415 - the first line introduces the example

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import mul

import anyio
import pytest

from hermes_memory.domain.errors import EmbeddingRejected
from hermes_memory.ports.embedding import Embedder

_PATIENCE = 60.0
"""Seconds; a guard against hanging, no measure of speed."""

TEXTS = (
    "The launch of the spring campaign moved to 3 May.",
    "Nutze Port 5433, nicht 5432.",
    "办公室的门禁密码是八八四一。",
    "ERROR worker[17]: connection refused (errno 111) at db_pool.py:88",
    "👍",
    "def add(a: int, b: int) -> int:\n    return a + b",
)
"""Short texts of the kinds a memory holds."""


def cosine(one: Sequence[float], other: Sequence[float]) -> float:
    """Return the cosine of two vectors."""
    product: float = sum(map(mul, one, other))
    return product / (math.hypot(*one) * math.hypot(*other))


@pytest.mark.asyncio
class EmbedderContract:
    """What every `Embedder` keeps. A subclass supplies the fixture `embedder`."""

    async def test_the_model_has_a_name_and_a_dimension_in_range(self, embedder: Embedder) -> None:
        assert embedder.model
        assert 1 <= embedder.dimension <= 4_000

    async def test_a_question_gets_one_finite_vector_that_is_not_zero(self, embedder: Embedder) -> None:
        vector = await embedder.embed_query("When is the launch?", timeout=_PATIENCE)

        _assert_vector(vector, embedder.dimension)

    async def test_every_text_gets_a_vector_in_its_place(self, embedder: Embedder) -> None:
        together = await embedder.embed_documents(TEXTS, timeout=_PATIENCE)
        alone = [(await embedder.embed_documents([text], timeout=_PATIENCE))[0] for text in TEXTS]

        assert len(together) == len(TEXTS)
        for one, other in zip(together, alone, strict=True):
            _assert_vector(one, embedder.dimension)
            assert cosine(one, other) == pytest.approx(1.0, abs=1e-3)

    async def test_texts_that_differ_get_vectors_that_differ(self, embedder: Embedder) -> None:
        first, second, *_ = await embedder.embed_documents(TEXTS, timeout=_PATIENCE)

        assert cosine(first, second) < 0.99

    async def test_a_question_is_nearest_to_the_text_that_says_the_same(self, embedder: Embedder) -> None:
        question = await embedder.embed_query("launch of the spring campaign", timeout=_PATIENCE)
        documents = await embedder.embed_documents(TEXTS, timeout=_PATIENCE)

        nearest = max(range(len(TEXTS)), key=lambda place: cosine(question, documents[place]))
        assert nearest == 0

    async def test_no_texts_get_no_vectors(self, embedder: Embedder) -> None:
        assert list(await embedder.embed_documents([], timeout=_PATIENCE)) == []

    async def test_more_texts_than_a_batch_keep_their_order(self, embedder: Embedder) -> None:
        texts = [f"note number {number} about topic {number * number}" for number in range(150)]

        vectors = await embedder.embed_documents(texts, timeout=_PATIENCE)

        assert len(vectors) == len(texts)
        [last] = await embedder.embed_documents([texts[-1]], timeout=_PATIENCE)
        assert cosine(vectors[-1], last) == pytest.approx(1.0, abs=1e-3)

    @pytest.mark.parametrize("text", ["a lone \ud83d surrogate", "a NUL \0 byte", "word " * 20_000, "x" * 50_000])
    async def test_odd_and_long_texts_are_embedded_too(self, embedder: Embedder, text: str) -> None:
        vector = await embedder.embed_query(text, timeout=_PATIENCE)
        [document] = await embedder.embed_documents([text], timeout=_PATIENCE)

        _assert_vector(vector, embedder.dimension)
        _assert_vector(document, embedder.dimension)

    async def test_a_blank_text_gets_a_vector_or_is_rejected(self, embedder: Embedder) -> None:
        try:
            [vector] = await embedder.embed_documents(["  "], timeout=_PATIENCE)
        except EmbeddingRejected:
            return

        _assert_vector(vector, embedder.dimension)

    async def test_many_callers_at_once_each_get_their_own_answer(self, embedder: Embedder) -> None:
        expected = await embedder.embed_documents(TEXTS, timeout=_PATIENCE)
        answers: dict[int, Sequence[float]] = {}

        async def ask(place: int) -> None:
            answers[place] = await embedder.embed_query(TEXTS[place % len(TEXTS)], timeout=_PATIENCE)

        async with anyio.create_task_group() as callers:
            for place in range(24):
                callers.start_soon(ask, place)

        assert all(cosine(answers[place], expected[place % len(TEXTS)]) > 0.5 for place in range(24))

    async def test_closing_twice_is_the_same_as_closing_once(self, embedder: Embedder) -> None:
        await embedder.embed_query("anything", timeout=_PATIENCE)

        await embedder.aclose()
        await embedder.aclose()


def _assert_vector(vector: Sequence[float], dimension: int) -> None:
    assert len(vector) == dimension
    assert all(math.isfinite(number) for number in vector)
    assert any(number != 0.0 for number in vector)
