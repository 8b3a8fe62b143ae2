"""Contract of `EmbeddingQueue`: what becomes of jobs and vectors when their rows change or go."""

from __future__ import annotations

import pytest

from hermes_memory.domain.operations import ById
from hermes_memory.ports.embedding import EmbeddingBacklog, EmbeddingJob
from hermes_memory.testing.embedding import EAST, LONG, NORTH, cosine_found, embed_waiting
from hermes_memory.testing.making import (
    PLENTY,
    add,
    deliver,
    remove,
    replace,
    stored,
)
from hermes_memory.testing.store_under_test import StoreUnderTest


@pytest.mark.asyncio
class EmbeddingChangeContract:
    """How every `EmbeddingQueue` follows the rows. A subclass supplies the fixture `store`."""

    async def test_a_row_changed_meanwhile_keeps_its_new_job_and_not_the_old_vector(
        self, store: StoreUnderTest
    ) -> None:
        row = await stored(store, add("old words"))
        stale = await store.queue.claim(PLENTY, lease=LONG)
        await deliver(store, replace(ById(id=row), "new words"))

        await store.queue.complete({job: [EAST] for job in stale})

        assert await cosine_found(store, row, EAST) is None
        (fresh,) = await store.queue.claim(PLENTY, lease=LONG)
        assert (fresh.row, fresh.attempts) == (row, 0)
        assert "new words" in fresh.text
        assert fresh.content_hash != stale[0].content_hash

    async def test_a_stale_vector_does_not_take_the_place_of_a_newer_one(self, store: StoreUnderTest) -> None:
        row = await stored(store, add("old words"))
        stale = await store.queue.claim(PLENTY, lease=LONG)
        await deliver(store, replace(ById(id=row), "new words"))
        await embed_waiting(store, NORTH)

        await store.queue.complete({job: [EAST] for job in stale})

        assert await cosine_found(store, row, NORTH) == pytest.approx(1.0, abs=2e-3)

    async def test_a_replaced_content_needs_a_new_vector(self, store: StoreUnderTest) -> None:
        row = await stored(store, add("old words"))
        await embed_waiting(store, EAST)

        await deliver(store, replace(ById(id=row), "new words"))

        assert await cosine_found(store, row, EAST) is None
        assert [job.row for job in await store.queue.claim(PLENTY, lease=LONG)] == [row]

    async def test_forgetting_removes_the_job(self, store: StoreUnderTest) -> None:
        row = await stored(store, add("a note"))
        claimed = await store.queue.claim(PLENTY, lease=LONG)

        await deliver(store, remove(ById(id=row)))
        await store.queue.complete({job: [EAST] for job in claimed})

        counts = await store.inspector.counts()
        assert (counts["vectors"], counts["waiting"]) == (0, 0)
        assert await store.queue.backlog() == EmbeddingBacklog(waiting=0, parked=0)

    async def test_forgetting_removes_the_vector(self, store: StoreUnderTest) -> None:
        row = await stored(store, add("a note"))
        await embed_waiting(store, EAST)

        await deliver(store, remove(ById(id=row)))

        assert (await store.inspector.counts())["vectors"] == 0

    async def test_all_parts_go_with_a_row_that_is_replaced_or_removed(self, store: StoreUnderTest) -> None:
        replaced, removed = await deliver(store, add("a long note"), add("another long note"))
        assert replaced.row is not None
        assert removed.row is not None
        jobs = await store.queue.claim(PLENTY, lease=LONG)
        await store.queue.complete({job: [NORTH, EAST, NORTH] for job in jobs})

        await deliver(store, replace(ById(id=replaced.row), "new words"), remove(ById(id=removed.row)))

        for row in (replaced.row, removed.row):
            assert await cosine_found(store, row, EAST) is None
        assert (await store.inspector.counts())["vectors"] == 0

    async def test_a_text_embedded_again_in_fewer_parts_keeps_none_of_the_old_ones(self, store: StoreUnderTest) -> None:
        row = await stored(store, add("a long note"))
        jobs = await store.queue.claim(PLENTY, lease=LONG)
        await store.queue.complete({job: [NORTH, NORTH, EAST] for job in jobs})

        await store.queue.complete({job: [NORTH] for job in jobs})

        assert await cosine_found(store, row, EAST) == pytest.approx(0.0, abs=2e-3)

    async def test_an_entry_merged_into_another_leaves_neither_job_nor_vector(self, store: StoreUnderTest) -> None:
        first, second = await deliver(store, add("old words"), add("new words"))
        await embed_waiting(store, EAST)
        assert first.row is not None

        await deliver(store, replace(ById(id=first.row), "new words"))

        counts = await store.inspector.counts()
        assert (counts["entries"], counts["vectors"], counts["waiting"]) == (1, 1, 0)
        assert second.row is not None
        assert await cosine_found(store, second.row, EAST) == pytest.approx(1.0, abs=2e-3)

    async def test_a_changed_row_starts_anew_after_failures(self, store: StoreUnderTest) -> None:
        row = await stored(store, add("old words"))
        stale = await store.queue.claim(PLENTY, lease=LONG)
        await store.queue.postpone(stale, LONG)
        await deliver(store, replace(ById(id=row), "new words"))

        await store.queue.postpone(stale, LONG)
        (job,) = await store.queue.claim(PLENTY, lease=LONG)

        assert (job.row, job.attempts) == (row, 0)

    async def test_a_parked_row_gets_another_chance_when_it_changes(self, store: StoreUnderTest) -> None:
        parked = await _claim_one(store, "poison")
        await store.queue.park(parked, "the embedder refuses it")

        await deliver(store, replace(ById(id=parked.row), "wholesome"))

        (job,) = await store.queue.claim(PLENTY, lease=LONG)
        assert (job.row, job.attempts) == (parked.row, 0)
        assert await store.queue.backlog() == EmbeddingBacklog(waiting=1, parked=0)

    async def test_parking_a_job_whose_row_changed_does_not_park_the_new_one(self, store: StoreUnderTest) -> None:
        stale = await _claim_one(store, "poison")
        await deliver(store, replace(ById(id=stale.row), "wholesome"))

        await store.queue.park(stale, "the embedder refuses it")

        assert await store.queue.backlog() == EmbeddingBacklog(waiting=1, parked=0)

    async def test_forgetting_a_parked_row_removes_its_job(self, store: StoreUnderTest) -> None:
        parked = await _claim_one(store, "poison")
        await store.queue.park(parked, "the embedder refuses it")

        await deliver(store, remove(ById(id=parked.row)))

        assert await store.queue.backlog() == EmbeddingBacklog(waiting=0, parked=0)


async def _claim_one(store: StoreUnderTest, content: str) -> EmbeddingJob:
    await deliver(store, add(content))
    (job,) = await store.queue.claim(PLENTY, lease=LONG)
    return job
