"""Recall over an in-memory store: how the legs meet, and what an open breaker spares them."""

from __future__ import annotations

from datetime import UTC, datetime

import anyio
import pytest

from hermes_memory.adapters.inmemory.embedder import HashingEmbedder
from hermes_memory.adapters.inmemory.queue import InMemoryEmbeddingQueue
from hermes_memory.adapters.inmemory.records import Records
from hermes_memory.adapters.inmemory.store import InMemoryStore
from hermes_memory.application.breaker import EMBEDDER, STORE, Breaker
from hermes_memory.application.recall import Recall, RecallRequest
from hermes_memory.domain.errors import StoreUnavailable
from hermes_memory.domain.fusion import Fusion
from hermes_memory.domain.lexemes import Analyzer
from hermes_memory.domain.model import ReadPolicy
from hermes_memory.domain.ranking import RankingPolicy
from hermes_memory.ports.embedding import EmbeddingQueue, Generation
from hermes_memory.testing.making import CURRENT, DESK, add

GUARD = 10.0
ANALYZER = Analyzer(stem=lambda word: word)
EMBEDDER_USED = HashingEmbedder()
GENERATION = Generation(
    number=1, model=EMBEDDER_USED.model, dimension=EMBEDDER_USED.dimension, unrelated=0.0, related=0.9
)


class SilentQueue(InMemoryEmbeddingQueue):
    """The queue of a database that takes a connection and never answers."""

    def __init__(self) -> None:
        super().__init__(
            Records(analyze=str.split, now=lambda: datetime.now(UTC), generation=GENERATION, policy=ReadPolicy.OPEN)
        )

    async def active(self) -> Generation | None:
        await anyio.sleep_forever()
        return None


def make_recall(
    store: InMemoryStore, queue: EmbeddingQueue, breaker: Breaker, fusion: Fusion = Fusion.SCORES
) -> Recall:
    return Recall(
        store.search,
        queue,
        embedder=EMBEDDER_USED,
        analyzer=ANALYZER,
        ranking=RankingPolicy(fusion=fusion),
        store_breaker=breaker,
        embed_breaker=Breaker(EMBEDDER),
        embed_timeout=GUARD,
        now=lambda: datetime.now(UTC),
    )


def request(query: str) -> RecallRequest:
    return RecallRequest(caller=DESK, query=query, space=CURRENT, limit=10, timeout=GUARD * 2)


async def test_a_question_to_a_database_known_to_be_away_fails_at_once_and_asks_it_nothing() -> None:
    breaker = Breaker(STORE, failures=1, delay=1_000.0)
    with pytest.raises(StoreUnavailable), breaker.guard():
        raise StoreUnavailable("out of reach")
    recall = make_recall(InMemoryStore(analyze=ANALYZER.analyze), SilentQueue(), breaker)

    with anyio.fail_after(GUARD), pytest.raises(StoreUnavailable):
        await recall.recall(request("launch"))


async def test_by_ranks_a_row_without_a_word_of_the_question_has_no_place_in_the_text_leg() -> None:
    store = InMemoryStore(analyze=ANALYZER.analyze, generation=GENERATION)
    without_a_word, with_a_word = add("lighthouses relaunching"), add("launch")
    await store.delivery.apply([without_a_word, with_a_word])
    jobs = await store.queue.claim(10, lease=60.0)
    vectors = await EMBEDDER_USED.embed_documents([job.text for job in jobs], timeout=GUARD)
    await store.queue.complete({job.row: vector for job, vector in zip(jobs, vectors, strict=True)}, jobs)
    recall = make_recall(store, store.queue, Breaker(STORE), Fusion.RANKS)

    result = await recall.recall(request("launch"))

    scores = {hit.row.content: hit.score for hit in result.hits}
    assert scores["launch"] == pytest.approx(1.0)
    # First place in one leg of two would give half of the best score.
    assert 0 < scores["lighthouses relaunching"] < 0.5
