"""The embed stage beside a store that stumbles: what fails is tried again, and what works goes on."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

import anyio
import pytest

from hermes_memory.adapters.inmemory.embedder import HashingEmbedder
from hermes_memory.adapters.inmemory.store import InMemoryStore
from hermes_memory.application.breaker import EMBEDDER, Breaker
from hermes_memory.application.embed import EmbedStage
from hermes_memory.domain.errors import ConfigurationError, HermesMemoryError, StoreUnavailable
from hermes_memory.domain.model import RowId
from hermes_memory.ports.embedding import EmbeddingBacklog, EmbeddingJob, Generation, PartVectors
from hermes_memory.testing.making import add

GUARD = 60.0


class StumblingQueue:
    """The queue of a store that refuses to store one row's vector a number of times."""

    def __init__(self, store: InMemoryStore, refused: RowId, times: int, trouble: HermesMemoryError) -> None:
        self._queue = store.queue
        self._trouble = trouble
        self._refused = refused
        self._times = times
        self.tried = 0

    async def active(self) -> Generation | None:
        return await self._queue.active()

    async def calibrate(self, generation: int, *, unrelated: float, related: float) -> None:
        await self._queue.calibrate(generation, unrelated=unrelated, related=related)

    async def claim(self, limit: int, *, lease: float) -> Sequence[EmbeddingJob]:
        return await self._queue.claim(limit, lease=lease)

    async def complete(self, vectors: Mapping[EmbeddingJob, PartVectors]) -> None:
        if self._refused in {job.row for job in vectors}:
            self.tried += 1
            if self.tried <= self._times:
                raise self._trouble
        else:
            await anyio.sleep(0.05)  # still under way when the other one fails
        await self._queue.complete(vectors)

    async def hold(self, jobs: Sequence[EmbeddingJob], seconds: float) -> None:
        await self._queue.hold(jobs, seconds)

    async def postpone(self, jobs: Sequence[EmbeddingJob], seconds: float) -> None:
        await self._queue.postpone(jobs, seconds)

    async def park(self, job: EmbeddingJob, reason: str) -> None:
        await self._queue.park(job, reason)

    async def backlog(self) -> EmbeddingBacklog:
        return await self._queue.backlog()


async def run_until(queue: StumblingQueue, embedder: HashingEmbedder, *, waiting: int) -> None:
    stage = EmbedStage(queue, embedder, breaker=Breaker(EMBEDDER), batch=1, parallel=2)
    with anyio.fail_after(GUARD):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(stage.run)
            while (await queue.backlog()).waiting > waiting:
                await anyio.sleep(0.02)
            tasks.cancel_scope.cancel()


@pytest.mark.parametrize(
    ("trouble", "times", "waiting"),
    [
        (StoreUnavailable("the database refuses work for now"), 1, 0),
        (StoreUnavailable("the database refuses work for now"), 1_000, 1),
        (ConfigurationError("the database address is not usable"), 1, 0),
    ],
)
async def test_a_batch_that_cannot_be_stored_takes_no_other_with_it_and_is_tried_again(
    caplog: pytest.LogCaptureFixture, trouble: HermesMemoryError, times: int, waiting: int
) -> None:
    embedder = HashingEmbedder()
    generation = Generation(number=1, model=embedder.model, dimension=embedder.dimension)
    store = InMemoryStore(analyze=str.split, generation=generation)
    bad, good = add("a note that is hard to store"), add("a note that is easy to store")
    await store.delivery.apply([bad, good])
    (bad_row,) = [job.row for job in await store.queue.claim(9, lease=0.0) if job.text == bad.content]
    queue = StumblingQueue(store, bad_row, times, trouble)
    with caplog.at_level(logging.WARNING):
        await run_until(queue, embedder, waiting=waiting)

    assert queue.tried >= 1
    assert not caplog.records
