"""How measured calls are held to what the memory promises: a broken promise must not pass, a busy machine must."""

from __future__ import annotations

import pytest

from tests.support.hermes_host import ScenarioRun
from tests.support.hermes_host_promises import require_in_time, require_prompt_exit


def _ended_in(seconds: float) -> ScenarioRun:
    return ScenarioRun(facts={}, failures=(), error="", exit_code=0, exit_seconds=seconds, output="")


def test_calls_that_waited_for_a_busy_machine_keep_the_promise() -> None:
    require_in_time({"initialize": [1.9, 0.3, 0.049], "prefetch, first": [0.79, 4.0, 4.0], "shutdown": [9.0, 2.0, 3.0]})


@pytest.mark.parametrize(
    ("call", "taken"),
    [
        ("initialize", [0.06, 0.051, 0.2]),
        ("prefetch, second", [0.9, 0.81, 1.0]),
        ("tool, memory_profile", [1.3, 1.4, 1.5]),
        ("remember", [0.3, 0.3, 0.3]),
        ("shutdown, at once", [3.0, 3.0, 3.0]),
    ],
)
def test_calls_that_are_all_too_slow_break_it(call: str, taken: list[float]) -> None:
    with pytest.raises(AssertionError, match=call):
        require_in_time({"initialize": [0.001] * 3, call: taken})


def test_one_call_that_hangs_breaks_it_however_fast_the_others_are() -> None:
    with pytest.raises(AssertionError, match="prefetch"):
        require_in_time({"prefetch": [0.01, 8.0, 0.01]})


def test_too_few_calls_prove_nothing() -> None:
    with pytest.raises(AssertionError, match="initialize"):
        require_in_time({"initialize": [0.001]})


def test_one_of_three_processes_must_end_in_time() -> None:
    others = iter([_ended_in(2.5), _ended_in(1.5)])
    require_prompt_exit(_ended_in(3.0), again=lambda: next(others))

    with pytest.raises(AssertionError):
        require_prompt_exit(_ended_in(3.0), again=lambda: _ended_in(2.1))
    with pytest.raises(AssertionError):
        require_prompt_exit(_ended_in(31.0), again=lambda: _ended_in(0.1))
