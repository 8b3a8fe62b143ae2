"""Two levels say what a cosine is worth under a model."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_memory.adapters.inmemory.embedder import HashingEmbedder, hashed_vector
from hermes_memory.application.calibration import LEAST_DISTANCE, levels, measure
from hermes_memory.application.calibration_texts import PARAPHRASES
from hermes_memory.domain.errors import EmbeddingRejected

PATIENCE = 60.0


class NarrowEmbedder(HashingEmbedder):
    """Uses a small part of the scale: every vector leans far to one common direction."""

    async def embed_query(self, text: str, *, timeout: float) -> list[float]:
        return self._narrow(text)

    async def embed_documents(self, texts: Sequence[str], *, timeout: float) -> list[list[float]]:
        return [self._narrow(text) for text in texts]

    def _narrow(self, text: str) -> list[float]:
        return [2.0, *hashed_vector(text, self.dimension)[1:]]


class DeafEmbedder(HashingEmbedder):
    """Answers every text with the same vector."""

    async def embed_query(self, text: str, *, timeout: float) -> list[float]:
        return [1.0] * self.dimension

    async def embed_documents(self, texts: Sequence[str], *, timeout: float) -> list[list[float]]:
        return [[1.0] * self.dimension for _ in texts]


async def test_texts_that_say_the_same_lie_above_unrelated_ones() -> None:
    found = await measure(HashingEmbedder(), timeout=PATIENCE)

    assert -0.1 < found.unrelated < 0.1
    assert found.related > found.unrelated + 0.1


async def test_a_model_that_uses_a_narrow_part_of_the_scale_is_measured_there() -> None:
    found = await measure(NarrowEmbedder(), timeout=PATIENCE)

    assert found.unrelated > 0.7
    assert found.unrelated < found.related < 1.0


async def test_a_model_that_tells_nothing_apart_is_rejected_by_name() -> None:
    with pytest.raises(EmbeddingRejected, match="hashing-256"):
        await measure(DeafEmbedder(), timeout=PATIENCE)


async def test_questions_and_stored_texts_are_embedded_as_recall_embeds_them() -> None:
    asked: list[str] = []
    stored: list[str] = []

    class Listening(HashingEmbedder):
        async def embed_query(self, text: str, *, timeout: float) -> list[float]:
            asked.append(text)
            return await super().embed_query(text, timeout=timeout)

        async def embed_documents(self, texts: Sequence[str], *, timeout: float) -> list[list[float]]:
            stored.extend(texts)
            return await super().embed_documents(texts, timeout=timeout)

    await measure(Listening(), timeout=PATIENCE)

    assert list(zip(asked, stored, strict=True)) == list(PARAPHRASES)


def test_the_levels_are_the_means_beside_and_on_the_diagonal() -> None:
    unrelated, related = levels([(1.0, 0.0), (0.0, 1.0)], [(4.0, 3.0), (3.0, 4.0)])

    assert (unrelated, related) == pytest.approx((0.6, 0.8))


def test_where_unrelated_texts_spread_widely_the_upper_level_is_raised() -> None:
    asked = [(1.0, 0.0, 0.0), (0.0, 1.0, 0.0)]
    stored = [_of_length_one(0.6, 0.45), _of_length_one(0.55, 0.6)]

    assert levels(asked, stored) == pytest.approx((0.5, 0.5 + LEAST_DISTANCE * 0.05))


def _of_length_one(first: float, second: float) -> tuple[float, ...]:
    return first, second, math.sqrt(1 - first**2 - second**2)


def test_a_wide_spread_does_not_hide_that_a_model_tells_nothing_apart() -> None:
    unrelated, related = levels([(1.0, 0.0), (0.0, 1.0)], [(1.0, 2.0), (5.0, 1.0)])

    assert related < unrelated


vectors = st.lists(st.tuples(*[st.floats(0.1, 10.0)] * 3), min_size=2, max_size=6)


@given(vectors, st.floats(0.001, 1_000.0))
def test_the_length_of_the_vectors_does_not_matter(found: list[tuple[float, ...]], factor: float) -> None:
    longer = [tuple(number * factor for number in vector) for vector in found]

    assert levels(longer, found) == pytest.approx(levels(found, longer))
    assert levels(longer, found).related == pytest.approx(1.0)
    assert math.isfinite(levels(longer, found).unrelated)


def test_the_shipped_pairs_are_about_different_matters_and_of_several_scripts() -> None:
    texts = [text for pair in PARAPHRASES for text in pair]

    assert len(PARAPHRASES) == 16
    assert len(set(texts)) == len(texts)
    assert sum(not text.isascii() for text in texts) >= 6
    assert all(len(text) < 120 for text in texts)
