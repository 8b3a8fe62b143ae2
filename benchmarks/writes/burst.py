"""What a burst of exchanges loses: when the agent lives on, and when it is killed right after it."""

from __future__ import annotations

import functools

import asyncpg

from benchmarks.kit.figures import median, quantile
from benchmarks.writes.sides import Side
from benchmarks.writes.stage import TIDY_SECONDS, Record, Stage, watch

LATENCY_MS = 30
ARRIVAL_SECONDS = 45.0
STILL_SECONDS = 4.0
"""After this long without a new row, nothing more will come from a queue in memory."""


async def measure_burst(stage: Stage) -> Record:
    """Let both sides take bursts in turn."""
    runs: list[Record] = []
    for number in range(stage.plan.burst_rounds):
        for killed in (False, True):
            for side in stage.ordered(number):
                runs += await stage.attempt(
                    f"burst, {'killed' if killed else 'shut down'}, round {number + 1}, {side.name}",
                    functools.partial(_run, stage, side, killed=killed),
                    needs=3.0 + STILL_SECONDS,
                )
    kinds = [(side.name, killed) for side in stage.sides for killed in (False, True)]
    return {"runs": runs, "summary": [_summary(runs, *kind) for kind in kinds]}


async def _run(stage: Stage, side: Side, *, killed: bool) -> Record:
    """Take one burst, wait until no new rows come, and count."""
    turns, expected = stage.plan.burst, 2 * stage.plan.burst
    longest = stage.clock.within(30)
    async with stage.bench(side, latency_ms=LATENCY_MS) as (bench, connection):
        async with side.agent(bench) as agent:
            await agent.tell("open", sessions=1, seconds=10.0, timeout=stage.clock.left)
            order = "die_after" if killed else "say"
            said = await agent.tell(order, turns=turns, seconds=longest, timeout=longest + 20)
            if killed:
                await agent.ended(timeout=10)
            else:
                await _arrived(stage, side, connection, expected)
                await agent.tell("close", timeout=30)
        if killed:  # the next agent of the home
            async with side.agent(bench, first=turns) as agent:
                await agent.tell("open", sessions=1, seconds=10.0, timeout=stage.clock.left)
                await _arrived(stage, side, connection, expected)
        stored = await side.stored(connection)
    return {
        "side": side.name,
        "killed": killed,
        "said_rows": 2 * said["said"],
        "stored_rows": stored.rows,
        "lost_rows": 2 * said["said"] - stored.distinct,
        "doubled_rows": stored.rows - stored.distinct,
        "seconds": said["seconds"],
        "p50_ms": quantile(said["waits"], 0.5) * 1000,
        "p99_ms": quantile(said["waits"], 0.99) * 1000,
    }


async def _arrived(stage: Stage, side: Side, connection: asyncpg.Connection, expected: int) -> None:
    """Wait until all rows are stored, or, with the peer, no new ones come: ours keeps what it has not stored yet."""
    await watch(
        side,
        connection,
        until=lambda sample: sample.rows >= expected,
        seconds=min(ARRIVAL_SECONDS, stage.clock.left - 5 * TIDY_SECONDS),
        still=ARRIVAL_SECONDS if side.name == "ours" else STILL_SECONDS,
    )


def _summary(runs: list[Record], side: str, killed: bool) -> Record:
    chosen = [run for run in runs if run["side"] == side and run["killed"] == killed]
    keys = ("said_rows", "lost_rows", "doubled_rows", "p50_ms", "p99_ms")
    return {"side": side, "killed": killed, **{key: median([run[key] for run in chosen]) for key in keys}}
