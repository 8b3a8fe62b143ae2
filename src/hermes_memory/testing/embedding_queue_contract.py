"""Contract of `EmbeddingQueue`: which rows wait for a vector, who works on them, and how it ends."""

from __future__ import annotations

import pytest

from hermes_memory.domain.model import Kind
from hermes_memory.domain.operations import ById, row_id
from hermes_memory.ports.embedding import EmbeddingBacklog
from hermes_memory.testing.embedding import EAST, LONG, NORTH, SHORT, SOUTH, WEST, cosine_found, embed_waiting
from hermes_memory.testing.making import (
    ANA_DIRECTLY,
    CURRENT,
    DESK,
    DESK_WITH_ANA,
    MARKETING,
    PATIENCE,
    PLENTY,
    SALES_DESK,
    add,
    deliver,
    record,
    replace,
    said,
    stored,
)
from hermes_memory.testing.store_under_test import CONTRACT_GENERATION, StoreUnderTest


@pytest.mark.asyncio
class EmbeddingQueueContract:
    """What every `EmbeddingQueue` keeps. A subclass supplies the fixture `store`."""

    async def test_the_active_generation_is_known(self, store: StoreUnderTest) -> None:
        assert await store.queue.active() == CONTRACT_GENERATION

    async def test_a_calibration_is_kept(self, store: StoreUnderTest) -> None:
        await store.queue.calibrate(CONTRACT_GENERATION.number, unrelated=-0.25, related=0.75)

        active = await store.queue.active()
        assert active is not None
        assert (active.unrelated, active.related) == (-0.25, 0.75)
        assert (active.model, active.dimension) == (CONTRACT_GENERATION.model, CONTRACT_GENERATION.dimension)

    async def test_every_stored_row_gets_a_job(self, store: StoreUnderTest) -> None:
        entry, turns = add("a note", DESK_WITH_ANA), record(said("a question"), said("an answer"))
        await deliver(store, entry, turns)

        jobs = {job.row: job for job in await store.queue.claim(PLENTY, lease=LONG)}

        first = jobs.pop(row_id(entry.stamp.operation))
        assert (first.kind, first.theme, first.subject) == (Kind.ENTRY, MARKETING, DESK_WITH_ANA.subject)
        assert (first.attempts, len(first.content_hash)) == (0, 32)
        assert "a note" in first.text
        assert {(job.row, job.kind) for job in jobs.values()} == {
            (row_id(turns.stamp.operation, index), Kind.TURN) for index in (0, 1)
        }

    async def test_jobs_of_all_themes_and_subjects_are_claimed(self, store: StoreUnderTest) -> None:
        callers = (DESK, SALES_DESK, DESK_WITH_ANA, ANA_DIRECTLY)
        await deliver(store, *(add("a note", caller) for caller in callers))

        jobs = await store.queue.claim(PLENTY, lease=LONG)

        assert {(job.theme, job.subject) for job in jobs} == {(caller.theme, caller.subject) for caller in callers}

    async def test_a_turn_that_is_not_to_be_embedded_gets_no_job(self, store: StoreUnderTest) -> None:
        turns = record(said("yes", embed=False), said("the launch is on Friday"))
        await deliver(store, turns)

        jobs = await store.queue.claim(PLENTY, lease=LONG)

        assert [job.row for job in jobs] == [row_id(turns.stamp.operation, 1)]

    async def test_what_changes_nothing_makes_no_job(self, store: StoreUnderTest) -> None:
        await deliver(store, add("a note"), record(said("a turn")))
        await embed_waiting(store, EAST)

        await deliver(store, add("a note"), record(said("a turn")))

        assert list(await store.queue.claim(PLENTY, lease=LONG)) == []

    async def test_a_claim_is_no_larger_than_its_limit(self, store: StoreUnderTest) -> None:
        await deliver(store, *(add(f"note {number}") for number in range(5)))

        first, rest = await store.queue.claim(3, lease=LONG), await store.queue.claim(PLENTY, lease=LONG)

        assert (len(first), len(rest)) == (3, 2)
        assert {job.row for job in first}.isdisjoint({job.row for job in rest})

    async def test_a_claimed_job_is_nobody_elses_until_its_lease_ends(self, store: StoreUnderTest) -> None:
        await deliver(store, add("a note"))
        (job,) = await store.queue.claim(PLENTY, lease=SHORT)

        meanwhile = await store.queue.claim(PLENTY, lease=SHORT)
        await store.pass_time(SHORT * 1.5)
        afterwards = await store.queue.claim(PLENTY, lease=SHORT)

        assert list(meanwhile) == []
        assert [again.row for again in afterwards] == [job.row]

    async def test_a_completed_job_leaves_a_vector_and_is_over(self, store: StoreUnderTest) -> None:
        row = await stored(store, add("a note"))

        await embed_waiting(store, EAST)

        assert await cosine_found(store, row, EAST) == pytest.approx(1.0, abs=2e-3)
        assert await store.queue.backlog() == EmbeddingBacklog(waiting=0, parked=0)
        assert (await store.inspector.counts())["vectors"] == 1

    async def test_completing_twice_is_completing_once(self, store: StoreUnderTest) -> None:
        await stored(store, add("a note"))
        jobs = await store.queue.claim(PLENTY, lease=LONG)

        await store.queue.complete({job: [EAST] for job in jobs})
        await store.queue.complete({job: [EAST] for job in jobs})

        assert (await store.inspector.counts())["vectors"] == 1

    async def test_completing_no_job_does_nothing(self, store: StoreUnderTest) -> None:
        await deliver(store, add("a note"))

        await store.queue.complete({})

        assert await store.queue.backlog() == EmbeddingBacklog(waiting=1, parked=0)

    async def test_a_postponed_job_comes_back_after_its_time_and_counts_the_attempt(
        self, store: StoreUnderTest
    ) -> None:
        await deliver(store, add("a note"))
        jobs = await store.queue.claim(PLENTY, lease=LONG)

        await store.queue.postpone(jobs, SHORT)
        meanwhile = await store.queue.claim(PLENTY, lease=LONG)
        await store.pass_time(SHORT * 1.5)
        (again,) = await store.queue.claim(PLENTY, lease=LONG)

        assert list(meanwhile) == []
        assert (again.row, again.attempts) == (jobs[0].row, 1)

    async def test_a_claim_can_be_kept_longer_and_counts_no_attempt(self, store: StoreUnderTest) -> None:
        await deliver(store, add("a note"))
        jobs = await store.queue.claim(PLENTY, lease=SHORT)

        await store.queue.hold(jobs, LONG)
        await store.pass_time(SHORT * 1.5)
        meanwhile = await store.queue.claim(PLENTY, lease=LONG)
        await store.queue.hold(jobs, 0.0)
        (again,) = await store.queue.claim(PLENTY, lease=LONG)

        assert list(meanwhile) == []
        assert (again.row, again.attempts) == (jobs[0].row, 0)

    async def test_holding_a_job_that_is_parked_or_over_or_of_an_old_content_changes_nothing(
        self, store: StoreUnderTest
    ) -> None:
        parked, done, changed = await deliver(store, add("poison"), add("a note"), add("old words"))
        assert done.row is not None
        assert changed.row is not None
        jobs = await store.queue.claim(PLENTY, lease=SHORT)
        await store.queue.park(next(job for job in jobs if job.row == parked.row), "the embedder refuses it")
        await store.queue.complete({job: [EAST] for job in jobs if job.row == done.row})
        await deliver(store, replace(ById(id=changed.row), "new words"))

        await store.queue.hold(jobs, LONG)

        assert [job.row for job in await store.queue.claim(PLENTY, lease=LONG)] == [changed.row]
        assert await store.queue.backlog() == EmbeddingBacklog(waiting=1, parked=1)

    async def test_a_row_is_as_near_as_its_best_part_and_counts_once(self, store: StoreUnderTest) -> None:
        rows = await deliver(store, add("a long note"), record(said("a long turn")))
        jobs = await store.queue.claim(PLENTY, lease=LONG)

        await store.queue.complete({job: [WEST, NORTH, EAST] for job in jobs})

        for row in (rows[0].row, *(job.row for job in jobs)):
            assert row is not None
            assert await cosine_found(store, row, EAST) == pytest.approx(1.0, abs=2e-3)
            assert await cosine_found(store, row, NORTH) == pytest.approx(1.0, abs=2e-3)
        hits = await store.search.by_vector(DESK, CURRENT, EAST, limit=PLENTY, timeout=PATIENCE)
        assert sorted(hit.row.id for hit in hits) == sorted(job.row for job in jobs)
        assert (await store.inspector.counts())["vectors"] == 2

    async def test_the_parts_of_several_rows_go_each_to_its_own(self, store: StoreUnderTest) -> None:
        one, two, three = await deliver(store, add("one"), add("two"), add("three"))
        jobs = await store.queue.claim(PLENTY, lease=LONG)
        assert one.row is not None
        assert two.row is not None
        assert three.row is not None

        parts = {one.row: [NORTH, WEST], two.row: [EAST], three.row: [SOUTH] * 5}
        await store.queue.complete({job: parts[job.row] for job in jobs})

        for row, vector in ((one.row, NORTH), (one.row, WEST), (two.row, EAST), (three.row, SOUTH)):
            assert await cosine_found(store, row, vector) == pytest.approx(1.0, abs=2e-3)
        assert await cosine_found(store, two.row, NORTH) == pytest.approx(0.0, abs=2e-3)

    async def test_jobs_that_failed_come_after_those_that_did_not(self, store: StoreUnderTest) -> None:
        failed = await stored(store, add("first"))
        await store.queue.postpone(await store.queue.claim(PLENTY, lease=LONG), 0.0)
        fresh = await stored(store, add("second"))

        order = [(await store.queue.claim(1, lease=LONG))[0].row for _ in range(2)]

        assert order == [fresh, failed]

    async def test_a_parked_job_is_counted_and_not_claimed(self, store: StoreUnderTest) -> None:
        await deliver(store, add("poison"))
        (poison,) = await store.queue.claim(PLENTY, lease=SHORT)

        await store.queue.park(poison, "the embedder refuses it")
        await store.pass_time(SHORT * 1.5)

        assert list(await store.queue.claim(PLENTY, lease=LONG)) == []
        assert await store.queue.backlog() == EmbeddingBacklog(waiting=0, parked=1)

    async def test_claimed_and_postponed_jobs_still_wait(self, store: StoreUnderTest) -> None:
        await deliver(store, *(add(f"note {number}") for number in range(3)))
        jobs = await store.queue.claim(2, lease=LONG)
        await store.queue.postpone(jobs[:1], LONG)

        assert await store.queue.backlog() == EmbeddingBacklog(waiting=3, parked=0)
