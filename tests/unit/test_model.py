"""What may exist, and what an operation must say."""

from __future__ import annotations

import dataclasses
from datetime import UTC, datetime
from uuid import uuid4

import pytest
from tests.support.tables import for_each

from hermes_memory.domain.errors import HermesMemoryError, InvalidInput
from hermes_memory.domain.model import (
    NO_METADATA,
    SINKS,
    Caller,
    Entry,
    Kind,
    OperationId,
    Origin,
    Role,
    RowId,
    SessionId,
    Subject,
    Target,
    Theme,
    Turn,
    kind_of,
)
from hermes_memory.domain.operations import (
    AddEntry,
    ByContent,
    ById,
    BySubstring,
    RecordDelegation,
    RecordTurns,
    RemoveEntry,
    ReplaceEntry,
    Stamp,
    TurnDraft,
    lane_of,
    row_id,
)

AT = datetime(2026, 5, 3, tzinfo=UTC)
ALICE = Subject(b"a" * 32)
DESK = Caller(theme=Theme("marketing"), session=SessionId("s1"))


def stamp(caller: Caller = DESK) -> Stamp:
    return Stamp(operation=OperationId(uuid4()), caller=caller, origin=Origin.USER, accepted_at=AT)


def draft(content: str = "hello") -> TurnDraft:
    return TurnDraft(role=Role.USER, content=content, at=AT, origin=Origin.USER)


def test_a_caller_has_a_theme() -> None:
    with pytest.raises(InvalidInput, match="theme is empty") as refusal:
        Caller(theme=Theme(""))

    assert refusal.value.field == "theme"


@for_each("subject", [b"", b"short", b"x" * 31, b"x" * 33])
def test_a_subject_has_32_bytes(subject: bytes) -> None:
    with pytest.raises(InvalidInput, match="32 bytes"):
        Caller(theme=Theme("marketing"), subject=Subject(subject))


@pytest.mark.parametrize("sink", sorted(SINKS))
def test_a_caller_in_a_sink_has_a_subject(sink: Theme) -> None:
    with pytest.raises(InvalidInput, match="needs a subject"):
        Caller(theme=sink)

    assert Caller(theme=sink, subject=ALICE).subject == ALICE


def test_the_nouns_cannot_be_changed_and_take_no_further_attribute() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        DESK.theme = Theme("sales")  # type: ignore[misc]
    assert not hasattr(DESK, "__dict__")


def test_rows_know_their_kind_and_share_one_empty_metadata() -> None:
    entry = Entry(
        id=RowId(uuid4()), theme=DESK.theme, subject=None, target=Target.MEMORY, content="x", at=AT, updated_at=AT,
        origin=Origin.USER,
    )  # fmt: skip
    turn = Turn(
        id=RowId(uuid4()), theme=DESK.theme, subject=None, session=SessionId("s1"), role=Role.USER, content="x", at=AT,
        origin=Origin.USER, position=0,
    )  # fmt: skip

    assert (kind_of(entry), kind_of(turn)) == (Kind.ENTRY, Kind.TURN)
    assert entry.metadata is turn.metadata is NO_METADATA
    with pytest.raises(TypeError):
        NO_METADATA["x"] = 1  # type: ignore[index]


@pytest.mark.parametrize("content", ["", " ", "\n\t"])
def test_there_is_no_memory_without_content(content: str) -> None:
    with pytest.raises(InvalidInput, match="content is empty"):
        AddEntry(stamp=stamp(), target=Target.MEMORY, content=content, at=AT)
    with pytest.raises(InvalidInput, match="content is empty"):
        ReplaceEntry(stamp=stamp(), selector=ById(id=RowId(uuid4())), content=content)
    with pytest.raises(InvalidInput, match="content is empty"):
        draft(content)


def test_an_empty_substring_selects_nothing_rather_than_everything() -> None:
    with pytest.raises(InvalidInput, match="would select every memory") as refusal:
        BySubstring(target=Target.MEMORY, text="")

    assert refusal.value.field == "old_text"


def test_turns_belong_to_a_session_and_there_is_at_least_one() -> None:
    with pytest.raises(InvalidInput, match="belongs to a session"):
        RecordTurns(stamp=stamp(Caller(theme=DESK.theme)), turns=(draft(),))
    with pytest.raises(InvalidInput, match="no turn"):
        RecordTurns(stamp=stamp(), turns=())


def test_the_ids_of_rows_come_from_the_operation_so_that_a_replay_makes_the_same() -> None:
    operation = OperationId(uuid4())

    assert row_id(operation) == row_id(operation, 0) != row_id(operation, 1)
    assert row_id(operation) != row_id(OperationId(uuid4()))


def test_changes_of_a_themes_entries_share_a_lane_whatever_their_session() -> None:
    add = AddEntry(stamp=stamp(), target=Target.MEMORY, content="x", at=AT)
    elsewhere = Caller(theme=DESK.theme, session=SessionId("s2"))
    remove = RemoveEntry(stamp=stamp(elsewhere), selector=ByContent(target=Target.USER, content="x"))

    assert lane_of(add) == lane_of(remove)


def test_sessions_subjects_and_themes_have_lanes_of_their_own() -> None:
    callers = [
        DESK,
        Caller(theme=DESK.theme, session=SessionId("s2")),
        Caller(theme=DESK.theme, session=SessionId("s1"), subject=ALICE),
        Caller(theme=Theme("sales"), session=SessionId("s1")),
    ]
    lanes = {lane_of(RecordTurns(stamp=stamp(caller), turns=(draft(),))) for caller in callers}
    delegation = RecordDelegation(stamp=stamp(), child_session=None, child_theme=None, task="t", result="r")

    assert len(lanes) == 4
    assert lane_of(delegation) == lane_of(RecordTurns(stamp=stamp(), turns=(draft(),)))
    assert lane_of(delegation) != lane_of(AddEntry(stamp=stamp(), target=Target.MEMORY, content="x", at=AT))


def test_every_error_is_one_of_the_librarys() -> None:
    assert issubclass(InvalidInput, HermesMemoryError)
    assert InvalidInput("message").field == ""
