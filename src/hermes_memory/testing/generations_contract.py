"""What `Generations` promises, to be run against every adapter: how one model takes the place of another."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final

import anyio
import pytest

from hermes_memory.domain.errors import InvalidInput
from hermes_memory.domain.model import Kind, RowId
from hermes_memory.ports.embedding import EmbeddingJob, EmbeddingQueue
from hermes_memory.ports.generations import Generations, GenerationStanding, WaitingRow
from hermes_memory.testing.embedding import EAST, LONG, NORTH, embed_waiting
from hermes_memory.testing.making import (
    CURRENT,
    DESK,
    PATIENCE,
    PLENTY,
    SALES_DESK,
    add,
    by_content,
    deliver,
    record,
    remove,
    replace,
    said,
    stored,
)
from hermes_memory.testing.store_under_test import CONTRACT_GENERATION, StoreUnderTest

WIDE: Final[Sequence[float]] = (0.0, 0.0, 0.0, 0.0, 0.0, 1.0)
MODEL: Final = "another"
PART_TOKENS: Final = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationsUnderTest:
    """A fresh, empty store, and the acts on its generations.

    Attributes:
        generations: The acts of one operator.
        other: Those of another one, at the same time.
        queue_of: Gives the queue of a generation, whichever is in use.
    """

    store: StoreUnderTest
    generations: Generations
    other: Generations
    queue_of: Callable[[int], EmbeddingQueue]

    async def registered(self) -> int:
        """Return the number of another generation, of another dimension."""
        return await self.generations.register(MODEL, len(WIDE), PART_TOKENS)

    async def queued(self, generation: int) -> int:
        """Let all rows wait for a generation; return how many did not before."""
        return sum([await self.generations.queue_rows(generation, kind, _unseen) for kind in Kind])

    async def filled(self, generation: int) -> Sequence[EmbeddingJob]:
        """Give all that wait for a generation the same vector; return what waited."""
        jobs = await self.queue_of(generation).claim(PLENTY, lease=LONG)
        await self.queue_of(generation).complete({job: [WIDE] for job in jobs})
        return jobs

    async def switched(self, generation: int) -> int | None:
        """Measure and index a generation and use it; return the one before."""
        await self.queue_of(generation).calibrate(generation, unrelated=0.1, related=0.9)
        await self.generations.index(generation, _unseen)
        return await self.generations.switch(generation)

    async def standing(self, generation: int) -> GenerationStanding:
        """Return how things stand with one."""
        (one,) = [each for each in await self.generations.standing() if each.generation == generation]
        return one

    async def near(self, vector: Sequence[float]) -> set[RowId]:
        """Return which rows recall finds by a vector."""
        hits = await self.store.search.by_vector(DESK, CURRENT, vector, limit=PLENTY, timeout=PATIENCE)
        return {hit.row.id for hit in hits}


def _unseen(*_: int) -> None:
    return None


async def _refusal(act: Awaitable[object]) -> str:
    """Return why an act is refused."""
    with pytest.raises(InvalidInput) as refused:
        await act
    return str(refused.value)


@pytest.mark.asyncio
class GenerationsContract:
    """The promises. A subclass supplies the async fixture `changing`: fresh and empty each time."""

    async def test_a_generation_is_made_once_and_its_number_given_once(self, changing: GenerationsUnderTest) -> None:
        generations = changing.generations
        made, again = await changing.registered(), await changing.registered()
        other = await generations.register(MODEL, len(WIDE), PART_TOKENS + 1)
        await generations.drop(other)
        anew = await generations.register(MODEL, len(WIDE), PART_TOKENS + 1)

        assert made == again
        assert await generations.made() == max(made, other, anew)
        assert len({CONTRACT_GENERATION.number, made, other, anew}) == 4
        assert [await generations.kept(number) for number in (made, other, anew)] == [True, False, True]
        assert [each.generation for each in await generations.standing()] == [CONTRACT_GENERATION.number, made, anew]
        generation = await changing.queue_of(made).active()
        assert generation is not None
        assert (generation.number, generation.model, generation.dimension) == (made, MODEL, len(WIDE))
        assert (generation.part_tokens, generation.unrelated) == (PART_TOKENS, None)

    async def test_what_is_stored_from_then_on_waits_for_both_and_what_was_there_once_it_is_queued(
        self, changing: GenerationsUnderTest
    ) -> None:
        await deliver(changing.store, add("before"), record(said("said before"), said("never", embed=False)))
        await embed_waiting(changing.store, EAST)
        made = await changing.registered()
        await deliver(changing.store, add("after", SALES_DESK))
        by_themselves = {job.text for job in await changing.queue_of(made).claim(PLENTY, lease=LONG)}
        told: list[int] = []
        entries = await changing.generations.queue_rows(made, Kind.ENTRY, told.append)
        turns = await changing.generations.queue_rows(made, Kind.TURN, _unseen)
        jobs = await changing.queue_of(made).claim(PLENTY, lease=LONG)

        assert by_themselves == {"after"}
        assert (entries, told[-1], turns) == (1, 1, 1)
        assert {(job.text, job.generation) for job in jobs} == {("before", made), ("said before", made)}
        assert await changing.queued(made) == 0
        assert (await changing.store.queue.backlog()).waiting == 1

    async def test_filling_one_leaves_what_recall_finds_by_the_other(self, changing: GenerationsUnderTest) -> None:
        row = await stored(changing.store, add("a note"))
        await embed_waiting(changing.store, EAST)
        made = await changing.registered()
        await changing.queued(made)
        await changing.filled(made)

        assert await changing.near(EAST) == {row}
        assert await changing.store.queue.active() == CONTRACT_GENERATION
        assert await changing.queued(made) == 0

    async def test_it_is_told_how_things_stand_with_each(self, changing: GenerationsUnderTest) -> None:
        await deliver(changing.store, add("one"), add("two"), record(said("three"), said("never", embed=False)))
        await embed_waiting(changing.store, EAST)
        made = await changing.registered()
        await changing.queued(made)
        one, two = await changing.queue_of(made).claim(2, lease=LONG)
        await changing.queue_of(made).complete({one: [WIDE, WIDE]})
        await changing.queue_of(made).park(two, "refused")
        first, second = await changing.standing(CONTRACT_GENERATION.number), await changing.standing(made)

        assert (first.active, first.embedded, first.waiting, first.parked) == (True, 3, 0, 0)
        assert (second.active, second.embedded, second.waiting, second.parked) == (False, 1, 1, 1)
        assert (first.embeddable, second.embeddable) == (3, 3)
        assert (second.model, second.dimension, second.part_tokens) == (MODEL, len(WIDE), PART_TOKENS)
        assert (second.fed, second.measured, second.activated_at) == (True, False, None)
        assert second.coverage == pytest.approx(1 / 3)
        assert first.activated_at is not None

    async def test_which_rows_wait_is_told_by_their_content(self, changing: GenerationsUnderTest) -> None:
        made = await changing.registered()
        await deliver(changing.store, add("stays"), add("changes"), add("goes"), add("is refused"))
        waiting = await changing.generations.waiting(made)
        jobs = {job.text: job for job in await changing.queue_of(made).claim(PLENTY, lease=LONG)}
        await changing.queue_of(made).park(jobs["is refused"], "refused")
        await deliver(changing.store, replace(by_content("changes"), "changed"), remove(by_content("goes")))
        left = await changing.generations.waiting(made, waiting)
        now = await changing.generations.waiting(made)

        assert {row.row for row in waiting} == {job.row for job in jobs.values()}
        kept = jobs["stays"]
        assert list(left) == [WaitingRow(kept.theme, kept.row, kept.content_hash)]
        assert len(now) == 2
        assert set(left) < set(now)

    async def test_another_generation_is_used_from_the_switch_on_and_the_former_again_after_one_back(
        self, changing: GenerationsUnderTest
    ) -> None:
        row = await stored(changing.store, add("a note"))
        await embed_waiting(changing.store, EAST)
        made = await changing.registered()
        await changing.queued(made)
        await changing.filled(made)
        before = await changing.generations.moment()
        former = await changing.switched(made)
        after = await changing.other.moment()
        switched_at = (await changing.standing(made)).activated_at
        active = await changing.store.queue.active()
        found = await changing.near(WIDE)
        late = await stored(changing.store, add("a late note"))
        waits = [job.row for job in await changing.queue_of(CONTRACT_GENERATION.number).claim(PLENTY, lease=LONG)]
        back = await changing.switched(CONTRACT_GENERATION.number)

        assert former == CONTRACT_GENERATION.number
        assert switched_at is not None
        assert before <= switched_at <= after
        assert active is not None
        assert active.number == made
        assert (active.unrelated, active.related) == pytest.approx((0.1, 0.9))
        assert found == {row}
        assert waits == [late]
        assert back == made
        assert await changing.near(EAST) == {row}
        assert (await changing.standing(made)).activated_at is not None

    async def test_a_row_that_changes_or_goes_loses_what_each_generation_has_of_it(
        self, changing: GenerationsUnderTest
    ) -> None:
        made = await changing.registered()
        await deliver(changing.store, add("changes"), add("goes"))
        await embed_waiting(changing.store, EAST)
        await changing.filled(made)
        await deliver(changing.store, replace(by_content("changes"), "changed"), remove(by_content("goes")))
        standing = await changing.generations.standing()

        assert [(each.embeddable, each.embedded, each.waiting) for each in standing] == [(1, 0, 1)] * 2

    async def test_what_is_dropped_is_gone_and_late_vectors_for_it_are_passed_over(
        self, changing: GenerationsUnderTest
    ) -> None:
        row = await stored(changing.store, add("a note"))
        await embed_waiting(changing.store, NORTH)
        made = await changing.registered()
        await changing.queued(made)
        queue = changing.queue_of(made)
        jobs = await queue.claim(PLENTY, lease=LONG)
        await changing.generations.drop(made)
        await queue.complete({job: [WIDE] for job in jobs})
        await queue.hold(jobs, 0)

        assert not await changing.generations.kept(made)
        assert list(await changing.generations.waiting(made)) == []
        assert await queue.active() is None
        assert list(await queue.claim(PLENTY, lease=LONG)) == []
        assert await changing.near(NORTH) == {row}

    async def test_what_is_not_there_not_ready_or_in_use_is_refused_and_nothing_changes(
        self, changing: GenerationsUnderTest
    ) -> None:
        generations, in_use = changing.generations, CONTRACT_GENERATION.number
        row = await stored(changing.store, add("a note"))
        await embed_waiting(changing.store, EAST)
        made = await changing.registered()
        nowhere = made + 7
        before = [(one.generation, one.active, one.fed, one.activated_at) for one in await generations.standing()]
        told = [
            await _refusal(generations.switch(nowhere)),
            await _refusal(generations.drop(nowhere)),
            await _refusal(generations.switch(made)),
            await _refusal(generations.drop(in_use)),
        ]
        after = [(one.generation, one.active, one.fed, one.activated_at) for one in await generations.standing()]
        await changing.queue_of(made).calibrate(made, unrelated=0.1, related=0.9)
        told.append(await _refusal(generations.switch(made)))
        late = await stored(changing.store, add("a late note"))

        assert [f"generation {nowhere}" in each for each in told] == [True, True, False, False, False]
        assert ["not measured" in told[2], "in use" in told[3], "no index" in told[4]] == [True] * 3
        assert after == before
        assert await changing.near(EAST) == {row}
        assert [job.row for job in await changing.store.queue.claim(PLENTY, lease=LONG)] == [late]

    async def test_operators_wait_for_each_other_and_are_told_so(self, changing: GenerationsUnderTest) -> None:
        acts: list[str] = []
        waiting = anyio.Event()

        def waits() -> None:
            acts.append("waits")
            waiting.set()

        async def second() -> None:
            async with changing.other.alone(waits):
                acts.append("second")

        with anyio.fail_after(PATIENCE):
            async with anyio.create_task_group() as tasks, changing.generations.alone(waits):
                acts.append("first")
                tasks.start_soon(second)
                await waiting.wait()
                acts.append("first ends")

        assert acts == ["first", "waits", "first ends", "second"]
