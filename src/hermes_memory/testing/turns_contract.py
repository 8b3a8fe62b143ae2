"""Contract of `DeliveryStore`: recording what was said, and who handed work to whom."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import pytest

from hermes_memory.domain.model import AllScope, Caller, Origin, Role, RowId, SessionId, Theme, Turn
from hermes_memory.domain.operations import Effect, RecordDelegation, RecordTurns, row_id
from hermes_memory.ports.reading import SearchSpace
from hermes_memory.testing.making import (
    DESK,
    DESK_WITH_ANA,
    DESK_WITH_BEN,
    EVENING,
    MARKETING,
    MORNING,
    PATIENCE,
    PLENTY,
    SALES_DESK,
    deliver,
    deliver_one,
    read,
    record,
    said,
    stamp,
    stored,
)
from hermes_memory.testing.store_under_test import StoreUnderTest


@pytest.mark.asyncio
class TurnsContract:
    """How turns are recorded. A subclass supplies the fixture `store`."""

    async def test_a_recorded_turn_reads_back_as_it_was_handed_in(self, store: StoreUnderTest) -> None:
        said_at = datetime(2023, 11, 5, 6, 7, 8, 910_111, tzinfo=UTC)
        draft = said(
            "Wann starten wir? 什么时候？",
            role=Role.TOOL,
            at=said_at,
            speaker="Ana",
            metadata={"turn": "D1:3"},
        )
        talk = record(draft, caller=DESK_WITH_ANA, parent_session=EVENING)

        row = await stored(store, talk)

        assert row == row_id(talk.stamp.operation)
        assert await read(store, row, DESK_WITH_ANA) == Turn(
            id=row,
            theme=MARKETING,
            subject=DESK_WITH_ANA.subject,
            session=MORNING,
            role=Role.TOOL,
            content=draft.content,
            at=said_at,
            origin=Origin.ASSISTANT,
            position=0,
            speaker="Ana",
            metadata={"turn": "D1:3"},
            operation=talk.stamp.operation,
        )

    async def test_the_rows_of_an_operation_are_numbered_by_its_drafts(self, store: StoreUnderTest) -> None:
        talk = record(said("one"), said("two"), said("three"))

        outcome = await deliver_one(store, talk)

        assert (outcome.effect, outcome.row) == (Effect.STORED, None)
        turns = await _turns(store, DESK, [row_id(talk.stamp.operation, index) for index in range(3)])
        assert [turn.content for turn in turns] == ["one", "two", "three"]

    async def test_positions_grow_by_one_a_stored_turn(self, store: StoreUnderTest) -> None:
        first, second = record(said("one"), said("two")), record(said("two"), said("three"), said("four"))

        await deliver(store, first, second)

        rows = [row_id(first.stamp.operation, n) for n in (0, 1)] + [row_id(second.stamp.operation, n) for n in (1, 2)]
        turns = await _turns(store, DESK, rows)
        assert [(turn.content, turn.position) for turn in turns] == [("one", 0), ("two", 1), ("three", 2), ("four", 3)]

    async def test_every_session_counts_for_itself(self, store: StoreUnderTest) -> None:
        evening = Caller(theme=MARKETING, session=EVENING)
        talks = [record(said("a"), said("b"), caller=c) for c in (DESK, evening, DESK_WITH_ANA, SALES_DESK)]

        await deliver(store, *talks)

        for talk in talks:
            turns = await _turns(store, talk.stamp.caller, [row_id(talk.stamp.operation, n) for n in (0, 1)])
            assert [turn.position for turn in turns] == [0, 1]

    async def test_a_transcript_handed_in_again_stores_only_what_is_new(self, store: StoreUnderTest) -> None:
        transcript = [said("hello"), said("hello", role=Role.ASSISTANT), said("yes"), said("yes", occurrence=1)]
        await deliver(store, record(*transcript))

        again, longer = await deliver(store, record(*transcript), record(*transcript, said("bye")))

        assert (again.effect, longer.effect) == (Effect.UNCHANGED, Effect.STORED)
        assert (await store.inspector.counts())["turns"] == 5

    async def test_the_second_yes_is_a_turn_of_its_own(self, store: StoreUnderTest) -> None:
        await deliver(store, record(said("yes"), said("yes", occurrence=1)))

        assert (await store.inspector.counts())["turns"] == 2

    async def test_the_same_draft_twice_in_an_operation_is_one_turn(self, store: StoreUnderTest) -> None:
        talk = record(said("yes"), said("yes"), said("no"))

        await deliver(store, talk)

        rows = [row_id(talk.stamp.operation, index) for index in range(3)]
        assert await read(store, rows[1]) is None
        assert [turn.position for turn in await _turns(store, DESK, [rows[0], rows[2]])] == [0, 1]

    async def test_a_turn_already_stored_is_left_as_it_is(self, store: StoreUnderTest) -> None:
        row = await stored(store, record(said("yes", speaker="Ana")))
        before = await read(store, row)

        outcome = await deliver_one(store, record(said("yes", speaker="Ben", metadata={"late": True})))

        assert (outcome.effect, outcome.row) == (Effect.UNCHANGED, row)
        assert await read(store, row) == before

    @pytest.mark.parametrize("other", [DESK_WITH_ANA, SALES_DESK, Caller(theme=MARKETING, session=EVENING)])
    async def test_the_same_words_elsewhere_are_turns_of_their_own(self, store: StoreUnderTest, other: Caller) -> None:
        outcomes = await deliver(store, record(said("yes")), record(said("yes"), caller=other))

        assert [outcome.effect for outcome in outcomes] == [Effect.STORED] * 2
        assert outcomes[0].row != outcomes[1].row

    async def test_two_subjects_who_said_the_same_in_one_session_keep_both_turns(self, store: StoreUnderTest) -> None:
        operations: list[RecordTurns] = [record(said("yes"), caller=who) for who in (DESK_WITH_ANA, DESK_WITH_BEN)]

        outcomes = await deliver(store, *operations)

        assert [outcome.effect for outcome in outcomes] == [Effect.STORED] * 2
        (turn,) = await _turns(store, DESK_WITH_BEN, [row_id(operations[1].stamp.operation)])
        assert turn.position == 0


@pytest.mark.asyncio
class DelegationContract:
    """How delegations are noted. A subclass supplies the fixture `store`."""

    async def test_a_delegation_is_noted_once_and_leaves_nothing_to_find(self, store: StoreUnderTest) -> None:
        delegation = _delegation(SessionId("child"), Theme("research"))

        outcome = await deliver_one(store, delegation)
        again = await deliver_one(store, delegation)

        counts = await store.inspector.counts()
        found = await store.search.by_text(
            DESK,
            SearchSpace(scope=AllScope()),
            store.analyze("zebra quagga"),
            limit=PLENTY,
            timeout=PATIENCE,
        )
        assert outcome == again
        assert (outcome.effect, outcome.row) == (Effect.STORED, None)
        assert (counts["turns"], counts["entries"], counts["waiting"]) == (0, 0, 0)
        assert list(found.hits) == []

    @pytest.mark.parametrize("session", [None, SessionId("child")])
    @pytest.mark.parametrize("theme", [None, Theme("research"), MARKETING])
    async def test_a_child_may_be_known_in_part(
        self, store: StoreUnderTest, session: SessionId | None, theme: Theme | None
    ) -> None:
        outcome = await deliver_one(store, _delegation(session, theme))

        assert outcome.effect is Effect.STORED

    async def test_a_child_session_goes_on_recording_where_it_was(self, store: StoreUnderTest) -> None:
        child = Caller(theme=MARKETING, session=SessionId("child"))
        before, after = record(said("one"), caller=child), record(said("two"), caller=child)

        await deliver(store, before, _delegation(child.session, None), after)

        (turn,) = await _turns(store, child, [row_id(after.stamp.operation)])
        assert turn.position == 1


def _delegation(session: SessionId | None, theme: Theme | None) -> RecordDelegation:
    return RecordDelegation(
        stamp=stamp(), child_session=session, child_theme=theme, task="count the zebra", result="one quagga"
    )


async def _turns(store: StoreUnderTest, caller: Caller, rows: Sequence[RowId]) -> list[Turn]:
    found = [await read(store, row, caller) for row in rows]
    return [turn for turn in found if isinstance(turn, Turn)]
