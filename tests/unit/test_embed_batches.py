"""Which rows travel together to the embedder, what becomes of their answers, and how long they are held."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import anyio
import pytest
from tests.support.faulty import FaultyEmbedder, FaultyQueue
from tests.support.inprocess import GUARD, embed_breaker, until

from hermes_memory.adapters.inmemory import InMemoryStore
from hermes_memory.application.embed import EmbedStage
from hermes_memory.application.embed_batches import CALL_TOKENS, packed, sort_out
from hermes_memory.application.embed_calls import Refused, Unanswered
from hermes_memory.application.leases import Leases
from hermes_memory.domain.chunks import ChunkPolicy
from hermes_memory.domain.errors import StoreUnavailable
from hermes_memory.domain.model import Kind, RowId
from hermes_memory.ports.embedding import EmbeddingBacklog, EmbeddingJob
from hermes_memory.testing.making import MARKETING, SALES, add

POLICY = ChunkPolicy(tokens=64, overlap=0)
LONG = "a word and another one. " * 60
VECTOR = [1.0, 0.0]
OTHER = [0.0, 1.0]


def job(text: str = "a note", *, attempts: int = 0) -> EmbeddingJob:
    """Make a job."""
    return EmbeddingJob(
        row=RowId(uuid4()),
        kind=Kind.ENTRY,
        theme=MARKETING,
        subject=None,
        text=text,
        content_hash=b"h" * 32,
        attempts=attempts,
    )


def sizes(jobs: list[EmbeddingJob], size: int) -> list[int]:
    """Tell how many rows each batch has."""
    return [len(batch.jobs) for batch in packed(jobs, POLICY, size)]


def test_batches_are_as_large_as_they_may_be_and_keep_the_order() -> None:
    jobs = [job(f"note {number}") for number in range(10)]
    batches = list(packed(jobs, POLICY, 4))

    assert [len(batch.jobs) for batch in batches] == [4, 4, 2]
    assert [text for batch in batches for text in batch.texts] == [each.text for each in jobs]


def test_the_parts_of_a_long_text_stay_together_and_count_each() -> None:
    jobs = [job(), job(LONG), job()]
    first, long, last = packed(jobs, POLICY, 4)

    assert (first.jobs, last.jobs) == ((jobs[0],), (jobs[2],))
    assert len(long.texts) > 4
    assert long.jobs == (jobs[1],)


def test_a_batch_is_bounded_by_tokens_too() -> None:
    policy = ChunkPolicy(tokens=CALL_TOKENS // 4, overlap=0)
    jobs = [job("x" * CALL_TOKENS) for _ in range(8)]

    assert [len(batch.jobs) for batch in packed(jobs, policy, 64)] == [4, 4]


def test_rows_that_failed_repeatedly_travel_alone() -> None:
    assert sizes([job(), job(attempts=1), job(attempts=2), job(attempts=5), job()], 64) == [2, 1, 1, 1]


def test_a_row_is_what_the_worst_of_its_parts_is() -> None:
    jobs = [job(LONG) for _ in range(4)]
    (batch,) = packed(jobs, POLICY, 1_000)
    parts = len(batch.parts[0])
    rest = [VECTOR] * (parts - 1)
    found = sort_out(
        batch,
        [
            *([VECTOR] * parts),
            *rest,
            Refused("400"),
            Unanswered(suspect=True, reason="500"),
            *rest,
            *rest,
            Unanswered(suspect=False, reason="429"),
        ],
    )

    assert dict(found.done) == {jobs[0]: [VECTOR] * parts}
    assert list(found.refused) == [(jobs[1], "400")]
    assert list(found.suspect) == [(jobs[2], "500")]
    assert list(found.untried) == [jobs[3]]


def test_rows_of_one_id_in_two_themes_get_each_its_own_vector() -> None:
    one = job("a note")
    jobs = [one, replace(one, theme=SALES, text="another note")]
    (batch,) = packed(jobs, POLICY, 1_000)
    found = sort_out(batch, [VECTOR, OTHER])

    assert dict(found.done) == {jobs[0]: [VECTOR], jobs[1]: [OTHER]}


class Clock:
    """The store's time."""

    def __init__(self) -> None:
        self.now = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def queue(clock: Clock) -> FaultyQueue:
    store = InMemoryStore(analyze=str.split, generation=FaultyEmbedder().generation, clock=clock)
    await store.delivery.apply([add("a note"), add("another")])
    return FaultyQueue(store.queue)


async def test_what_is_held_is_renewed_until_it_is_forgotten(queue: FaultyQueue) -> None:
    leases = Leases(queue, 0.06)
    jobs = await queue.claim(10, lease=leases.seconds)
    leases.take(jobs)
    leases.forget(jobs[1:])
    with anyio.fail_after(GUARD):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(leases.renew)
            await until(lambda: len(queue.held) >= 3)
            tasks.cancel_scope.cancel()

    assert set(queue.held) == {(jobs[0].text, 0.06)}


async def test_rows_of_one_id_in_two_themes_are_held_apart(queue: FaultyQueue) -> None:
    leases = Leases(queue, 15.0)
    one = job("over")
    leases.take([one, replace(one, theme=SALES, text="held still")])
    leases.forget([one])
    await leases.give_all_back()

    assert queue.held == [("held still", 0.0)]


async def test_a_store_that_is_away_or_a_defect_does_not_end_the_renewals(queue: FaultyQueue) -> None:
    class Stumbling(FaultyQueue):
        failures = 3

        async def hold(self, jobs: object, seconds: float) -> None:
            self.failures -= 1
            if self.failures >= 0:
                raise StoreUnavailable("away") if self.failures else ZeroDivisionError
            await super().hold(jobs, seconds)  # type: ignore[arg-type]

    stumbling = Stumbling(queue)
    leases = Leases(stumbling, 0.03)
    leases.take(await queue.claim(10, lease=leases.seconds))
    with anyio.fail_after(GUARD):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(leases.renew)
            await until(lambda: stumbling.held)
            tasks.cancel_scope.cancel()

    assert stumbling.failures < 0


async def test_the_rows_of_a_worker_that_was_killed_are_another_ones_after_the_lease(
    queue: FaultyQueue, clock: Clock
) -> None:
    await queue.claim(10, lease=15.0)  # and never heard of again
    stage = EmbedStage(queue, FaultyEmbedder(), breaker=embed_breaker())
    before: list[int] = []
    with anyio.fail_after(GUARD):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(stage.run)
            await until(lambda: len(queue.leases) >= 2)
            before.append(stage.counts.embedded)
            clock.now += timedelta(seconds=16)
            stage.doorbell.ring()
            await until(lambda: stage.counts.embedded == 2)
            tasks.cancel_scope.cancel()

    assert before == [0]
    assert await queue.backlog() == EmbeddingBacklog(waiting=0, parked=0)
