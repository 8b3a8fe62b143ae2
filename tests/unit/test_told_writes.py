"""What the host tells of its own memory tool, read and handed to the mirror."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from tests.support.inprocess import utc_now
from tests.support.tables import for_each

from hermes_memory.adapters.inmemory.notebooks import InMemoryNotebooks
from hermes_memory.adapters.inmemory.spool import InMemorySpool
from hermes_memory.application.accept import Acceptor, CapturePolicy
from hermes_memory.application.mirror import Mirror
from hermes_memory.domain.errors import InvalidInput
from hermes_memory.domain.model import Target
from hermes_memory.domain.operations import (
    AddEntry,
    ByContent,
    BySubstring,
    Operation,
    RemoveEntry,
    ReplaceEntry,
)
from hermes_memory.hermes.told_writes import Action, ToldWrite
from hermes_memory.testing.making import DESK, HOME


def mirrored(action: str, target: str, content: object, **facts: Any) -> Operation | None:
    """Return what is accepted for a write that the host tells of."""
    spool = InMemorySpool()
    mirror = Mirror(Acceptor(spool, policy=CapturePolicy(), now=utc_now), InMemoryNotebooks(HOME))
    told = ToldWrite.from_host(action, target, content, facts)
    if told is None:
        return None
    told.accept(mirror, DESK)
    (kept,) = spool.due(2)
    assert kept.operation.stamp.caller == DESK
    return kept.operation


def test_an_addition() -> None:
    operation = mirrored("add", "User", "Prefers tea")

    assert isinstance(operation, AddEntry)
    assert (operation.content, operation.target, operation.source) == ("Prefers tea", Target.USER, HOME)


def test_a_replacement_of_an_entry_that_holds_a_text() -> None:
    operation = mirrored("replace", "memory", "Launch on 9 May", old_text="3 May")

    assert isinstance(operation, ReplaceEntry)
    assert operation.selector == BySubstring(target=Target.MEMORY, text="3 May", source=HOME)
    assert (operation.content, operation.upsert) == ("Launch on 9 May", True)


def test_a_replacement_of_an_entry_that_is_known_as_a_whole() -> None:
    operation = mirrored(
        "replace", "memory", "", new_text="Launch on 9 May", previous_content="Launch on 3 May", old_text="M"
    )

    assert isinstance(operation, ReplaceEntry)
    assert operation.selector == ByContent(target=Target.MEMORY, content="Launch on 3 May", source=HOME)
    assert operation.content == "Launch on 9 May"


@pytest.mark.parametrize("content", ["", None, "not looked at"])
def test_a_removal_needs_no_content(content: object) -> None:
    operation = mirrored("remove", "user", content, old_text="tea")

    assert isinstance(operation, RemoveEntry)
    assert operation.selector == BySubstring(target=Target.USER, text="tea", source=HOME)


def test_the_content_comes_before_what_is_said_beside_it() -> None:
    operation = mirrored("add", "memory", "The content", new_text="Something else")

    assert isinstance(operation, AddEntry)
    assert operation.content == "The content"


@for_each("action", ["add", "replace"])
@for_each("content", ["", "  ", None, 7, ["a", "b"]])
def test_a_write_without_text_is_nothing_to_mirror(action: str, content: object) -> None:
    assert mirrored(action, "memory", content, old_text="x") is None


@pytest.mark.parametrize("action", ["", "clear", "ADD", "reset"])
def test_an_unknown_action_is_told_and_nothing_is_mirrored(action: str, caplog: pytest.LogCaptureFixture) -> None:
    assert mirrored(action, "memory", "Secret words") is None
    assert [entry.levelno for entry in caplog.records] == [logging.WARNING]
    assert "Secret words" not in caplog.text


@pytest.mark.parametrize("target", ["", "notes", "MEMORY.md"])
def test_a_notebook_that_is_none_is_refused(target: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        mirrored("add", target, "Prefers tea")

    assert caught.value.field == "target"


@pytest.mark.parametrize("action", list(Action))
def test_every_action_of_a_host_is_mirrored(action: Action) -> None:
    assert mirrored(action.value, "memory", "Prefers tea", old_text="tea") is not None


@pytest.mark.parametrize("action", ["replace", "remove"])
def test_a_change_that_says_of_nothing_what_it_means_is_refused(action: str) -> None:
    with pytest.raises(InvalidInput):
        mirrored(action, "memory", "Prefers tea", old_text="", previous_content=None)
