"""How long a full spool takes to be emptied, as after a night without the database."""

from __future__ import annotations

import functools

from benchmarks.writes.stage import Record, Stage, rate, watch

LATENCY_MS = 30
END_SECONDS = 5.0
"""Kept back from the time of this part, so that it can tell how far it came."""


async def measure_backlog(stage: Stage) -> Record:
    """Empty a spool once."""
    found = await stage.attempt("ours", functools.partial(_run, stage), needs=stage.plan.backlog_seconds / 3)
    return {"runs": found}


async def _run(stage: Stage) -> Record:
    """Fill a spool with writes of one row each, start an agent, and wait until all rows are stored."""
    side = next(side for side in stage.sides if side.name == "ours")
    finish = stage.clock.left - END_SECONDS
    async with stage.bench(side, latency_ms=LATENCY_MS) as (bench, connection):
        async with side.agent(bench) as filler:
            filled = await filler.tell(
                "fill", operations=stage.plan.backlog, turns=1, seconds=finish / 2, timeout=stage.clock.left
            )
        wanted = filled["filled"]
        async with side.agent(bench) as agent:
            await agent.tell("open", sessions=1, seconds=10.0, timeout=stage.clock.left)
            samples = await watch(
                side,
                connection,
                until=lambda sample: sample.rows >= wanted,
                seconds=min(stage.plan.backlog_seconds, stage.clock.left - END_SECONDS),
            )
    emptied = samples[-1].rows >= wanted
    return {
        "writes": wanted,
        "fill_seconds": filled["seconds"],
        "stored_rows": samples[-1].rows,
        "seconds": samples[-1].at - samples[0].at if emptied else None,
        "delivered_per_second": rate(samples, lambda sample: sample.rows),
        "embedded_meanwhile": samples[-1].embedded,
    }
