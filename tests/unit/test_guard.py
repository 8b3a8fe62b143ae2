"""Never raise into the host: whatever a hook raises becomes a log line and the answer of one that cannot."""

from __future__ import annotations

import asyncio
import logging

import pytest
from tests.host.scenarios.runner import SwallowedFailures

from hermes_memory.domain.errors import (
    ConfigurationError,
    DeadlineExceeded,
    HermesMemoryError,
    InvalidInput,
    SpoolFull,
    StoreUnavailable,
)
from hermes_memory.hermes.guard import FALLS_BACK, never_raises, no_facts, no_paths, nothing


class Hooks:
    """Hooks that raise what they are told to."""

    def __init__(self, error: BaseException | None) -> None:
        self.error = error

    @never_raises(lambda: "fallback")
    def asks(self, given: str, *, more: str = "") -> str:
        """Answer a question."""
        if self.error:
            raise self.error
        return given + more

    @never_raises(nothing, accepts=True)
    def writes(self) -> None:
        if self.error:
            raise self.error


def test_a_hook_that_works_answers_as_it_is_and_keeps_its_name(caplog: pytest.LogCaptureFixture) -> None:
    hooks = Hooks(None)

    assert hooks.asks("a", more="b") == "ab"
    assert (Hooks.asks.__name__, Hooks.asks.__doc__) == ("asks", "Answer a question.")
    assert not caplog.records


@pytest.mark.parametrize(
    ("error", "asked", "written"),
    [
        (StoreUnavailable("away"), logging.INFO, logging.WARNING),
        (DeadlineExceeded("late"), logging.INFO, logging.WARNING),
        (SpoolFull("full"), logging.WARNING, logging.WARNING),
        (InvalidInput("empty"), logging.WARNING, logging.WARNING),
        (ConfigurationError("wrong"), logging.WARNING, logging.WARNING),
    ],
    ids=lambda value: type(value).__name__,
)
def test_an_error_of_ours_is_told_in_its_words_as_loud_as_it_matters(
    error: HermesMemoryError, asked: int, written: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    hooks = Hooks(error)
    answer = hooks.asks("a")
    hooks.writes()

    assert answer == "fallback"
    assert [(entry.levelno, vars(entry)["reason"]) for entry in caplog.records] == [
        (asked, str(error)),
        (written, str(error)),
    ]
    assert [vars(entry)["action"] for entry in caplog.records] == ["hook.asks", "hook.writes"]
    assert {entry.getMessage() for entry in caplog.records} == {FALLS_BACK}
    assert {vars(entry)["cause"] for entry in caplog.records} == {type(error).__name__}


def test_an_unexpected_error_is_told_with_its_trace(caplog: pytest.LogCaptureFixture) -> None:
    answer = Hooks(ZeroDivisionError()).asks("a")

    assert answer == "fallback"
    (entry,) = caplog.records
    assert entry.exc_info
    assert (entry.levelno, vars(entry)["action"]) == (logging.ERROR, "hook.asks")


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(), asyncio.CancelledError()])
def test_an_order_to_end_passes(error: BaseException) -> None:
    with pytest.raises(type(error)):
        Hooks(error).asks("a")


def test_each_fallback_is_new_so_that_nobody_fills_that_of_another() -> None:
    facts, paths = no_facts(), no_paths()
    facts["a"] = 1
    paths.append("a")

    assert (no_facts(), no_paths()) == ({}, [])


def test_the_host_tests_see_what_is_swallowed_unless_it_is_meant(caplog: pytest.LogCaptureFixture) -> None:
    Hooks(SpoolFull("no room")).writes()
    Hooks(StoreUnavailable("away")).asks("a")
    lines = {}
    for hooks in (True, False):
        seen = SwallowedFailures(hooks=hooks)
        for record in caplog.records:
            seen.emit(record)
        lines[hooks] = seen.lines

    assert lines == {True: [f"hermes_memory.hermes.guard WARNING: {FALLS_BACK} hook.writes no room"], False: []}
