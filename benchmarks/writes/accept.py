"""What the caller of `sync_turn` waits, against one bare fdatasync on the same disk at the same moment."""

from __future__ import annotations

import asyncio
import functools
from contextlib import AsyncExitStack
from typing import Final

from benchmarks.kit.agents import Agent
from benchmarks.kit.figures import median, quantile, ratio
from benchmarks.writes.sides import Bench, Side
from benchmarks.writes.stage import Record, Stage, milliseconds

INTERVAL: Final = 0.04
"""Seconds before each call: an agent speaks now and then, and what it said before is delivered meanwhile."""
LATENCY_MS: Final = 0
"""So that the peer keeps up, and does not drop what is not its to wait for."""
NOWHERE: Final = "postgresql://nobody@127.0.0.1:9/nothing"
"""A port where nothing listens."""


async def measure_accept(stage: Stage) -> Record:
    """Pace exchanges through every kind of agent in turn, round by round."""
    async with AsyncExitStack() as stack:
        agents: dict[str, Agent] = {}
        for side in stage.sides:
            for kind, agent in (await _kinds(stage, stack, side)).items():
                agents[kind] = await stack.enter_async_context(agent)
        await asyncio.gather(*(_warm_up(stage, agent) for agent in agents.values()))
        rounds: list[Record] = []
        for number in range(stage.plan.rounds + 1):
            rounds += await stage.attempt(
                f"round {number + 1}", functools.partial(_round, stage, agents, number), needs=3.0
            )
    summary = {kind: _summary(kind, rounds) for kind in agents} if rounds else {}
    return {"interval": INTERVAL, "rounds": rounds, "summary": summary}


async def _warm_up(stage: Stage, agent: Agent) -> None:
    await agent.tell("open", sessions=1, seconds=10.0, timeout=stage.clock.left)
    await agent.tell("pace", turns=5, interval=INTERVAL, timeout=stage.clock.left)


async def _kinds(stage: Stage, stack: AsyncExitStack, side: Side) -> dict[str, Agent]:
    bench, _ = await stack.enter_async_context(stage.bench(side, latency_ms=LATENCY_MS))
    if side.name != "ours":
        return {side.name: side.agent(bench)}
    other, _ = await stack.enter_async_context(stage.bench(side, latency_ms=LATENCY_MS))
    alone = {sync: _elsewhere(stage, sync) for sync in ("FULL", "NORMAL")}
    return {
        "ours FULL": side.agent(bench, probe=stage.place / "probe"),
        "ours NORMAL": side.agent(other, sync="NORMAL"),
        "ours FULL, nothing delivered": side.agent(alone["FULL"], probe=stage.place / "probe"),
        "ours NORMAL, nothing delivered": side.agent(alone["NORMAL"], sync="NORMAL"),
    }


def _elsewhere(stage: Stage, sync: str) -> Bench:
    home = stage.place / f"alone-{sync.lower()}"
    home.mkdir()
    return Bench(database="", dsn=NOWHERE, home=home, embed_url="http://127.0.0.1:9")


async def _round(stage: Stage, agents: dict[str, Agent], number: int) -> Record:
    order = list(agents) if number % 2 == 0 else list(agents)[::-1]
    record: Record = {}
    for kind in order:
        answer = await agents[kind].tell("pace", turns=stage.plan.paced, interval=INTERVAL, timeout=stage.clock.left)
        record[kind] = {"wait_ms": milliseconds(answer["waits"]), "bare_ms": milliseconds(answer["bare"])}
    return record


def _summary(kind: str, rounds: list[Record]) -> Record:
    """Sum up: quantiles over all calls, and the median over rounds of the ratio to the bare disk within the round."""
    waits = [value for one in rounds for value in one[kind]["wait_ms"]]
    bare = [value for one in rounds for value in one[kind]["bare_ms"]]
    ratios = [
        found
        for one in rounds
        if one[kind]["bare_ms"]
        and (found := ratio(quantile(one[kind]["wait_ms"], 0.5), quantile(one[kind]["bare_ms"], 0.5)))
    ]
    return {
        "calls": len(waits),
        "p50_ms": quantile(waits, 0.5),
        "p99_ms": quantile(waits, 0.99),
        "bare_p50_ms": quantile(bare, 0.5) if bare else None,
        "bare_p99_ms": quantile(bare, 0.99) if bare else None,
        "ratio_p50": median(ratios),
    }
