"""Arguments of wrong types and impossible values: refused with a sentence, and nothing is accepted under them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any, Final, cast

import pytest
from tests.support.tables import for_each

from hermes_memory.adapters.inmemory.spool import InMemorySpool
from hermes_memory.adapters.spool.codec import decode, encode
from hermes_memory.application.accept import Acceptor, CapturePolicy, Said
from hermes_memory.application.preparing import EARLIEST, LATEST
from hermes_memory.domain.errors import InvalidInput
from hermes_memory.domain.model import Caller, Origin, Role, Subject, Target, Theme
from hermes_memory.domain.operations import AddEntry
from hermes_memory.domain.themes import claim_theme
from hermes_memory.testing.making import DESK, add, record, said, stamp

ZONE: Final = timezone(timedelta(hours=14))


@pytest.fixture
def spool() -> InMemorySpool:
    return InMemorySpool()


@pytest.fixture
def acceptor(spool: InMemorySpool) -> Acceptor:
    return Acceptor(spool, policy=CapturePolicy(), now=lambda: datetime.now(UTC))


@pytest.mark.parametrize(
    "at",
    [
        datetime.min,
        datetime.max,
        datetime.min.replace(tzinfo=ZONE),
        datetime.max.replace(tzinfo=timezone(-timedelta(hours=12))),
        EARLIEST - timedelta(seconds=1),
        LATEST + timedelta(seconds=1),
        date(2026, 5, 3),
        "2026-05-03",
        0,
    ],
)
def test_a_time_that_cannot_be_shown_everywhere_is_refused(
    acceptor: Acceptor, spool: InMemorySpool, at: object
) -> None:
    with pytest.raises(InvalidInput, match="a time is"):
        acceptor.add(DESK, "The launch is on 3 May", target=Target.MEMORY, origin=Origin.USER, at=cast("datetime", at))
    with pytest.raises(InvalidInput, match="a time is"):
        acceptor.turns(DESK, [Said(role=Role.USER, content="Launch?", at=cast("datetime", at))], filtered=False)

    assert spool.status().accepted == 0


@pytest.mark.parametrize("at", [EARLIEST, LATEST, EARLIEST.replace(tzinfo=None), datetime(2026, 5, 3, tzinfo=ZONE)])
def test_the_earliest_and_the_latest_time_are_kept(acceptor: Acceptor, at: datetime) -> None:
    operation = acceptor.add(DESK, "The launch is on 3 May", target=Target.MEMORY, origin=Origin.USER, at=at)

    assert isinstance(operation, AddEntry)
    assert operation.at == (at if at.tzinfo else at.replace(tzinfo=UTC))
    assert operation.at.tzinfo is UTC


@for_each("occurrence", [-1, 1 << 31, 1.0, "1", True, None])
def test_an_occurrence_that_cannot_be_stored_is_refused_and_not_accepted(occurrence: object) -> None:
    with pytest.raises(InvalidInput, match="occurrence"):
        said("Yes", occurrence=cast("int", occurrence))


@for_each("subject", ["b" * 32, b"short", 7, ["b"] * 32])
def test_a_subject_is_bytes_of_the_right_length(subject: object) -> None:
    with pytest.raises(InvalidInput, match="a subject is 32 bytes"):
        Caller(theme=Theme("marketing"), subject=cast("Subject", subject))


@for_each("name", [None, 5, b"marketing", ["marketing"]])
def test_a_theme_is_text(name: object) -> None:
    with pytest.raises(InvalidInput, match="not text"):
        claim_theme(cast("str", name))


def test_the_name_of_a_tool_is_cleaned_like_any_text(acceptor: Acceptor) -> None:
    operation = acceptor.add(
        DESK, "A fact", target=Target.MEMORY, origin=Origin.USER, tool="fact\0maker \ud800" + "x" * 1_000
    )

    assert operation.stamp.tool is not None
    assert operation.stamp.tool.startswith("factmaker \ufffdxx")
    assert len(operation.stamp.tool) <= 200


@for_each(
    "change",
    [{"origin": "boss"}, {"tool": object()}, {"operation": "no uuid"}, {"accepted_at": "yesterday"}],
)
def test_an_operation_that_could_not_be_read_back_is_not_written(change: Mapping[str, Any]) -> None:
    fields: dict[str, Any] = {
        name: getattr(stamp(DESK), name) for name in ("operation", "caller", "origin", "accepted_at", "tool")
    }
    wrong = type(stamp(DESK))(**{**fields, **change})

    with pytest.raises(InvalidInput):
        encode(AddEntry(stamp=wrong, target=Target.MEMORY, content="A fact", at=datetime.now(UTC)))


def test_what_is_written_is_read_back() -> None:
    for operation in (add("A fact"), record(said("Yes"), said("Yes", occurrence=(1 << 31) - 1))):
        assert decode(encode(operation)) == operation
