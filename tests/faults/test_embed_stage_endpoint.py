"""The embed stage before a real endpoint that misbehaves: every row it can embed is embedded, and by itself."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

import anyio
import pytest

from hermes_memory.adapters.embedding.openai import OpenAIEmbedder
from hermes_memory.adapters.inmemory import InMemoryStore
from hermes_memory.application import embed, embed_storing
from hermes_memory.application.breaker import EMBEDDER, Breaker, BreakerState
from hermes_memory.application.embed import EmbedStage
from hermes_memory.application.embed_calls import PROBE
from hermes_memory.domain.chunks import ChunkPolicy
from hermes_memory.ports.embedding import EmbeddingBacklog, Generation
from hermes_memory.testing.making import CURRENT, DESK, add, record, said
from tests.support import embedding_server as faults
from tests.support.embedders import KEY, http_embedder
from tests.support.embedding_server import EmbeddingServer, Fault
from tests.support.faulty import FaultyQueue

GUARD = 60.0
POISON = "poison"


@dataclass
class Bench:
    """A server, a store and the stage between them."""

    server: EmbeddingServer
    embedder: OpenAIEmbedder
    breaker: Breaker
    store: InMemoryStore
    queue: FaultyQueue
    stage: EmbedStage

    async def store_notes(self, count: int, *others: str) -> None:
        notes = [f"note {number:03}" for number in range(count)]
        await self.store.delivery.apply([add(text) for text in [*notes, *others]])

    async def backlog(self) -> EmbeddingBacklog:
        return await self.store.queue.backlog()

    async def until_embedded(self, rows: int) -> None:
        await until(lambda: self.stage.counts.embedded >= rows)

    async def until_waiting_is(self, rows: int) -> None:
        with anyio.fail_after(GUARD):
            while (await self.backlog()).waiting != rows:
                await anyio.sleep(0.01)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self.stage.run)
            yield
            tasks.cancel_scope.cancel()


async def until(check: Callable[[], object]) -> None:
    with anyio.fail_after(GUARD):
        while not check():
            await anyio.sleep(0.01)


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embed, "IDLE_SECONDS", 0.05)
    monkeypatch.setattr(embed, "TROUBLE_SECONDS", 0.05)
    monkeypatch.setattr(embed, "PROBE_PAUSES", (0.05,))
    monkeypatch.setattr(embed_storing, "BACKOFF", (0.05,) * 4)


@pytest.fixture
async def bench(hurried: None) -> AsyncIterator[Bench]:
    async with EmbeddingServer(dimension=16) as server, http_embedder(OpenAIEmbedder, server) as embedder:
        generation = Generation(
            number=1, model=embedder.model, dimension=embedder.dimension, unrelated=0.1, related=0.9
        )
        store = InMemoryStore(analyze=str.split, generation=generation)
        breaker = Breaker(EMBEDDER, failures=3, delay=0.05, longest_delay=0.1)
        queue = FaultyQueue(store.queue)
        stage = EmbedStage(
            queue, embedder, breaker=breaker, batch=32, timeout=2.0, chunk=ChunkPolicy(tokens=64, overlap=8)
        )
        yield Bench(server, embedder, breaker, store, queue, stage)


@pytest.mark.parametrize("code", [400, 413, 422])
async def test_of_a_hundred_texts_the_one_refused_is_parked_and_the_others_embedded(bench: Bench, code: int) -> None:
    bench.server.fault = faults.refusing(POISON, code)
    await bench.store_notes(99, f"a text with {POISON} in it")
    async with bench.running():
        await bench.until_waiting_is(0)

    assert await bench.backlog() == EmbeddingBacklog(waiting=0, parked=1)
    assert bench.stage.counts.embedded == 99
    assert [text for text, _ in bench.queue.parked] == [f"a text with {POISON} in it"]
    assert f"HTTP {code}" in bench.queue.parked[0][1]
    assert bench.stage.problem is None


async def test_what_is_parked_is_not_sent_again(bench: Bench) -> None:
    bench.server.fault = faults.refusing(POISON)
    await bench.store_notes(5, POISON)
    async with bench.running():
        await bench.until_waiting_is(0)
        bench.server.requests.clear()
        await bench.store.delivery.apply([record(said("a later turn"), caller=DESK)])
        bench.stage.doorbell.ring()
        await bench.until_waiting_is(0)

    assert bench.server.texts == ["a later turn"]


WRONG: dict[str, Fault] = {
    "a refused key": faults.status(401),
    "a forbidden model": faults.status(403),
    "a missing model": faults.status(404, body={"error": "model not found"}),
    "a missing path": faults.status(404),
    "a redirect": faults.redirect("http://127.0.0.1:9/v1/embeddings"),
    "a redirect to itself": faults.redirect("/v1/embeddings", 308),
    "a web page": faults.html(),
    "no JSON": faults.with_body("{"),
    "too few vectors": faults.wrong_count(),
    "another dimension": faults.wrong_dimension(8),
    "NaN": faults.not_finite(),
    "zeros": faults.all_zero(),
    "a gzip bomb": faults.gzip_bomb(32),
    "an endless body": faults.oversized(32),
}


@pytest.mark.parametrize("case", list(WRONG))
async def test_an_endpoint_that_is_wrong_for_every_text_stops_the_stage_which_resumes_by_itself(
    bench: Bench, caplog: pytest.LogCaptureFixture, case: str
) -> None:
    bench.server.fault = WRONG[case]
    await bench.store_notes(40)
    with caplog.at_level(logging.INFO, logger="hermes_memory.application"):
        async with bench.running():
            await until(lambda: bench.server.texts.count(PROBE) >= 4)
            problem, backlog = bench.stage.problem, await bench.backlog()
            bench.server.fault = None
            await bench.until_embedded(40)

    said_of_it = [(vars(each)["action"], each.levelno) for each in caplog.records if hasattr(each, "action")]
    assert problem
    assert KEY not in problem
    assert backlog == EmbeddingBacklog(waiting=40, parked=0)
    assert (bench.queue.parked, bench.queue.postponed) == ([], [])
    assert said_of_it == [("embed.stopped", logging.ERROR), ("embed.again", logging.INFO)]
    assert bench.stage.problem is None


async def test_while_the_endpoint_is_wrong_only_the_harmless_text_is_sent(bench: Bench) -> None:
    bench.server.fault = faults.status(401)
    await bench.store_notes(10)
    async with bench.running():
        await until(lambda: bench.stage.problem)
        bench.server.requests.clear()
        await until(lambda: len(bench.server.requests) >= 4)

    assert set(bench.server.texts) == {PROBE}


AWAY: dict[str, Fault] = {
    "500": faults.status(500),
    "502": faults.status(502),
    "503": faults.status(503),
    "reset": faults.reset(),
    "reset amid": faults.reset_amid(),
    "hang": faults.hang(),
    "drip": faults.drip(0.5),
}


@pytest.mark.parametrize("case", list(AWAY))
async def test_an_endpoint_that_is_away_costs_no_row_and_is_found_again_by_itself(bench: Bench, case: str) -> None:
    bench.server.fault = AWAY[case]
    bench.stage = EmbedStage(bench.queue, bench.embedder, breaker=bench.breaker, batch=16, timeout=0.3)
    await bench.store_notes(40)
    async with bench.running():
        await until(lambda: bench.breaker.state is not BreakerState.CLOSED)
        bench.server.fault = None
        await bench.until_embedded(40)

    assert bench.breaker.state is BreakerState.CLOSED
    assert await bench.backlog() == EmbeddingBacklog(waiting=0, parked=0)
    assert bench.queue.parked == []


async def test_an_endpoint_that_is_back_is_noticed_while_no_row_waits(bench: Bench) -> None:
    bench.server.fault = faults.status(500)
    for _ in range(3):
        with pytest.raises(Exception, match="HTTP 500"), bench.breaker.guard():
            await bench.embedder.embed_query("a question", timeout=GUARD)
    async with bench.running():
        await until(lambda: bench.stage.problem)
        bench.server.fault = None
        await until(lambda: bench.breaker.state is BreakerState.CLOSED)

    assert bench.stage.problem is None


@pytest.mark.parametrize("code", [429, 503])
async def test_a_busy_endpoint_is_asked_again_when_it_said_and_questions_go_on(bench: Bench, code: int) -> None:
    bench.server.faults += [faults.status(code, retry_after="1")] * 2
    await bench.store_notes(64)
    async with bench.running():
        await until(lambda: len(bench.server.requests) >= 2)
        answer = await bench.embedder.embed_query("a question", timeout=GUARD)
        state = bench.breaker.state
        await bench.until_embedded(64)

    assert answer
    assert state is BreakerState.CLOSED
    assert (bench.queue.parked, bench.queue.postponed) == ([], [])


async def test_a_limit_on_the_texts_of_a_request_is_learnt(bench: Bench) -> None:
    bench.server.fault = faults.no_more_than(8)
    await bench.store_notes(300)
    async with bench.running():
        await bench.until_embedded(300)

    refused = [len(asked.texts) for asked in bench.server.requests if len(asked.texts) > 8]
    assert await bench.backlog() == EmbeddingBacklog(waiting=0, parked=0)
    assert max(len(asked.texts) for asked in bench.server.requests[-4:]) <= 8
    assert len(refused) < 40


async def test_a_text_that_breaks_the_endpoint_down_takes_no_other_with_it_and_is_parked_in_the_end(
    bench: Bench,
) -> None:
    bench.server.fault = faults.failing_on(POISON)
    await bench.store_notes(60, POISON)
    async with bench.running():
        await bench.until_waiting_is(0)

    assert bench.stage.counts.embedded == 60
    assert [text for text, _ in bench.queue.parked] == [POISON]
    assert "fails on this text again and again" in bench.queue.parked[0][1]
    assert bench.stage.problem is None


async def test_vectors_that_come_in_another_order_go_to_their_rows(bench: Bench) -> None:
    bench.server.fault = faults.wrong_order()
    await bench.store_notes(30)
    async with bench.running():
        await bench.until_embedded(30)
    vector = await bench.embedder.embed_query("note 007", timeout=GUARD)
    hits = await bench.store.search.by_vector(DESK, CURRENT, vector, limit=1, timeout=GUARD)

    assert [hit.row.content for hit in hits] == ["note 007"]
    assert hits[0].cosine == pytest.approx(1.0)


async def test_a_crash_between_the_parts_of_a_text_leaves_none_and_the_next_process_makes_them_all(
    bench: Bench,
) -> None:
    text = " ".join(f"Sentence {number} of a long text." for number in range(200))
    bench.server.faults.append(faults.hang())
    await bench.store_notes(0, text)
    async with bench.running():
        await until(lambda: bench.server.requests)
    counts = await bench.store.inspector.counts()
    again = EmbedStage(FaultyQueue(bench.store.queue), bench.embedder, breaker=bench.breaker)
    bench.stage = again
    async with bench.running():
        await bench.until_embedded(1)

    assert (counts["vectors"], counts["waiting"]) == (0, 1)
    assert (await bench.store.inspector.counts())["vectors"] == 1
    assert await bench.backlog() == EmbeddingBacklog(waiting=0, parked=0)


async def test_what_a_stopped_worker_held_is_another_ones_at_once(bench: Bench) -> None:
    bench.server.fault = faults.hang()
    await bench.store_notes(40)
    async with bench.running():
        await until(lambda: bench.server.requests)

    assert len(await bench.store.queue.claim(100, lease=1.0)) == 40
