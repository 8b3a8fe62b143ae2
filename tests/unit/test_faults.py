"""Errors that nobody foresaw: what a log is told of them, and what it is not."""

from __future__ import annotations

import ast
import logging
import traceback
from collections.abc import Iterator
from pathlib import Path

import pytest

import hermes_memory
from hermes_memory.application.faults import RepeatedFaults, tell_fault

logger = logging.getLogger(__name__)
SOURCE = Path(hermes_memory.__file__).parent
SECRET = "Ana's alarm code is 4711"


def met(error: BaseException) -> BaseException:
    try:
        raise error
    except BaseException as caught:  # noqa: BLE001 - returned with the trace that it now has
        return caught


def told_words(entry: logging.LogRecord) -> str:
    assert entry.exc_info
    return entry.getMessage() + str(vars(entry)) + "".join(traceback.format_exception(*entry.exc_info))


def test_a_fault_is_told_by_its_kind_and_its_place(caplog: pytest.LogCaptureFixture) -> None:
    tell_fault(logger, "it went on", met(KeyError(SECRET)), action="some.fault")

    (entry,) = caplog.records
    assert (entry.levelno, entry.getMessage()) == (logging.ERROR, "it went on")
    assert (vars(entry)["action"], vars(entry)["cause"]) == ("some.fault", "KeyError")
    assert "in met" in told_words(entry)
    assert SECRET not in told_words(entry)


def chained() -> BaseException:
    try:
        try:
            raise ValueError(SECRET)
        except ValueError as error:
            raise TypeError(SECRET) from error
    except TypeError as error:
        return error


def met_while_handling() -> BaseException:
    try:
        try:
            raise ValueError(SECRET)
        except ValueError:
            raise TypeError(SECRET)  # noqa: B904 - what is tried
    except TypeError as error:
        return error


def noted() -> BaseException:
    error = met(TypeError(SECRET))
    error.add_note(SECRET)
    error.__cause__ = ValueError(SECRET)
    return error


def several() -> BaseException:
    return met(BaseExceptionGroup(SECRET, [chained(), met(ValueError(SECRET))]))


@pytest.mark.parametrize("error", [chained(), met_while_handling(), noted(), several()])
def test_the_errors_behind_and_within_a_fault_are_told_as_well_and_no_word_of_them(
    error: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    tell_fault(logger, "it went on", error, action="some.fault")

    (entry,) = caplog.records
    assert {"ValueError", "TypeError"} <= set(told_words(entry).replace(":", " ").split())
    assert SECRET not in told_words(entry)


def test_a_fault_that_comes_again_at_the_same_place_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    faults = RepeatedFaults(logger)
    for _ in range(3):
        faults.tell("it went on", met(KeyError()), action="some.fault")
    faults.tell("it went on", met(ValueError()), action="some.fault")
    faults.tell("it went on", KeyError(), action="some.fault")

    told = [vars(entry)["cause"] for entry in caplog.records if entry.levelno == logging.ERROR]
    assert told == ["KeyError", "ValueError", "KeyError"]


def log_calls(tree: ast.AST) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and (
            (isinstance(node.func, ast.Attribute) and node.func.attr in {"exception", "print_exc", "format_exc"})
            or any(word.arg == "exc_info" for word in node.keywords)
        ):
            yield node


def test_nothing_else_gives_a_log_the_words_of_an_error() -> None:
    found = {
        path.relative_to(SOURCE).as_posix()
        for path in SOURCE.rglob("*.py")
        for _ in log_calls(ast.parse(path.read_text(encoding="utf-8")))
    }

    # The plugin stands outside the library: it tells why that cannot be imported, when nothing has been stored.
    assert found == {"application/faults.py", "hermes/plugin/__init__.py"}
