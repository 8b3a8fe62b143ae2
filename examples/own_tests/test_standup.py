"""Unit tests of the agent: a whole memory in this process, without a server."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from line_metrics import LineMetrics
from standup import Standup

from hermes_memory import Memory
from hermes_memory.testing import open_in_process


@pytest_asyncio.fixture
async def memory() -> AsyncIterator[Memory]:
    """A memory that is empty and goes with the test."""
    async with open_in_process() as opened:
        yield opened


async def test_the_round_tells_who_is_blocked(memory: Memory) -> None:
    standup = Standup(memory.view("backend"))
    await standup.report("Ana", "blocked by the schema review")
    await standup.report("Ben", "the release notes are done")
    await standup.report("Cleo", "blocked: no access to the cluster")

    assert await standup.blocked() == ["Ana", "Cleo"]


async def test_who_is_unblocked_is_told_no_more(memory: Memory) -> None:
    standup = Standup(memory.view("backend"))
    await standup.report("Ana", "blocked by the schema review")

    assert await standup.unblock("Ana") == 1
    assert await standup.blocked() == []


async def test_teams_keep_their_rounds_apart(memory: Memory) -> None:
    await Standup(memory.view("frontend")).report("Dan", "blocked by the designers")

    assert await Standup(memory.view("backend")).blocked() == []


async def test_an_empty_report_is_an_error_of_the_callers_own(memory: Memory) -> None:
    with pytest.raises(ValueError, match="Ana has nothing to report"):
        await Standup(memory.view("backend")).report("Ana", "  ")


async def test_the_memorys_numbers_reach_an_adapter_of_the_projects_own() -> None:
    metrics = LineMetrics()
    async with open_in_process(metrics=metrics) as memory:
        await Standup(memory.view("backend")).report("Ana", "all well")

    assert any(line.startswith("accept") for line in metrics.lines())
