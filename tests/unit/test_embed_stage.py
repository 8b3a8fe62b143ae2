"""The embed stage: every stored row gets its vector, whatever the embedder does meanwhile."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

import anyio
import pytest
from tests.support.faulty import FaultyEmbedder, FaultyQueue
from tests.support.inprocess import GUARD, embed_breaker, until
from tests.support.tables import for_each

from hermes_memory.adapters.inmemory import InMemoryStore
from hermes_memory.application import embed
from hermes_memory.application.breaker import Breaker
from hermes_memory.application.embed import PROBE, EmbedStage
from hermes_memory.domain.errors import EmbedderUnavailable, EmbeddingRejected, StoreUnavailable
from hermes_memory.ports.embedding import EmbeddingBacklog, Generation
from hermes_memory.testing.making import CURRENT, DESK, add, by_content
from hermes_memory.testing.making import replace as replace_entry

DOWN = EmbedderUnavailable("the endpoint is down")
WHOLE = EmbeddingRejected("401: no such model")

pytestmark = pytest.mark.usefixtures("hurried")


@dataclass
class Bench:
    """A store with rows to embed, an embedder and the stage between them."""

    embedder: FaultyEmbedder = field(default_factory=FaultyEmbedder)
    generation: Generation | None = None
    batch: int = 8
    parallel: int = 2
    lease: float = 15.0
    breaker: Breaker = field(default_factory=embed_breaker)

    def __post_init__(self) -> None:
        self.store = InMemoryStore(analyze=str.split, generation=self.generation or self.embedder.generation)
        self.queue = FaultyQueue(self.store.queue)
        self.stage = EmbedStage(
            self.queue,
            self.embedder,
            breaker=self.breaker,
            batch=self.batch,
            parallel=self.parallel,
            timeout=5.0,
            lease=self.lease,
        )

    async def store_notes(self, *texts: str) -> None:
        await self.store.delivery.apply([add(text) for text in texts])

    async def backlog(self) -> EmbeddingBacklog:
        return await self.store.queue.backlog()

    async def vectors(self) -> int:
        return (await self.store.inspector.counts())["vectors"]

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        with anyio.fail_after(GUARD):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self.stage.run)
                yield
                tasks.cancel_scope.cancel()

    async def embed_all(self, *, waiting: int = 0) -> None:
        async with self.running():
            while (await self.backlog()).waiting > waiting:
                await anyio.sleep(0.002)


def notes(count: int) -> list[str]:
    return [f"note {number:03}" for number in range(count)]


@pytest.fixture
def bench() -> Bench:
    return Bench()


async def test_everything_that_waits_is_embedded_in_batches(bench: Bench) -> None:
    await bench.store_notes(*notes(20))
    await bench.embed_all()

    assert sorted(text for batch in bench.embedder.batches for text in batch) == notes(20)
    assert [len(batch) for batch in bench.embedder.batches] == [8, 8, 4]
    assert await bench.vectors() == bench.stage.counts.embedded == 20


async def test_each_row_gets_the_vector_of_its_own_text(bench: Bench) -> None:
    await bench.store_notes("the vault is number 13", "the rocket is called Ariane", "staging uses port 5433")
    await bench.embed_all()
    query = await bench.embedder.embed_query("the rocket is called Ariane", timeout=GUARD)
    hits = await bench.store.search.by_vector(DESK, CURRENT, query, limit=1, timeout=GUARD)

    assert [hit.row.content for hit in hits] == ["the rocket is called Ariane"]
    assert hits[0].cosine == pytest.approx(1.0)


async def test_calls_overlap_up_to_the_bound() -> None:
    class Held(FaultyEmbedder):
        under_way = 0
        release = anyio.Event()

        async def embed_documents(self, texts: Sequence[str], *, timeout: float) -> Sequence[Sequence[float]]:
            self.under_way += 1
            if self.storing.calls >= 6:
                await self.release.wait()
            self.under_way -= 1
            return await super().embed_documents(texts, timeout=timeout)

    embedder = Held()
    bench = Bench(embedder=embedder, batch=1, parallel=3)
    await bench.store_notes(*notes(30))
    async with bench.running():
        await until(lambda: embedder.under_way == 3)
        await anyio.sleep(0.05)
        most = embedder.under_way
        embedder.release.set()
        await until(lambda: bench.stage.counts.embedded == 30)

    assert most == 3


async def test_batches_come_singly_while_the_stage_makes_way_and_all_at_once_afterwards(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bench = Bench(batch=1, parallel=3)
    await bench.store_notes(*notes(30))
    monkeypatch.setattr("hermes_memory.application.embed.ASIDE_SECONDS", 3_600.0)
    monkeypatch.setattr("hermes_memory.application.embed.SINGLE_SECONDS", 3_600.0)
    bench.stage.make_way()
    async with bench.running():
        await until(lambda: bench.stage.counts.embedded)
        await anyio.sleep(0.05)
        meanwhile = len(bench.embedder.batches)
        monkeypatch.setattr("hermes_memory.application.embed.ASIDE_SECONDS", 0.0)
        bench.stage.make_way()
        await until(lambda: bench.stage.counts.embedded == 30)

    assert meanwhile == 1


async def test_rows_that_come_one_by_one_while_a_call_is_under_way_travel_together() -> None:
    class Held(FaultyEmbedder):
        release = anyio.Event()

        async def embed_documents(self, texts: Sequence[str], *, timeout: float) -> Sequence[Sequence[float]]:
            if texts == ["note 000"]:
                await self.release.wait()
            return await super().embed_documents(texts, timeout=timeout)

    embedder = Held()
    bench = Bench(embedder=embedder, batch=64, parallel=4)
    async with bench.running():
        for text in notes(10):
            await bench.store_notes(text)
            bench.stage.doorbell.ring()
            await anyio.sleep(0.03)
        embedder.release.set()
        await until(lambda: bench.stage.counts.embedded == 10)

    assert embedder.batches[0] == ["note 000"]
    assert len(embedder.batches) <= 4


async def test_rows_are_claimed_for_as_long_as_said() -> None:
    bench = Bench(lease=7.0)
    await bench.store_notes("the vault is number 13")
    await bench.embed_all()

    assert set(bench.queue.leases) == {7.0}


async def test_rows_that_are_stored_later_are_embedded_when_the_bell_rings(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hermes_memory.application.embed.IDLE_SECONDS", 3_600.0)
    async with bench.running():
        await until(lambda: bench.queue.leases)
        await bench.store_notes("the vault is number 13")
        await anyio.sleep(0.01)
        bench.stage.doorbell.ring()
        await until(lambda: bench.stage.counts.embedded)

    assert bench.embedder.batches == [["the vault is number 13"]]


@for_each("refused", [(0,), (99,), (57,), (3, 4, 77)])
async def test_refused_texts_among_a_hundred_are_parked_and_all_others_embedded(refused: tuple[int, ...]) -> None:
    bench = Bench(batch=100)
    await bench.store_notes(*notes(100))
    bench.embedder.refused = {f"note {number:03}" for number in refused}
    await bench.embed_all()

    assert await bench.backlog() == EmbeddingBacklog(waiting=0, parked=len(refused))
    assert await bench.vectors() == bench.stage.counts.embedded == 100 - len(refused)
    assert bench.stage.counts.parked == len(refused)
    assert sorted(text for text, _ in bench.queue.parked) == sorted(bench.embedder.refused)
    assert {reason for _, reason in bench.queue.parked} == {"the endpoint refuses this input (400)"}
    assert bench.queue.postponed == []


async def test_an_embedder_that_is_broken_as_a_whole_parks_nothing_and_all_is_embedded_once_it_works(
    bench: Bench,
) -> None:
    await bench.store_notes(*notes(10))
    bench.embedder.storing.standing = WHOLE
    async with bench.running():
        await until(lambda: bench.embedder.storing.calls >= 6)
        parked, waiting = bench.queue.parked, (await bench.backlog()).waiting
        bench.embedder.storing.standing = None
        await until(lambda: bench.stage.counts.embedded == 10)

    assert (parked, waiting) == ([], 10)
    assert bench.queue.postponed == []
    assert await bench.backlog() == EmbeddingBacklog(waiting=0, parked=0)


async def test_the_probe_is_a_harmless_text_and_no_row(bench: Bench) -> None:
    await bench.store_notes("refused")
    bench.embedder.refused = {"refused"}
    await bench.embed_all()

    assert bench.embedder.batches == [[PROBE]]
    assert await bench.vectors() == 0


async def test_an_embedder_that_is_down_costs_no_row_and_everything_is_embedded_once_it_answers(bench: Bench) -> None:
    await bench.store_notes(*notes(20))
    bench.embedder.storing.come(*[DOWN] * 6)
    await bench.embed_all()

    assert await bench.vectors() == 20
    assert await bench.backlog() == EmbeddingBacklog(waiting=0, parked=0)


async def test_an_embedder_that_answers_every_third_call_gives_every_row_its_vector_and_is_reported_now_and_then(
    caplog: pytest.LogCaptureFixture,
) -> None:
    bench = Bench(breaker=embed_breaker(failures=3), parallel=1)
    await bench.store_notes(*notes(20))
    bench.embedder.storing.come(*[DOWN, DOWN, None] * 400)
    with caplog.at_level(logging.INFO):
        await bench.embed_all()

    assert await bench.vectors() == 20
    assert await bench.backlog() == EmbeddingBacklog(waiting=0, parked=0)
    told = [record for record in caplog.records if getattr(record, "action", "") in {"embed.stopped", "embed.again"}]
    assert len(told) <= 2 + bench.embedder.storing.calls // 2


async def test_an_embedder_that_fails_on_every_text_but_the_probe_is_not_asked_without_pause(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embed, "PROBE_PAUSES", (3_600.0,))
    await bench.store_notes("the vault is number 13")
    bench.embedder.storing.come(*[DOWN, DOWN, None] * 400)
    async with bench.running():
        await until(lambda: bench.embedder.storing.calls >= 5)
        claims = bench.queue.asking.calls
        await until(lambda: bench.queue.asking.calls >= claims + 5)

    assert bench.embedder.storing.calls == 5


async def test_rows_wait_for_as_long_as_the_endpoint_asks(bench: Bench) -> None:
    await bench.store_notes("the vault is number 13")
    bench.embedder.storing.come(EmbedderUnavailable("busy", retry_after=40.0))
    async with bench.running():
        await until(lambda: bench.queue.held)
        await until(lambda: bench.queue.asking.calls >= 5)

    assert bench.queue.held == [("the vault is number 13", 0.0)]
    assert bench.embedder.storing.calls == 1


async def test_an_embedder_known_to_be_down_is_left_alone_and_no_row_is_claimed() -> None:
    bench = Bench(breaker=embed_breaker(failures=1))
    with pytest.raises(EmbedderUnavailable), bench.breaker.guard():
        raise EmbedderUnavailable("busy", retry_after=3_600.0)
    await bench.store_notes("the vault is number 13")
    async with bench.running():
        await until(lambda: bench.queue.asking.calls >= 3)

    assert bench.embedder.storing.calls == 0
    assert bench.queue.leases == []


@pytest.mark.parametrize(
    ("change", "words"),
    [({"dimension": 63}, ("64", "63")), ({"model": "another"}, ("hashing-64", "another"))],
    ids=["dimension", "model"],
)
async def test_an_embedder_that_is_not_the_stored_one_stops_embedding_and_the_stage_says_so(
    change: dict[str, object], words: tuple[str, ...], caplog: pytest.LogCaptureFixture
) -> None:
    bench = Bench(generation=replace(FaultyEmbedder().generation, **change))  # type: ignore[arg-type]
    await bench.store_notes("the vault is number 13")
    async with bench.running():
        await until(lambda: bench.queue.asking.calls >= 4)

    assert bench.embedder.storing.calls == 0
    assert (await bench.backlog()).waiting == 1
    assert bench.stage.mismatch is not None
    assert all(word in bench.stage.mismatch for word in words)
    assert [vars(entry).get("action") for entry in caplog.records] == ["embed.mismatch"]


async def test_the_mismatch_is_over_when_the_stored_generation_is_the_embedders_again(bench: Bench) -> None:
    class Switched(FaultyQueue):
        wrong: Generation | None = replace(FaultyEmbedder().generation, model="another")

        async def active(self) -> Generation | None:
            return self.wrong or await super().active()

    queue = Switched(bench.store.queue)
    stage = bench.stage = EmbedStage(queue, bench.embedder, breaker=bench.breaker)
    await bench.store_notes("the vault is number 13")
    async with bench.running():
        await until(lambda: stage.mismatch)
        queue.wrong = None
        await until(lambda: stage.counts.embedded)

    assert stage.mismatch is None


async def test_without_a_generation_nothing_is_embedded_and_nothing_fails(caplog: pytest.LogCaptureFixture) -> None:
    bench = Bench()
    bench.queue = FaultyQueue(InMemoryStore(analyze=str.split).queue)
    bench.stage = EmbedStage(bench.queue, bench.embedder, breaker=bench.breaker)
    async with bench.running():
        await until(lambda: bench.queue.asking.calls >= 3)

    assert bench.embedder.storing.calls == 0
    assert bench.stage.mismatch is None
    assert not caplog.records


async def test_a_generation_that_was_never_measured_is_measured_once(bench: Bench) -> None:
    bench = Bench(generation=replace(bench.embedder.generation, unrelated=None, related=None))
    await bench.store_notes("the vault is number 13")
    async with bench.running():
        while (measured := await bench.store.queue.active()) is None or measured.unrelated is None:
            await anyio.sleep(0.002)
    queries = bench.embedder.querying.calls
    await bench.store_notes("the rocket is called Ariane")
    await bench.embed_all()

    assert measured.related is not None
    assert -1 <= measured.unrelated < measured.related <= 1
    assert bench.embedder.querying.calls == queries


@pytest.mark.parametrize("error", [DOWN, WHOLE], ids=["down", "refused"])
async def test_rows_are_embedded_even_if_the_model_cannot_be_measured(bench: Bench, error: Exception) -> None:
    bench = Bench(generation=replace(bench.embedder.generation, unrelated=None, related=None))
    await bench.store_notes("the vault is number 13")
    bench.embedder.querying.standing = error
    await bench.embed_all()

    assert await bench.vectors() == 1


async def test_a_store_that_is_away_for_a_while_does_not_end_embedding(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    await bench.store_notes(*notes(10))
    bench.queue.asking.come(StoreUnavailable("away"), StoreUnavailable("away"))
    bench.queue.completing.come(StoreUnavailable("away"), StoreUnavailable("away"))
    await bench.embed_all()

    assert await bench.vectors() == 10
    # Vectors that are made are stored when the store is back, not made again.
    assert len(bench.embedder.batches) == 2
    assert not caplog.records


async def test_an_unexpected_error_is_logged_and_embedding_goes_on(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    await bench.store_notes("the vault is number 13")
    bench.queue.asking.come(ZeroDivisionError())
    await bench.embed_all()

    assert await bench.vectors() == 1
    assert [(vars(entry).get("action"), entry.levelno) for entry in caplog.records] == [("embed.fault", logging.ERROR)]


async def test_an_unexpected_error_in_giving_rows_back_is_told_and_the_stage_ends_as_it_was_told_to(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    await bench.store_notes("the vault is number 13")
    bench.embedder.storing.hangs = True
    bench.queue.holding.standing = ZeroDivisionError()
    async with bench.running():
        await until(lambda: bench.embedder.storing.calls)

    assert [(vars(entry).get("action"), entry.levelno) for entry in caplog.records] == [("embed.fault", logging.ERROR)]


async def test_a_content_that_changes_while_it_is_embedded_keeps_only_the_vector_of_the_new_one(bench: Bench) -> None:
    class Slow(FaultyEmbedder):
        async def embed_documents(self, texts: Sequence[str], *, timeout: float) -> Sequence[Sequence[float]]:
            if texts == ["the old fact"]:
                change = replace_entry(by_content("the old fact"), "something new entirely")
                await bench.store.delivery.apply([change])
            return await super().embed_documents(texts, timeout=timeout)

    bench = Bench(embedder=Slow())
    await bench.store_notes("the old fact")
    await bench.embed_all()
    query = await bench.embedder.embed_query("something new entirely", timeout=GUARD)
    hits = await bench.store.search.by_vector(DESK, CURRENT, query, limit=5, timeout=GUARD)

    assert [len(batch) for batch in bench.embedder.batches] == [1, 1]
    assert [hit.cosine for hit in hits] == [pytest.approx(1.0)]
