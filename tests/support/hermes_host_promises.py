"""What the memory promises its host about time, and how measured calls are held to it on a machine that may be busy.

The fastest of several calls shows what the work itself takes: it is held to the promise. The slower ones may have
waited for the machine: they are held to what not even a busy one explains.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from tests.support.hermes_host import ScenarioRun

ENOUGH: Final = 3
"""Calls of one kind from which on the fastest says something."""
TOOL_SECONDS: Final = 1.0
"""The time a tool is given here: less than by default, so that the tests wait for less."""
PROMISED_SECONDS: Final[Mapping[str, float]] = {
    "initialize": 0.05,
    "prefetch": 0.8,
    "remember": 0.25,
    "tool": TOOL_SECONDS + 0.25,
    "shutdown": 2.0,
}
"""By the kind of call. `remember` only writes to the spool; a tool may need a moment more than its time to say so."""
HANG_SECONDS: Final[Mapping[str, float]] = {
    "initialize": 2.0,
    "prefetch": 5.0,
    "remember": 5.0,
    "tool": 15.0,
    "shutdown": 15.0,
}
EXIT_SECONDS: Final = 2.0
EXIT_HANG_SECONDS: Final = 30.0
EXIT_TRIES: Final = 3


def require_in_time(seconds: Mapping[str, Sequence[float]]) -> None:
    """Hold calls to what is promised.

    Args:
        seconds: How long calls took, by a name that begins with their kind: `tool, recall_memory`. What differs in
            what it waits for has a name of its own, or the fastest would hide the others.
    """
    few = {call: len(taken) for call, taken in seconds.items() if len(taken) < ENOUGH}
    assert few == {}, few
    slow = {call: taken for call, taken in seconds.items() if min(taken) > PROMISED_SECONDS[_kind(call)]}
    assert slow == {}, slow
    hung = {call: taken for call, taken in seconds.items() if max(taken) > HANG_SECONDS[_kind(call)]}
    assert hung == {}, hung


def require_prompt_exit(run: ScenarioRun, again: Callable[[], ScenarioRun]) -> None:
    """Hold the end of a process to what is promised; `again` runs another one, in case the machine was busy."""
    taken = [run.exit_seconds]
    while min(taken) > EXIT_SECONDS and len(taken) < EXIT_TRIES:
        other = again()
        other.require_clean()
        taken.append(other.exit_seconds)
    assert min(taken) <= EXIT_SECONDS, taken
    assert max(taken) <= EXIT_HANG_SECONDS, taken


def _kind(call: str) -> str:
    return call.partition(",")[0]
