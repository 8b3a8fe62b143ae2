"""The lines of an archive: read back as they were written, and refused by name when they are none."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.tables import for_each

from hermes_memory import InvalidInput
from hermes_memory.domain.archive import ArchivedTurn
from hermes_memory.domain.archive_lines import line_of, record_of
from hermes_memory.domain.model import Subject, Theme
from hermes_memory.testing.archive_contract import CHANGE

AT = datetime(2024, 5, 3, 10, 0, 0, 1, tzinfo=UTC)
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1).filter(str.strip)


def turn(**changes: Any) -> ArchivedTurn:
    values: dict[str, Any] = {
        "theme": Theme("marketing"),
        "subject": None,
        "session": "s1",
        "position": 0,
        "id": UUID(int=1),
        "parent": None,
        "role": "user",
        "speaker": None,
        "content": "Ship it.",
        "occurrence": 0,
        "origin": "user",
        "embed": True,
        "metadata": {},
        "said_at": AT,
        "created_at": AT,
        "operation": UUID(int=2),
    }
    return ArchivedTurn(**{**values, **changes})


@given(
    content=TEXTS,
    session=TEXTS,
    subject=st.none() | st.binary(min_size=32, max_size=32),
    said_at=st.datetimes(datetime(2, 1, 2), datetime(9998, 12, 30), timezones=st.just(UTC)),
    vectors=st.lists(st.binary(min_size=4, max_size=4), max_size=2),
    follows=st.none() | st.binary(min_size=32, max_size=32),
    metadata=st.dictionaries(st.text(max_size=3), st.none() | st.booleans() | st.integers() | st.text(max_size=3)),
)
def test_a_record_is_read_back_from_its_line_whatever_it_holds(vectors: list[bytes], **changes: Any) -> None:
    if changes["subject"] is not None:
        changes["subject"] = Subject(changes["subject"])
    record = turn(vectors=tuple(vectors), **changes)
    line = line_of(record)
    try:
        back = record_of(json.loads(line))
    except InvalidInput:  # half a surrogate pair in metadata has no line
        raise AssertionError from None

    assert line.count(b"\n") == 1
    assert back == record
    assert line_of(back) == line


@for_each(
    ("field", "value"),
    [
        ("kind", "poem"),
        ("theme", "Marketing"),
        ("theme", "all"),
        ("theme", "sms:+4915550104711"),
        ("theme", "whatsapp-dm"),
        ("subject", "00"),
        ("id", "7"),
        ("role", "pirate"),
        ("origin", "nobody"),
        ("position", -1),
        ("position", True),
        ("occurrence", 1 << 31),
        ("embed", "yes"),
        ("metadata", []),
        ("content", " "),
        ("content", "a\0b"),
        ("content", "\ud800"),
        ("said_at", "2024-05-03T10:00:00"),
        ("said_at", "0001-01-01T00:00:00+00:00"),
        ("vectors", ["?"]),
        ("vectors", ["AA=="]),
        ("follows", "00"),
        ("colour", "red"),
    ],
)
def test_a_line_that_is_no_record_is_refused_by_the_name_of_its_field_and_never_quoted(field: str, value: Any) -> None:
    line = {**json.loads(line_of(turn())), field: value}

    with pytest.raises(InvalidInput) as refused:
        record_of(line)

    assert refused.value.field == (field if not (field == "theme" and value == "whatsapp-dm") else "subject")
    assert "4711" not in str(refused.value)


ERASURE = {"erasure": str(UUID(int=7)), "digest": "ab" * 32}
RECORD = {"change": "erased", "target": "", "reason": f"1 {'ab' * 32} {UUID(int=8)}"}
BARE: dict[str, Any] = dict.fromkeys(("before", "after", "tool", "session", "reason", "said_at", "metadata"))


@for_each(
    ("told", "field"),
    [
        ({"target": "note"}, "target"),
        ({"target": ""}, "target"),
        ({"target": "turn", "change": "removed"}, "after"),
        ({"origin": "nobody"}, "origin"),
        ({"erasure": ERASURE["erasure"]}, "erasure"),
        ({"digest": ERASURE["digest"]}, "erasure"),
        *(
            ({**BARE, **ERASURE, name: json.loads(line_of(CHANGE))[name]}, name)
            for name in ("after", "session", "metadata")
        ),
        ({**BARE, **ERASURE, "reason": "her code is zebra"}, "reason"),
        ({**BARE, **RECORD, "target": "memory"}, "target"),
        *(({**BARE, **RECORD, name: "her code is zebra"}, name) for name in ("before", "tool", "reason")),
        ({**BARE, **RECORD, "reason": f"1 {'ab' * 32} zebra"}, "reason"),
        ({**BARE, **RECORD, **ERASURE}, "reason"),
        ({**BARE, **RECORD, "reason": None}, "reason"),
    ],
)
def test_a_change_that_no_erasure_would_find_holds_nothing_that_somebody_said(told: dict[str, Any], field: str) -> None:
    line = json.loads(line_of(CHANGE))
    for left in (BARE | ERASURE, BARE | RECORD, {"target": "turn", "change": "removed", "after": None}):
        assert json.loads(line_of(record_of(line | left))) == line | left

    with pytest.raises(InvalidInput) as refused:
        record_of(line | told)

    assert refused.value.field == field
    assert "zebra" not in str(refused.value)


def test_a_field_that_is_missing_is_named() -> None:
    line = json.loads(line_of(turn()))
    del line["session"]

    with pytest.raises(InvalidInput, match="'session' is missing"):
        record_of(line)


def test_a_key_that_would_drive_a_terminal_is_named_without_what_drives_it() -> None:
    line = {**json.loads(line_of(turn())), "\x1b]0;owned\x07\x1b[2Jcolour\nline 2: all is well\ud800": 1}

    with pytest.raises(InvalidInput) as refused:
        record_of(line)

    assert str(refused.value).isprintable()
    assert str(refused.value.field).isprintable()
    assert "colour" in str(refused.value)
