"""The in-memory store and Postgres give the same answers, in the same order, to the questions of a whole corpus.

Postgres keeps vectors in half precision and its posting lists within a budget, so scores may differ by `TOLERANCE`,
and rows whose scores differ by less may change places. Everything else is the same.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime
from itertools import islice, pairwise
from typing import Final
from uuid import UUID, uuid5

import pytest
import pytest_asyncio
from benchmarks.recall.corpus import Memory, themes
from benchmarks.recall.corpus import Theme as Remembered

from hermes_memory.adapters.embedding.local import LOCAL_DIMENSION, LOCAL_MODEL, LocalEmbedder
from hermes_memory.adapters.inmemory import InMemoryStore
from hermes_memory.adapters.postgres.store import PostgresStore
from hermes_memory.adapters.stemming import snowball_stem
from hermes_memory.application.answers import RecallRequest
from hermes_memory.application.legs import Legs
from hermes_memory.application.recall import Recall
from hermes_memory.application.telemetry import Telemetry
from hermes_memory.domain.fusion import Ranked
from hermes_memory.domain.lexemes import Analyzer
from hermes_memory.domain.model import (
    AllScope,
    Caller,
    CurrentScope,
    OperationId,
    Origin,
    Role,
    RowId,
    Scope,
    SessionId,
    Target,
    Theme,
)
from hermes_memory.domain.operations import AddEntry, Operation, RecordTurns, Stamp, TurnDraft
from hermes_memory.domain.ranking import RankingPolicy
from hermes_memory.ports.embedding import Generation
from hermes_memory.ports.reading import SearchSpace
from hermes_memory.testing.making import PATIENCE
from tests.support.inprocess import embed_breaker, store_breaker
from tests.support.postgres import TestServer
from tests.support.postgres_store import ANALYZE, migrated

TOLERANCE: Final = 0.002
"""Of a score, which lies between 0 and 1: half precision keeps 11 bits of each number of a vector."""
LIMIT: Final = 10
THEMES: Final = 3
QUESTIONS: Final = 12
NAMES: Final = UUID(int=7)
UNRELATED, RELATED = 0.15, 0.55
NOW: Final = datetime(2026, 6, 1, tzinfo=UTC)

Store = InMemoryStore | PostgresStore


@pytest.fixture(scope="module")
def corpus() -> Sequence[Remembered]:
    return list(islice(themes(), THEMES))


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def embedder() -> AsyncIterator[LocalEmbedder]:
    made = LocalEmbedder()
    yield made
    await made.aclose()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stores(
    server: TestServer, corpus: Sequence[Remembered], embedder: LocalEmbedder
) -> AsyncIterator[tuple[Store, Store]]:
    """Both stores, with the same rows and the same vectors."""
    generation = Generation(number=1, model=LOCAL_MODEL, dimension=LOCAL_DIMENSION)
    async with migrated(server, (LOCAL_MODEL, LOCAL_DIMENSION)) as installation, installation.store() as postgres:
        both: tuple[Store, Store] = (InMemoryStore(analyze=ANALYZE, generation=generation), postgres)
        for store in both:
            await _fill(store, corpus, embedder)
        yield both


async def _fill(store: Store, corpus: Sequence[Remembered], embedder: LocalEmbedder) -> None:
    for theme in corpus:
        await store.delivery.apply([_operation(theme.name, each) for each in theme.memories])
    while jobs := await store.queue.claim(200, lease=600.0):
        vectors = await embedder.embed_documents([job.text for job in jobs], timeout=PATIENCE)
        await store.queue.complete({job: [v] for job, v in zip(jobs, vectors, strict=True)})
    active = await store.queue.active()
    assert active is not None
    await store.queue.calibrate(active.number, unrelated=UNRELATED, related=RELATED)


def _operation(theme: str, memory: Memory) -> Operation:
    session = SessionId(memory.session) if memory.session else None
    stamp = Stamp(
        operation=OperationId(uuid5(NAMES, f"{theme} {memory.id}")),
        caller=Caller(theme=Theme(theme), session=session),
        origin=Origin.USER,
        accepted_at=memory.at,
    )
    if session is None:
        return AddEntry(stamp=stamp, target=Target.MEMORY, content=memory.text, at=memory.at)
    draft = TurnDraft(
        role=Role(memory.role), content=memory.text, at=memory.at, speaker=memory.speaker, origin=Origin.USER
    )
    return RecordTurns(stamp=stamp, turns=(draft,))


def _recall(store: Store, embedder: LocalEmbedder) -> Recall:
    analyzer, telemetry = Analyzer(stem=snowball_stem()), Telemetry()
    legs = Legs(
        store.search,
        store.queue,
        embedder=embedder,
        analyzer=analyzer,
        store_breaker=store_breaker(),
        embed_breaker=embed_breaker(),
        embed_timeout=PATIENCE,
        telemetry=telemetry,
    )
    return Recall(legs, analyzer=analyzer, ranking=RankingPolicy(), now=lambda: NOW, telemetry=telemetry)


async def _asked(store: Store, embedder: LocalEmbedder, theme: str, question: str, scope: Scope) -> Sequence[Ranked]:
    request = RecallRequest(
        caller=Caller(theme=Theme(theme)),
        query=question,
        space=SearchSpace(scope=scope),
        limit=LIMIT,
        timeout=PATIENCE,
    )
    result = await _recall(store, embedder).recall(request)
    assert result.degraded == ()
    return result.hits


def _differences(one: Sequence[Ranked], other: Sequence[Ranked]) -> list[str]:
    """Say where two answers differ by more than the tolerance."""
    scores: dict[RowId, float] = {hit.row.id: hit.score for hit in other}
    last = min((hit.score for answer in (one, other) for hit in answer), default=0.0)
    said = []
    for hit in one:
        if hit.row.id not in scores:
            if hit.score > last + TOLERANCE:
                said.append(f"missing: {hit.score:.4f} {hit.row.content[:60]}")
        elif abs(scores[hit.row.id] - hit.score) > TOLERANCE:
            said.append(f"{hit.score:.4f} is {scores[hit.row.id]:.4f}: {hit.row.content[:60]}")
    best = [scores[hit.row.id] for hit in one if hit.row.id in scores]
    said += [f"out of order: {a:.4f} before {b:.4f}" for a, b in pairwise(best) if a < b - TOLERANCE]
    return said


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("scope", [CurrentScope(), AllScope()], ids=str)
async def test_both_stores_answer_a_corpus_alike(
    stores: tuple[Store, Store], corpus: Sequence[Remembered], embedder: LocalEmbedder, scope: Scope
) -> None:
    told: list[str] = []
    asked = found = 0
    for theme in corpus:
        for question in theme.questions[:QUESTIONS]:
            inmemory, postgres = [await _asked(each, embedder, theme.name, question.text, scope) for each in stores]
            told += [f"{question.text}: {each}" for each in _differences(inmemory, postgres)]
            told += [f"{question.text}: {each}" for each in _differences(postgres, inmemory)]
            asked, found = asked + 1, found + bool(inmemory)

    assert told == []
    assert asked >= THEMES * QUESTIONS // 2
    assert found > asked // 2
