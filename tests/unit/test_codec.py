"""Operations survive the trip into bytes and back exactly, and nothing else is taken for one."""

from __future__ import annotations

import copy
import json
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any, cast

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.support.tables import for_each

from hermes_memory.adapters.spool.codec import VERSION, UnknownVersion, UnreadableOperation, decode, encode
from hermes_memory.domain.errors import ConfigurationError, InvalidInput
from hermes_memory.domain.model import Caller, HomeId, Json, OperationId, Origin, Role, RowId, Target
from hermes_memory.domain.operations import (
    AddEntry,
    ByContent,
    ById,
    BySubstring,
    Operation,
    RecordDelegation,
    RecordTurns,
    RemoveEntry,
    ReplaceEntry,
    Stamp,
    TurnDraft,
)
from hermes_memory.testing.making import add

text = st.text(st.characters(), max_size=40)  # with NUL and lone surrogates: exactness is not the codec's to judge
content = text.filter(str.strip)
moments = st.datetimes(timezones=st.just(UTC)) | st.datetimes(
    timezones=st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
)
json_values: st.SearchStrategy[Json] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | text,
    lambda values: st.lists(values, max_size=3) | st.dictionaries(text, values, max_size=3),
    max_leaves=6,
)
metadata = st.dictionaries(text, json_values, max_size=3)
homes = st.none() | text.map(HomeId)
operation_ids = st.uuids().map(OperationId)
callers = st.builds(
    Caller,
    theme=content,
    subject=st.binary(min_size=32, max_size=32),
    session=text,
) | st.builds(Caller, theme=st.sampled_from(["marketing", "default"]), subject=st.none(), session=st.none())
stamps = st.builds(
    Stamp,
    operation=operation_ids,
    caller=callers,
    origin=st.sampled_from(Origin),
    accepted_at=moments,
    tool=st.none() | text,
    reason=st.none() | text,
)
selectors = (
    st.builds(ById, id=st.uuids().map(RowId), left_by=st.none() | st.uuids().map(OperationId))
    | st.builds(ByContent, target=st.sampled_from(Target), content=text, source=homes)
    | st.builds(BySubstring, target=st.sampled_from(Target), text=text.filter(bool), source=homes)
)
turns = st.builds(
    TurnDraft,
    role=st.sampled_from(Role),
    content=content,
    at=moments,
    origin=st.sampled_from(Origin),
    speaker=st.none() | text,
    occurrence=st.integers(min_value=0, max_value=(1 << 31) - 1),
    embed=st.booleans(),
    metadata=metadata,
)
additions = st.builds(
    AddEntry,
    stamp=stamps,
    target=st.sampled_from(Target),
    content=content,
    at=moments,
    source=homes,
    metadata=metadata,
)
replacements = st.builds(
    ReplaceEntry,
    stamp=stamps,
    selector=selectors,
    content=content,
    upsert=st.booleans(),
    source=homes,
    at=st.none() | moments,
)
removals = st.builds(RemoveEntry, stamp=stamps, selector=selectors)
records = st.builds(
    RecordTurns,
    stamp=stamps.filter(lambda stamp: stamp.caller.session is not None),
    turns=st.lists(turns, min_size=1, max_size=3).map(tuple),
    parent_session=st.none() | text,
)
delegations = st.builds(
    RecordDelegation,
    stamp=stamps,
    child_session=st.none() | text,
    child_theme=st.none() | text,
    task=text,
    result=text,
)
operations: st.SearchStrategy[Operation] = additions | replacements | removals | records | delegations


@given(operations)
@example(add("two halves \ud83d\ude00 apart, and \x00"))
def test_every_operation_comes_back_as_it_was(operation: Operation) -> None:
    assert decode(encode(operation)) == operation


@given(operations)
def test_the_bytes_of_an_operation_are_always_the_same(operation: Operation) -> None:
    assert encode(decode(encode(operation))) == encode(operation)


@given(operations)
def test_the_bytes_are_those_of_the_json_encoder(operation: Operation) -> None:
    text = encode(operation).decode("utf-8", "surrogatepass")

    assert json.dumps(json.loads(text), ensure_ascii=False, separators=(",", ":")) == text


_strange = st.sampled_from(
    [None, True, 1, -1, 2.5, float("nan"), b"bytes", ["list"], {"a": 1}, (), object(), "", "text", Role.USER, datetime]
)


@given(operations, st.data())
def test_what_is_of_a_wrong_type_is_refused_or_can_be_read_back(operation: Operation, data: st.DataObject) -> None:
    broken = copy.copy(operation)
    part: Any = data.draw(st.sampled_from([broken, *_parts_of(broken)]))
    object.__setattr__(part, data.draw(st.sampled_from([field.name for field in fields(part)])), data.draw(_strange))
    if not _stands(part):
        return
    try:
        body = encode(broken)
    except InvalidInput:
        return

    assert encode(decode(body)) == body


