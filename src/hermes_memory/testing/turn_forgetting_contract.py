"""Contract of `DeliveryStore`: forgetting what was said in a conversation."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from hermes_memory.domain.model import Caller, Role, RowId, SessionId, Turn
from hermes_memory.domain.operations import ById, Effect, RecordTurns, ReplaceEntry, row_id
from hermes_memory.ports.embedding import EmbeddingBacklog
from hermes_memory.testing.embedding import embed_waiting
from hermes_memory.testing.making import (
    DESK,
    DESK_WITH_ANA,
    DESK_WITH_BEN,
    MARKETING,
    PATIENCE,
    PLENTY,
    SALES_DESK,
    TURNS,
    add,
    deliver,
    deliver_one,
    read,
    record,
    remove,
    replace,
    said,
    stored,
)
from hermes_memory.testing.store_under_test import StoreUnderTest

CODE = "the alarm code is zebra"
VECTOR = (0.0, 1.0, 0.0, 0.0)


@pytest.mark.asyncio
class TurnForgettingContract:
    """How a turn is forgotten. A subclass supplies the fixture `store`."""

    async def test_a_forgotten_turn_is_gone_from_every_search(self, store: StoreUnderTest) -> None:
        talk = _talk()
        gone, kept = await _recorded(store, talk)

        outcome = await deliver_one(store, remove(ById(id=gone)))

        found = await store.search.by_text(DESK, TURNS, store.analyze("zebra noted"), limit=PLENTY, timeout=PATIENCE)
        assert (outcome.effect, outcome.row) == (Effect.REMOVED, gone)
        assert await read(store, gone) is None
        assert [hit.row.id for hit in found.hits] == [kept]
        assert await _near(store) == []
        assert (await store.inspector.counts())["turns"] == 1

    async def test_forgetting_it_again_finds_nothing(self, store: StoreUnderTest) -> None:
        gone, _ = await _recorded(store, _talk())
        first = remove(ById(id=gone))

        outcomes = await deliver(store, first, first, remove(ById(id=gone)))

        assert [outcome.effect for outcome in outcomes] == [Effect.REMOVED, Effect.REMOVED, Effect.NOT_FOUND]

    async def test_the_places_of_the_other_turns_stay(self, store: StoreUnderTest) -> None:
        gone, kept = await _recorded(store, _talk())

        await deliver(store, remove(ById(id=gone)), later := record(said("thanks")))

        turns = [await read(store, row) for row in (kept, row_id(later.stamp.operation))]
        assert [turn.position for turn in turns if isinstance(turn, Turn)] == [1, 2]

    async def test_a_transcript_handed_in_again_does_not_bring_it_back(self, store: StoreUnderTest) -> None:
        talk = _talk()
        gone, _ = await _recorded(store, talk)
        await deliver(store, remove(ById(id=gone)))

        again, alone, longer = await deliver(
            store, record(*talk.turns), record(talk.turns[0]), record(*talk.turns, said("thanks"))
        )

        assert (again.effect, alone.effect, longer.effect) == (Effect.UNCHANGED, Effect.UNCHANGED, Effect.STORED)
        assert alone.row is None
        assert await _found(store, "zebra") == []
        assert (await store.inspector.counts())["turns"] == 2

    async def test_a_transcript_that_waits_beside_the_forgetting_does_not_bring_it_back(
        self, store: StoreUnderTest
    ) -> None:
        talk = _talk()
        gone, _ = await _recorded(store, talk)

        await deliver(store, record(*talk.turns), remove(ById(id=gone)), record(*talk.turns))

        assert await _found(store, "zebra") == []

    async def test_what_is_said_anew_is_kept(self, store: StoreUnderTest) -> None:
        talk = _talk()
        gone, _ = await _recorded(store, talk)
        await deliver(store, remove(ById(id=gone)))

        outcomes = await deliver(
            store,
            record(said(CODE, occurrence=1)),
            record(said(CODE, role=Role.ASSISTANT)),
            record(said(CODE), caller=Caller(theme=MARKETING, session=SessionId("another"))),
            record(said(CODE), caller=DESK_WITH_ANA),
        )

        assert [outcome.effect for outcome in outcomes] == [Effect.STORED] * 4

    async def test_somebody_forgets_what_was_said_with_them_and_with_nobody(self, store: StoreUnderTest) -> None:
        mine = await stored(store, record(said(CODE), caller=DESK_WITH_ANA))
        nobodys = await stored(store, record(said(CODE)))

        outcomes = await deliver(store, *(remove(ById(id=row), DESK_WITH_ANA) for row in (mine, nobodys)))

        assert [outcome.effect for outcome in outcomes] == [Effect.REMOVED] * 2

    @pytest.mark.parametrize("other", [DESK, DESK_WITH_BEN, SALES_DESK])
    async def test_nobody_forgets_what_is_not_theirs(self, store: StoreUnderTest, other: Caller) -> None:
        row = await stored(store, record(said(CODE), caller=DESK_WITH_ANA))

        outcome = await deliver_one(store, remove(ById(id=row), other))

        assert (outcome.effect, outcome.row) == (Effect.NOT_FOUND, None)
        assert await read(store, row, DESK_WITH_ANA) is not None

    async def test_what_may_only_be_read_is_not_forgotten(self, store: StoreUnderTest) -> None:
        row = await stored(store, record(said(CODE)))
        assert await read(store, row, SALES_DESK) is not None

        outcome = await deliver_one(store, remove(ById(id=row), SALES_DESK))

        assert outcome.effect is Effect.NOT_FOUND
        assert await read(store, row) is not None

    async def test_a_turn_is_forgotten_and_never_changed(self, store: StoreUnderTest) -> None:
        row, _ = await _recorded(store, talk := _talk())
        change: ReplaceEntry = replace(ById(id=row), "the alarm code is quagga")

        outcome = await deliver_one(store, change)
        undone = await deliver_one(store, remove(ById(id=row, left_by=talk.stamp.operation)))

        assert (outcome.effect, undone.effect) == (Effect.NOT_FOUND, Effect.NOT_FOUND)
        assert await _found(store, "zebra") == [row]

    async def test_a_memory_of_the_same_words_stays(self, store: StoreUnderTest) -> None:
        entry = await stored(store, add(CODE))
        gone, _ = await _recorded(store, _talk())

        await deliver(store, remove(ById(id=gone)))

        assert await read(store, entry) is not None

    async def test_the_next_turn_waits_for_a_vector_without_its_words(self, store: StoreUnderTest) -> None:
        gone, kept = await _recorded(store, _talk())

        await deliver(store, remove(ById(id=gone)))

        (job,) = await store.queue.claim(PLENTY, lease=60.0)
        assert (job.row, job.context) == (kept, "")
        assert await _near(store) == []

    async def test_a_vector_with_its_words_that_was_under_way_is_not_stored(self, store: StoreUnderTest) -> None:
        talk = _talk()
        await deliver(store, talk)
        claimed = await store.queue.claim(PLENTY, lease=60.0)

        await deliver(store, remove(ById(id=row_id(talk.stamp.operation, 0))))
        await store.queue.complete({job: [VECTOR] for job in claimed})

        assert await _near(store) == []
        assert await store.queue.backlog() == EmbeddingBacklog(waiting=1, parked=0)


def _talk() -> RecordTurns:
    return record(said(CODE), said("noted", role=Role.ASSISTANT))


async def _recorded(store: StoreUnderTest, talk: RecordTurns) -> Sequence[RowId]:
    """Record turns with their vectors; return their ids."""
    await deliver(store, talk)
    await embed_waiting(store, VECTOR)
    return [row_id(talk.stamp.operation, index) for index in range(len(talk.turns))]


async def _found(store: StoreUnderTest, words: str) -> list[RowId]:
    found = await store.search.by_text(DESK, TURNS, store.analyze(words), limit=PLENTY, timeout=PATIENCE)
    return [hit.row.id for hit in found.hits]


async def _near(store: StoreUnderTest) -> list[RowId]:
    hits = await store.search.by_vector(DESK, TURNS, VECTOR, limit=PLENTY, timeout=PATIENCE)
    return [hit.row.id for hit in hits]
