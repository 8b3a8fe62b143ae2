"""How many rows a second arrive, and get their vectors, while a backlog waits."""

from __future__ import annotations

import functools

from benchmarks.kit.figures import median, ratio
from benchmarks.writes.sides import Side
from benchmarks.writes.stage import TIDY_SECONDS, Record, Stage, rate, watch

PEER_QUEUE = 120
"""Exchanges that the peer's queue of 256 rows holds without losing any."""


async def measure_throughput(stage: Stage) -> Record:
    """Let both sides deliver in turn, at each latency of the endpoint."""
    runs: list[Record] = []
    for number in range(stage.plan.rounds):
        for latency in stage.plan.latencies:
            for side in stage.ordered(number):
                runs += await stage.attempt(
                    f"delivery at {latency} ms, round {number + 1}, {side.name}",
                    functools.partial(_run, stage, side, latency),
                    needs=stage.plan.window,
                )
    return {"runs": runs, "summary": [_summary(runs, latency) for latency in stage.plan.latencies]}


async def _run(stage: Stage, side: Side, latency_ms: int) -> Record:
    exchanges = stage.plan.waiting if side.name == "ours" else PEER_QUEUE
    seconds = stage.plan.window if side.name == "ours" else stage.plan.window * 2 / 3
    async with stage.bench(side, latency_ms=latency_ms) as (bench, connection):
        if side.name == "ours":
            async with side.agent(bench) as filler:
                filled = await filler.tell(
                    "fill", operations=exchanges, turns=2, seconds=30.0, timeout=stage.clock.left
                )
            exchanges = filled["filled"]
        async with side.agent(bench) as agent:
            await agent.tell("open", sessions=1, seconds=10.0, timeout=stage.clock.left)
            if side.name != "ours":
                await agent.tell("say", turns=exchanges, seconds=10.0, timeout=stage.clock.left)
            samples = await watch(
                side,
                connection,
                until=lambda sample: sample.embedded >= 2 * exchanges,
                seconds=min(seconds, stage.clock.left - 2 * TIDY_SECONDS),
            )
    return {
        "side": side.name,
        "latency_ms": latency_ms,
        "offered_rows": 2 * exchanges,
        "stored_rows": samples[-1].rows,
        "embedded_rows": samples[-1].embedded,
        "delivered_per_second": rate(samples, lambda sample: sample.rows),
        "embedded_per_second": rate(samples, lambda sample: sample.embedded),
        "samples": [(round(one.at - samples[0].at, 2), one.rows, one.embedded) for one in samples],
    }


def _summary(runs: list[Record], latency_ms: int) -> Record:
    found: Record = {"latency_ms": latency_ms}
    for what in ("delivered", "embedded"):
        for side in ("ours", "peer"):
            key = f"{what}_per_second"
            found[f"{side}_{what}"] = median(
                [run[key] for run in runs if run["latency_ms"] == latency_ms and run["side"] == side and run[key]]
            )
        found[f"{what}_ratio"] = ratio(found[f"ours_{what}"], found[f"peer_{what}"])
    return found
