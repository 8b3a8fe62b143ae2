"""What all measurements of this benchmark stand on, and how they watch rows arrive."""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import asyncpg

from benchmarks.kit.agents import AgentDied
from benchmarks.kit.clock import Clock
from benchmarks.kit.databases import Databases
from benchmarks.writes.plan import Plan
from benchmarks.writes.sides import Bench, Side

POLL_SECONDS: Final = 0.1
TIDY_SECONDS: Final = 1.0
"""Kept back from a part's time, for the end of its last measurement."""
Record = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """What was stored at a moment."""

    at: float
    rows: int
    embedded: int


@dataclass(slots=True, kw_only=True)
class Stage:
    """The sides, the plan, and the time that is left.

    Attributes:
        clock: Of the part that is being measured.
        problems: What could not be measured, and why.
    """

    plan: Plan
    clock: Clock
    databases: Databases
    place: Path
    sides: list[Side]
    say: Callable[[str], None]
    problems: list[str] = field(default_factory=list)

    async def attempt(self, what: str, measure: Callable[[], Awaitable[Record]], *, needs: float) -> list[Record]:
        """Measure once, if `needs` seconds are left; return what was found, or nothing and note the problem."""
        if self.clock.left < needs:
            self.problems.append(f"{what}: no time")
            return []
        self.say(f"  {what}")
        try:
            async with asyncio.timeout(self.clock.left - TIDY_SECONDS):
                return [await measure()]
        except (TimeoutError, AgentDied) as error:
            self.problems.append(f"{what}: {type(error).__name__} {error}".strip())
            return []

    def ordered(self, number: int) -> list[Side]:
        """Return the sides, in turned order every other round, so that neither always goes first."""
        return self.sides if number % 2 == 0 else self.sides[::-1]

    @asynccontextmanager
    async def bench(self, side: Side, *, latency_ms: int = 30) -> AsyncIterator[tuple[Bench, asyncpg.Connection]]:
        """Make a database and a home, connect to look at it, and leave nobody in it at the end."""
        bench = await side.bench(latency_ms)
        connection = await asyncpg.connect(self.databases.dsn(bench.database), timeout=30, command_timeout=30)
        try:
            yield bench, connection
        finally:
            await connection.close()
            shutil.rmtree(bench.home)


async def watch(
    side: Side, connection: asyncpg.Connection, *, until: Callable[[Sample], bool], seconds: float, still: float = 1e9
) -> list[Sample]:
    """Look at what is stored until `until`, or for `seconds`, or until nothing new came for `still` seconds."""
    started = changed = time.monotonic()
    samples: list[Sample] = []
    while True:
        rows, embedded = await side.rows(connection)
        sample = Sample(at=time.monotonic(), rows=rows, embedded=embedded)
        if samples and (rows, embedded) != (samples[-1].rows, samples[-1].embedded):
            changed = sample.at
        samples.append(sample)
        if until(sample) or sample.at - started >= seconds or sample.at - changed >= still:
            return samples
        await asyncio.sleep(POLL_SECONDS)


def rate(samples: list[Sample], count: Callable[[Sample], int]) -> float | None:
    """Return counted things a second, from the last moment without any to the last moment with a new one."""
    last = count(samples[-1])
    begun = max((sample.at for sample in samples if count(sample) == 0), default=samples[0].at)
    ended = min(sample.at for sample in samples if count(sample) == last)
    return last / (ended - begun) if last and ended > begun else None


def milliseconds(seconds: list[float]) -> list[float]:
    """Return times in milliseconds, rounded to microseconds."""
    return [round(value * 1000, 3) for value in seconds]
