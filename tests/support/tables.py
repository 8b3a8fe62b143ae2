"""Runs one test over a table of cases, where thousands of tests of a line each cost more to keep apart than to run."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, TypeAlias

import pytest
from _pytest._io.saferepr import saferepr

_Test: TypeAlias = Callable[..., Any]
_Named: TypeAlias = Callable[[Any], object] | Iterable[str] | None

_PARAM: Final = type(pytest.param())
_SHOWN: Final = 400
"""Characters of a case that a failure shows."""


def for_each(names: str | Sequence[str], cases: Iterable[Any], *, ids: _Named = None) -> Callable[[_Test], _Test]:
    """Run a test with every case of a table, as `pytest.mark.parametrize` does, but as one test.

    All cases are tried, and each that fails is told with what came out. The test takes no fixture that it changes:
    all cases have the same.

    Args:
        names: The test's arguments that a case gives, as a list or with commas between them.
        cases: A value for each name; where there is one name, the value itself.
        ids: What to call the cases, in their order or by a value. Else a case is shown as it is.
    """
    arguments = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    table = list(_named(arguments, cases, ids))
    assert table, "a table without a case proves nothing"

    def decorate(test: _Test) -> _Test:
        taken = inspect.signature(test)

        @functools.wraps(test)
        def over_all(*given: Any, **fixtures: Any) -> None:
            told: list[str] = []
            for name, case in table:
                with _failures_told(told, name, case):
                    test(*given, **fixtures, **case)
            _require_none(told, len(table))

        @functools.wraps(test)
        async def awaited_over_all(*given: Any, **fixtures: Any) -> None:
            told: list[str] = []
            for name, case in table:
                with _failures_told(told, name, case):
                    await test(*given, **fixtures, **case)
            _require_none(told, len(table))

        made: Any = awaited_over_all if inspect.iscoroutinefunction(test) else over_all
        made.__signature__ = taken.replace(
            parameters=[each for name, each in taken.parameters.items() if name not in arguments]
        )
        return made  # type: ignore[no-any-return]

    return decorate


def _named(arguments: list[str], cases: Iterable[Any], ids: _Named) -> Iterator[tuple[str, Mapping[str, Any]]]:
    names = [] if ids is None or callable(ids) else list(ids)
    for position, case in enumerate(cases):
        name, values = "", (case,) if len(arguments) == 1 else case
        if isinstance(case, _PARAM):
            assert not case.marks, "a case of a table cannot be marked"
            name, values = str(case.id or ""), case.values
        if not name and ids is not None:
            name = "-".join(str(ids(value)) for value in values) if callable(ids) else names[position]
        yield name, dict(zip(arguments, values, strict=True))


@contextmanager
def _failures_told(told: list[str], name: str, case: Mapping[str, Any]) -> Iterator[None]:
    try:
        yield
    except (AssertionError, pytest.fail.Exception) as failure:
        told.append(f"{_shown(name, case)}\n{failure}")
    except Exception as error:
        error.add_note(f"with the case {_shown(name, case)}")
        raise


def _shown(name: str, case: Mapping[str, Any]) -> str:
    shown = saferepr(dict(case), maxsize=_SHOWN)
    return f"{name}: {shown}" if name else shown


def _require_none(told: list[str], cases: int) -> None:
    if told:
        raise AssertionError(f"{len(told)} of {cases} cases fail\n" + "\n".join(told))
