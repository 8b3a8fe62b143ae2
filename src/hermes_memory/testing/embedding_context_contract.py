"""Contract of `EmbeddingQueue`: a turn is embedded with the end of the one before it, and never outlives that one."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from hermes_memory.domain.embedded_text import CONTEXT_CHARACTERS
from hermes_memory.domain.model import Caller, RowId, SessionId
from hermes_memory.domain.operations import row_id
from hermes_memory.ports.embedding import EmbeddingBacklog, EmbeddingJob
from hermes_memory.testing.embedding import EAST, LONG, NORTH, cosine_found, embed_waiting
from hermes_memory.testing.making import (
    DESK,
    DESK_WITH_ANA,
    DESK_WITH_BEN,
    MARKETING,
    PLENTY,
    SALES_DESK,
    add,
    deliver,
    record,
    said,
    stored,
)
from hermes_memory.testing.store_under_test import StoreUnderTest

QUESTION, ANSWER = "When do we launch?", "On Friday."


@pytest.mark.asyncio
class EmbeddingContextContract:
    """Which words a turn's vector holds, and until when. A subclass supplies the fixture `store`."""

    async def test_a_turn_is_embedded_with_the_one_before_it(self, store: StoreUnderTest) -> None:
        turns = record(said(QUESTION), said(ANSWER), said("Thanks."))
        await deliver(store, turns)

        waiting = await _waiting(store)

        jobs = [waiting[row_id(turns.stamp.operation, index)] for index in range(3)]
        assert [(job.context, job.text) for job in jobs] == [("", QUESTION), (QUESTION, ANSWER), (ANSWER, "Thanks.")]

    async def test_a_turn_that_comes_later_has_the_one_before_it_too(self, store: StoreUnderTest) -> None:
        await deliver(store, record(said(QUESTION)))
        await embed_waiting(store, NORTH)
        answer = await stored(store, record(said(ANSWER)))

        assert (await _waiting(store))[answer].context == QUESTION

    async def test_an_entry_is_embedded_alone(self, store: StoreUnderTest) -> None:
        await deliver(store, record(said(QUESTION)))
        entry = await stored(store, add("The launch is on Friday."))

        assert (await _waiting(store))[entry].context == ""

    async def test_the_turn_before_is_one_of_the_same_theme_subject_and_session(self, store: StoreUnderTest) -> None:
        evening = Caller(theme=MARKETING, session=SessionId("evening"))
        await deliver(store, *(record(said(QUESTION), caller=c) for c in (DESK_WITH_ANA, SALES_DESK, DESK)))
        answers = [await stored(store, record(said(ANSWER), caller=c)) for c in (DESK_WITH_BEN, evening)]

        waiting = await _waiting(store)

        assert [waiting[row].context for row in answers] == ["", ""]

    async def test_of_a_long_turn_before_only_the_end_is_embedded(self, store: StoreUnderTest) -> None:
        long = "word " * CONTEXT_CHARACTERS + "launch?"
        await deliver(store, record(said(long)))
        answer = await stored(store, record(said(ANSWER)))

        assert (await _waiting(store))[answer].context == long[-CONTEXT_CHARACTERS:]

    async def test_a_turn_that_is_not_embedded_itself_still_says_what_the_next_is_about(
        self, store: StoreUnderTest
    ) -> None:
        await deliver(store, record(said("launch?", embed=False)))
        answer = await stored(store, record(said(ANSWER)))

        assert (await _waiting(store))[answer].context == "launch?"

    async def test_erasing_a_turn_makes_the_next_one_wait_for_a_vector_without_its_words(
        self, store: StoreUnderTest
    ) -> None:
        first, second, third = await _three_turns(store)
        await embed_waiting(store, EAST)

        await store.erase_turn(first)

        assert await cosine_found(store, first, EAST) is None
        assert await cosine_found(store, second, EAST) is None
        assert await cosine_found(store, third, EAST) == pytest.approx(1.0, abs=2e-3)
        waiting = await _waiting(store)
        assert {row: (job.context, job.text) for row, job in waiting.items()} == {second: ("", ANSWER)}
        await store.queue.complete({waiting[second]: [NORTH]})
        assert await cosine_found(store, second, NORTH) == pytest.approx(1.0, abs=2e-3)

    async def test_a_vector_with_words_of_a_turn_erased_meanwhile_is_not_stored(self, store: StoreUnderTest) -> None:
        first, second, _ = await _three_turns(store)
        claimed = await store.queue.claim(PLENTY, lease=LONG)

        await store.erase_turn(first)
        await store.queue.complete({job: [EAST] for job in claimed})

        assert await cosine_found(store, first, EAST) is None
        assert await cosine_found(store, second, EAST) is None
        assert await store.queue.backlog() == EmbeddingBacklog(waiting=1, parked=0)

    async def test_a_turn_that_is_not_to_be_embedded_waits_for_no_vector_when_the_one_before_is_erased(
        self, store: StoreUnderTest
    ) -> None:
        turns = record(said(QUESTION), said("yes", embed=False))
        await deliver(store, turns)
        await embed_waiting(store, EAST)

        await store.erase_turn(row_id(turns.stamp.operation, 0))

        assert await store.queue.backlog() == EmbeddingBacklog(waiting=0, parked=0)


async def _three_turns(store: StoreUnderTest) -> tuple[RowId, RowId, RowId]:
    turns = record(said(QUESTION), said(ANSWER), said("Thanks."))
    await deliver(store, turns)
    first, second, third = (row_id(turns.stamp.operation, index) for index in range(3))
    return first, second, third


async def _waiting(store: StoreUnderTest) -> Mapping[RowId, EmbeddingJob]:
    return {job.row: job for job in await store.queue.claim(PLENTY, lease=LONG)}
