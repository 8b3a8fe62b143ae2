"""How many connections and threads the agents of one process need."""

from __future__ import annotations

import asyncio
import functools

from benchmarks.kit.figures import quantile
from benchmarks.writes.sides import Side
from benchmarks.writes.stage import Record, Stage

SAMPLE_SECONDS = 0.1


async def measure_footprint(stage: Stage) -> Record:
    """Start many agents in a process, let each say something, and count."""
    runs: list[Record] = []
    for sessions in stage.plan.sessions:
        for side in stage.sides:
            runs += await stage.attempt(
                f"{sessions} sessions, {side.name}",
                functools.partial(_run, stage, side, sessions),
                needs=stage.plan.session_seconds,
            )
    return {"runs": runs}


async def _run(stage: Stage, side: Side, sessions: int) -> Record:
    seconds = stage.plan.session_seconds
    async with stage.bench(side) as (bench, _), side.agent(bench) as agent:
        counted: list[int] = []
        counting = asyncio.create_task(_count_connections(stage, side, counted))
        try:
            opened = await agent.tell("open", sessions=sessions, seconds=seconds, timeout=seconds + 20)
            # The peer may need seconds for each call of an agent that found no connection.
            said = await agent.tell("say", turns=opened["opened"], seconds=15.0, timeout=40)
            threads = await agent.tell("threads", timeout=10)
            await asyncio.sleep(1.0)
        finally:
            counting.cancel()
            await asyncio.wait([counting])
    return {
        "side": side.name,
        "sessions": sessions,
        "opened": opened["opened"],
        "open_seconds": opened["seconds"],
        "initialize_p50_ms": quantile(opened["initialize"], 0.5) * 1000,
        "initialize_p99_ms": quantile(opened["initialize"], 0.99) * 1000,
        "said": said["said"],
        "connections": max(counted, default=0),
        "threads": threads["native"] or threads["python"],
    }


async def _count_connections(stage: Stage, side: Side, counted: list[int]) -> None:
    while True:
        counted.append(await stage.databases.connections(side.role))
        await asyncio.sleep(SAMPLE_SECONDS)
