"""Every name of a public ``__all__`` says what it is, what it takes and what it raises, and is in the reference."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.support.tables import for_each

import hermes_memory
from hermes_memory import SyncMemory, SyncView, testing
from hermes_memory.application.memory import Memory
from hermes_memory.application.view import View

CHECKOUT = Path(__file__).resolve().parents[2]
REFERENCE = CHECKOUT / "docs" / "reference"
PUBLIC = ("hermes_memory", "hermes_memory.testing")
_SECTION = re.compile(r"^(Args|Raises|Returns|Example|Attributes)\b[^\n]*:", re.MULTILINE)


def public_objects() -> Iterator[tuple[str, Any]]:
    for module in PUBLIC:
        for name in importlib.import_module(module).__all__:
            yield f"{module}.{name}", getattr(importlib.import_module(module), name)


def members(found: type) -> dict[str, object]:
    """Return what a class has of its own, and of those of ours that it is made of."""
    ours = [part for part in reversed(found.__mro__) if part.__module__.startswith("hermes_memory.")]
    return {name: value for part in ours for name, value in vars(part).items()}


def callables() -> Iterator[tuple[str, Callable[..., object]]]:
    """The public functions, and the public methods of public classes, each with the name it is found under."""
    for name, found in public_objects():
        if inspect.isfunction(found):
            yield name, found
        elif inspect.isclass(found) and found.__module__.startswith("hermes_memory."):
            for method, value in members(found).items():
                if inspect.isfunction(value) and not method.startswith("_"):
                    yield f"{name}.{method}", value


def properties() -> Iterator[tuple[str, property]]:
    for name, found in public_objects():
        if inspect.isclass(found) and found.__module__.startswith("hermes_memory."):
            for attribute, value in members(found).items():
                if isinstance(value, property) and not attribute.startswith("_"):
                    yield f"{name}.{attribute}", value


def named(given: object) -> str:
    """Return the name of what a case is about; an address in memory is another one in each process."""
    return given if isinstance(given, str) else type(given).__name__


@for_each(("name", "found"), [*callables(), *properties()], ids=named)
def test_a_public_call_says_what_it_does(name: str, found: object) -> None:
    told = inspect.getdoc(found) or ""

    assert told.partition("\n")[0].rstrip().endswith((".", ":")), f"{name} has no sentence of its own"


@for_each(("name", "found"), list(callables()), ids=named)
def test_what_a_public_call_raises_itself_is_said(name: str, found: Callable[..., object]) -> None:
    source = inspect.getsource(inspect.unwrap(found))
    told = inspect.getdoc(found) or ""
    raised = set(re.findall(r"^\s+raise (\w+)\(", source, re.MULTILINE)) & set(hermes_memory.__all__)

    assert not raised or "Raises:" in told, f"{name} raises {sorted(raised)}"
    assert not [error for error in raised if error not in told], f"{name} raises {sorted(raised)}"


@for_each(("name", "found"), list(callables()), ids=named)
def test_what_is_told_of_a_public_call_is_of_arguments_it_has(name: str, found: Callable[..., object]) -> None:
    parameters = set(inspect.signature(found).parameters)
    told = set(re.findall(r"^    (\w+): ", _part(found, "Args"), re.MULTILINE))

    assert told <= parameters, f"{name} tells of {sorted(told - parameters)}"


@for_each("call", [Memory, View, SyncMemory, SyncView], ids=lambda found: found.__name__)
def test_a_call_that_waits_for_the_database_says_how_it_fails(call: type) -> None:
    waiting = {
        name: value
        for name, value in members(call).items()
        if inspect.isfunction(value) and not name.startswith("_") and "timeout" in inspect.signature(value).parameters
    }

    assert waiting
    assert not [name for name, value in waiting.items() if "Raises:" not in (inspect.getdoc(value) or "")]


def test_the_errors_that_are_named_under_raises_exist() -> None:
    known = {*hermes_memory.__all__, "RuntimeError", "KeyError", "OSError", "ValueError", "TypeError"}
    named = {
        error
        for _, found in callables()
        for line in re.findall(r"^    ([A-Z][\w, ]+): ", _part(found, "Raises"), re.MULTILINE)
        for error in line.split(", ")
    }

    assert named
    assert named <= known


def test_every_public_name_for_tests_stands_in_the_reference() -> None:
    page = (REFERENCE / "testing.md").read_text(encoding="utf-8")
    shown = set(re.findall(r"^\.\. auto\w+:: hermes_memory\.testing\.(\w+)$", page, re.MULTILINE))

    assert shown == set(testing.__all__)


def test_every_suite_stands_in_the_reference_with_what_a_subclass_supplies() -> None:
    rows = re.findall(
        r"^\| `(\w+)\.(\w+)` \| .+ \| .+ \|$", (REFERENCE / "testing.md").read_text(encoding="utf-8"), re.MULTILINE
    )

    assert set(_suites()) - set(rows) == set()
    assert len(set(rows)) == len(rows)


def test_a_view_that_waits_has_every_call_of_one_that_does_not() -> None:
    for waiting, plain in ((SyncView, View), (SyncMemory, Memory)):
        assert _signatures(waiting) == _signatures(plain)


def _signatures(found: type) -> dict[str, str]:
    """Return the parameters of the public calls by name; what a call returns differs by `View` and `SyncView` alone."""
    return {
        name: ", ".join(f"{parameter}" for parameter in list(inspect.signature(value).parameters.values())[1:])
        for name, value in members(found).items()
        if inspect.isfunction(value) and not name.startswith("_")
    }


def _suites() -> Iterator[tuple[str, str]]:
    for module in pkgutil.iter_modules(testing.__path__):
        loaded = importlib.import_module(f"{testing.__name__}.{module.name}")
        for name, value in vars(loaded).items():
            if (
                inspect.isclass(value)
                and value.__module__ == loaded.__name__
                and name.endswith(("Contract", "Machine"))
            ):
                yield module.name, name


def _part(found: Callable[..., object], title: str) -> str:
    told = inspect.getdoc(found) or ""
    _, heading, rest = told.partition(f"{title}:\n")
    ends = [match.start() for match in _SECTION.finditer(rest)]
    return rest[: ends[0]] if heading and ends else rest
