"""What `HistoryReader` promises, to be run against every adapter."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from dataclasses import replace as with_reason
from datetime import datetime, timedelta
from uuid import uuid4

from hermes_memory.domain.history import ChangeKind
from hermes_memory.domain.model import (
    NO_METADATA,
    AllScope,
    Caller,
    CurrentScope,
    Metadata,
    RowId,
    SessionId,
    SessionScope,
    SubjectScope,
    ThemeScope,
)
from hermes_memory.domain.operations import ById, RecordTurns, RemoveEntry, ReplaceEntry
from hermes_memory.ports.delivery import DeliveryStore
from hermes_memory.ports.history import HistoryReader
from hermes_memory.testing.making import (
    ANA_DIRECTLY,
    BEN_DIRECTLY,
    DESK,
    DESK_WITH_ANA,
    DESK_WITH_BEN,
    EVENING,
    MARKETING,
    MORNING,
    PATIENCE,
    PLENTY,
    SALES_DESK,
    add,
    by_content,
    record,
    remove,
    replace,
    said,
    stamp,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryUnderTest:
    """A fresh, empty store with its history, and the clock by which that is kept.

    Attributes:
        moment: Returns a moment after all that happened so far and before all that will.
    """

    delivery: DeliveryStore
    history: HistoryReader
    moment: Callable[[], Awaitable[datetime]]


class HistoryContract:
    """The promises. A subclass supplies the async fixture `past`: fresh and empty each time."""

    async def test_every_change_is_told_newest_first_with_who_and_why(self, past: HistoryUnderTest) -> None:
        row = await _stored(past, "draft")
        why = "the date moved"
        changing = stamp(DESK)
        await past.delivery.apply(
            [ReplaceEntry(stamp=with_reason(changing, reason=why), selector=ById(id=row), content="fair copy")]
        )
        await past.delivery.apply([remove(by_content("fair copy"))])

        told = await past.history.of_row(DESK, row, limit=PLENTY, timeout=PATIENCE)
        assert [(c.kind, c.before, c.after) for c in told] == [
            (ChangeKind.REMOVED, "fair copy", None),
            (ChangeKind.REPLACED, "draft", "fair copy"),
            (ChangeKind.ADDED, None, "draft"),
        ]
        assert (told[1].reason, told[1].operation, told[1].session) == (why, changing.operation, MORNING)
        assert [c.recorded_at for c in told] == sorted((c.recorded_at for c in told), reverse=True)
        assert [c.gone for c in told] == [True, False, False]
        assert list(await past.history.of_row(DESK, row, limit=1, timeout=PATIENCE)) == list(told[:1])

    async def test_a_write_is_found_by_its_operation_in_its_own_theme_alone(self, past: HistoryUnderTest) -> None:
        writing = add("launch on 3 May")
        await past.delivery.apply([writing])

        own = await past.history.of_operation(DESK, writing.stamp.operation, timeout=PATIENCE)
        others = await past.history.of_operation(SALES_DESK, writing.stamp.operation, timeout=PATIENCE)
        assert [c.after for c in own] == ["launch on 3 May"]
        assert list(others) == []

    async def test_history_is_as_private_as_the_memory(self, past: HistoryUnderTest) -> None:
        hers = await _stored(past, "Ana's code is 4711", ANA_DIRECTLY)
        desk = await _stored(past, "Ana likes tea", DESK_WITH_ANA)

        for caller in (BEN_DIRECTLY, DESK, DESK_WITH_BEN, SALES_DESK):
            for row in (hers, desk):
                assert list(await past.history.of_row(caller, row, limit=PLENTY, timeout=PATIENCE)) == []
            for scope in (CurrentScope(), AllScope(), SubjectScope(), ThemeScope(theme=MARKETING)):
                assert list(await past.history.recent(caller, scope, limit=PLENTY, timeout=PATIENCE)) == []
                now = await past.moment()
                stood = await past.history.entries_at(caller, scope, now, limit=PLENTY, timeout=PATIENCE)
                assert list(stood) == []
        assert await past.history.of_row(ANA_DIRECTLY, desk, limit=PLENTY, timeout=PATIENCE)
        across = await past.history.recent(ANA_DIRECTLY, SubjectScope(), limit=PLENTY, timeout=PATIENCE)
        assert {c.after for c in across} == {"Ana's code is 4711", "Ana likes tea"}

    async def test_who_may_read_a_theme_is_not_shown_what_it_has_forgotten(self, past: HistoryUnderTest) -> None:
        row = await _stored(past, "the launch is on 3 May")
        await _stored(past, "Ana likes tea", ANA_DIRECTLY)
        then = await past.moment()
        await past.delivery.apply([remove(by_content("the launch is on 3 May"))])

        for caller in (SALES_DESK, ANA_DIRECTLY):
            assert list(await past.history.of_row(caller, row, limit=PLENTY, timeout=PATIENCE)) == []
            for scope in (AllScope(), ThemeScope(theme=MARKETING)):
                told = await past.history.recent(caller, scope, limit=PLENTY, timeout=PATIENCE)
                stood = await past.history.entries_at(caller, scope, then, limit=PLENTY, timeout=PATIENCE)
                assert "the launch is on 3 May" not in {text for c in told for text in (c.before, c.after)}
                assert "the launch is on 3 May" not in {entry.content for entry in stood}
        own = await past.history.recent(DESK, AllScope(), limit=PLENTY, timeout=PATIENCE)
        stood = await past.history.entries_at(DESK, AllScope(), then, limit=PLENTY, timeout=PATIENCE)
        assert [c.before or c.after for c in own] == ["the launch is on 3 May"] * 2
        assert [entry.content for entry in stood] == ["the launch is on 3 May"]

    async def test_memories_are_told_as_they_stood_at_a_moment(self, past: HistoryUnderTest) -> None:
        before = await past.moment()
        kept = await _stored(past, "the port is 5432", metadata={"page": 3})
        await _stored(past, "the host is db1")
        then = await past.moment()
        change = replace(by_content("the port is 5432"), "the port is 5433", tool="memory")
        await past.delivery.apply([change])
        await past.delivery.apply([remove(by_content("the host is db1"))])
        await _stored(past, "the user is app")
        now = await past.moment()

        assert await _contents(past, before) == []
        assert await _contents(past, then) == ["the host is db1", "the port is 5432"]
        assert await _contents(past, now) == ["the user is app", "the port is 5433"]
        (last, *_), *_ = [await past.history.entries_at(DESK, CurrentScope(), then, limit=9, timeout=PATIENCE)]
        assert last.content == "the host is db1"
        stood = {e.id: e for e in await past.history.entries_at(DESK, CurrentScope(), now, limit=9, timeout=PATIENCE)}
        assert stood[kept].metadata == {"page": 3}
        assert (stood[kept].operation, stood[kept].tool) == (change.stamp.operation, "memory")
        assert await _contents(past, then, limit=1) == ["the host is db1"]

    async def test_a_memory_that_became_another_one_stands_no_more(self, past: HistoryUnderTest) -> None:
        first = await _stored(past, "Ana prefers tea")
        second = await _stored(past, "Ana prefers coffee")
        await past.delivery.apply([replace(by_content("Ana prefers tea"), "Ana prefers coffee")])

        assert await _contents(past, await past.moment()) == ["Ana prefers coffee"]
        (merged, _) = await past.history.of_row(DESK, first, limit=PLENTY, timeout=PATIENCE)
        assert (merged.merged_into, merged.gone) == (second, True)
        await past.delivery.apply([remove(by_content("Ana prefers coffee"))])
        assert await _contents(past, await past.moment()) == []

    async def test_a_session_is_told_of_alone(self, past: HistoryUnderTest) -> None:
        evening = Caller(theme=MARKETING, session=EVENING)
        await past.delivery.apply([add("said in the morning"), add("said in the evening", evening)])
        now, evening_alone = await past.moment(), {"said in the evening"}

        for scope, expected in (
            (SessionScope(session=EVENING), evening_alone),
            (SessionScope(session=SessionId("x"), hidden=EVENING), evening_alone),
            (SessionScope(session=EVENING, hidden=MORNING), {"said in the morning", *evening_alone}),
        ):
            told = await past.history.recent(DESK, scope, limit=PLENTY, timeout=PATIENCE)
            stood = await past.history.entries_at(DESK, scope, now, limit=PLENTY, timeout=PATIENCE)
            assert {c.after for c in told} == expected
            assert {e.content for e in stood} == expected

    async def test_a_change_that_is_to_meet_a_memory_as_a_write_left_it_meets_no_later_state(
        self, past: HistoryUnderTest
    ) -> None:
        writing = add("one")
        (outcome,) = await past.delivery.apply([writing])
        assert outcome.row
        as_left = ById(id=outcome.row, left_by=writing.stamp.operation)
        second = replace(as_left, "two")
        first_try = await past.delivery.apply([second])
        late = await past.delivery.apply([replace(as_left, "three"), RemoveEntry(stamp=stamp(), selector=as_left)])
        right = await past.delivery.apply([remove(ById(id=outcome.row, left_by=second.stamp.operation))])

        effects = [o.effect.value for o in [*first_try, *late, *right]]
        assert effects == ["replaced", "not_found", "not_found", "removed"]

    async def test_of_a_turn_it_is_told_that_it_was_said(self, past: HistoryUnderTest) -> None:
        talk = record(said("the alarm code is zebra"))
        row = await _recorded(past, talk)

        (change,) = await past.history.of_row(DESK, row, limit=PLENTY, timeout=PATIENCE)
        elsewhere = await past.history.of_row(SALES_DESK, row, limit=PLENTY, timeout=PATIENCE)
        assert (change.kind, change.target, change.after) == (ChangeKind.ADDED, None, "the alarm code is zebra")
        assert (change.origin, change.session) == (talk.turns[0].origin, MORNING)
        assert (change.said_at, change.at) == (talk.turns[0].at, talk.stamp.accepted_at)
        assert elsewhere == []
        assert await past.history.recent(DESK, CurrentScope(), limit=PLENTY, timeout=PATIENCE) == []

    async def test_of_a_forgotten_turn_it_is_told_that_it_was_forgotten_and_never_what_was_said(
        self, past: HistoryUnderTest
    ) -> None:
        talk = record(said("the alarm code is zebra"), caller=DESK_WITH_ANA)
        row = await _recorded(past, talk)
        evening = Caller(theme=MARKETING, subject=DESK_WITH_ANA.subject, session=EVENING)
        await past.delivery.apply([forgetting := remove(ById(id=row), evening)])

        (change,) = await past.history.of_row(DESK_WITH_ANA, row, limit=PLENTY, timeout=PATIENCE)
        for other in (DESK, DESK_WITH_BEN, SALES_DESK):
            assert await past.history.of_row(other, row, limit=PLENTY, timeout=PATIENCE) == []
        assert (change.kind, change.target, change.before, change.after) == (ChangeKind.REMOVED, None, None, None)
        assert (change.said_at, change.at) == (talk.turns[0].at, forgetting.stamp.accepted_at)
        assert (change.session, change.subject) == (MORNING, DESK_WITH_ANA.subject)
        assert await past.history.recent(DESK_WITH_ANA, CurrentScope(), limit=PLENTY, timeout=PATIENCE) == [change]
        assert await _contents(past, await past.moment()) == []
        assert await past.history.stored_at(DESK_WITH_ANA, [row], await past.moment(), timeout=PATIENCE) == frozenset()

    async def test_the_moment_is_that_of_the_clock_that_records_whatever_the_writers_clock_says(
        self, past: HistoryUnderTest
    ) -> None:
        day = timedelta(days=1)
        before = await past.history.moment(timeout=PATIENCE)
        ahead, behind = stamp(DESK, accepted_at=before + day), stamp(DESK, accepted_at=before - day)
        (added,) = await past.delivery.apply([with_reason(add("launch on 3 May"), stamp=ahead)])
        assert added.row is not None
        between = await past.history.moment(timeout=PATIENCE)
        await past.delivery.apply([RemoveEntry(stamp=behind, selector=ById(id=added.row))])
        after = await past.history.moment(timeout=PATIENCE)

        removal, addition = await past.history.of_row(DESK, added.row, limit=PLENTY, timeout=PATIENCE)
        assert before <= addition.recorded_at <= between <= removal.recorded_at <= after
        assert (addition.at, removal.at) == (before + day, before - day)

    async def test_turns_are_known_by_when_they_were_accepted(self, past: HistoryUnderTest) -> None:
        early, late = record(said("hello")), record(said("good bye"))
        rows = [o.row for o in await past.delivery.apply([early, late]) if o.row]
        between = late.stamp.accepted_at - timedelta(microseconds=1)

        known = await past.history.stored_at(DESK, [*rows, RowId(uuid4())], between, timeout=PATIENCE)
        hidden = await past.history.stored_at(ANA_DIRECTLY, rows, between, timeout=PATIENCE)
        assert known == {rows[0]}
        assert hidden == frozenset()


async def _stored(
    past: HistoryUnderTest, content: str, caller: Caller = DESK, *, metadata: Metadata = NO_METADATA
) -> RowId:
    (outcome,) = await past.delivery.apply([add(content, caller, metadata=metadata)])
    assert outcome.row is not None
    return outcome.row


async def _recorded(past: HistoryUnderTest, talk: RecordTurns) -> RowId:
    (outcome,) = await past.delivery.apply([talk])
    assert outcome.row is not None
    return outcome.row


async def _contents(past: HistoryUnderTest, moment: datetime, *, limit: int = PLENTY) -> list[str]:
    stood = await past.history.entries_at(DESK, CurrentScope(), moment, limit=limit, timeout=PATIENCE)
    return [entry.content for entry in stood]