def _parts_of(operation: Any) -> list[object]:
    """Give an operation parts of its own, and return them."""
    own = [(name, copy.copy(getattr(operation, name))) for name in ("stamp", "selector") if hasattr(operation, name)]
    for name, part in own:
        object.__setattr__(operation, name, part)
    if isinstance(operation, RecordTurns):
        turns = tuple(copy.copy(turn) for turn in operation.turns)
        object.__setattr__(operation, "turns", turns)
        return [*(part for _, part in own), *turns]
    return [part for _, part in own]


def _stands(part: Any) -> bool:
    """Tell whether a part could be made with these values at all: its own checks come before any encoding."""
    try:
        replace(part)
    except (InvalidInput, AttributeError, TypeError):
        return False
    return True


@for_each(
    ("kind", "given_fields"),
    [
        (Stamp, {"operation", "caller", "origin", "accepted_at", "tool", "reason"}),
        (Caller, {"theme", "subject", "session"}),
        (ById, {"id", "left_by"}),
        (ByContent, {"target", "content", "source"}),
        (BySubstring, {"target", "text", "source"}),
        (AddEntry, {"stamp", "target", "content", "at", "source", "metadata"}),
        (ReplaceEntry, {"stamp", "selector", "content", "upsert", "source", "at"}),
        (RemoveEntry, {"stamp", "selector"}),
        (TurnDraft, {"role", "content", "at", "origin", "speaker", "occurrence", "embed", "metadata"}),
        (RecordTurns, {"stamp", "turns", "parent_session"}),
        (RecordDelegation, {"stamp", "child_session", "child_theme", "task", "result"}),
    ],
)
def test_the_round_trip_above_fills_every_field_there_is(kind: type[Any], given_fields: set[str]) -> None:
    # Who else is the same person is asked anew at each read: a write is of one subject.
    assert {field.name for field in fields(kind)} - {"also"} == given_fields


def test_a_moment_keeps_its_offset_and_microseconds() -> None:
    at = datetime(2026, 5, 3, 9, 0, 0, 123_456, tzinfo=timezone(timedelta(hours=5, minutes=45)))

    read = decode(encode(add("one", at=at)))

    assert isinstance(read, AddEntry)
    assert read.at.isoformat() == at.isoformat()


@given(st.binary(max_size=200))
@example(b"")
@example(b"null")
@example(b"[]")
@example(b"{}")
@example(b'"text"')
@example(b"\xff\xfe")
@example(b'{"v":1}')
@example(b'{"v":0,"type":"add"}')
@example(b'{"v":1,"type":"add"}')
@example(b'{"v":1,"type":["add"]}')
@example(b'{"v":"1","type":"__import__"}')
@example(b"[" * 100_000)
def test_other_bytes_are_no_operation(body: bytes) -> None:
    with pytest.raises(UnreadableOperation):
        decode(body)


@given(operations, st.data())
def test_a_body_with_a_part_missing_or_of_another_type_is_no_operation(
    operation: Operation, data: st.DataObject
) -> None:
    plain = json.loads(encode(operation).decode("utf-8", "surrogatepass"))
    key = data.draw(st.sampled_from(sorted(plain.keys() - {"v"})))
    since_added = isinstance(operation, ReplaceEntry) and key == "at"  # bodies of earlier releases lack it
    if not since_added and data.draw(st.booleans()):
        del plain[key]
    else:
        plain[key] = data.draw(st.sampled_from([[["x"]], 3.5]))
    body = json.dumps(plain).encode()

    with pytest.raises(UnreadableOperation):
        decode(body)


def test_a_newer_version_asks_for_an_upgrade() -> None:
    body = encode(add("one")).replace(b'"v":1', b'"v":2', 1)

    with pytest.raises(UnknownVersion, match="upgrade") as refused:
        decode(body)
    assert isinstance(refused.value, ConfigurationError)
    assert str(VERSION) in str(refused.value)


@for_each("value", [datetime.now(UTC), b"bytes", {1, 2}, object()])
def test_metadata_that_is_not_json_is_refused(value: object) -> None:
    with pytest.raises(InvalidInput) as refused:
        encode(add("one", metadata=cast("Any", {"key": value})))

    assert refused.value.field == "metadata"


def test_metadata_without_a_bottom_is_refused() -> None:
    endless: list[Any] = []
    endless.append(endless)

    with pytest.raises(InvalidInput):
        encode(add("one", metadata={"key": endless}))


def test_an_operation_that_the_domain_refuses_is_no_operation() -> None:
    body = encode(replace(add("one"), content="x")).replace(b'"content":"x"', b'"content":" "')

    with pytest.raises(UnreadableOperation):
        decode(body)
