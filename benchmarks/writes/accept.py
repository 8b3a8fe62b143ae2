"""What the caller of `sync_turn` waits, against one bare fdatasync on the same disk at the same moment."""

from __future__ import annotations

import asyncio
import functools
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Final

from benchmarks.kit.agents import Agent
from benchmarks.kit.figures import median, quantile, ratio
from benchmarks.writes.sides import Bench, Side
from benchmarks.writes.stage import Record, Stage, milliseconds

IN_A_ROW: Final = "in a row"
NOW_AND_THEN: Final = "now and then"
INTERVALS: Final = {IN_A_ROW: 0.0, NOW_AND_THEN: 0.04}
"""Seconds before each call. In a row shows what accepting costs: nothing else runs, the database is away. An agent
speaks now and then: what it said before is delivered meanwhile, and the processor's caches hold something else."""
LATENCY_MS: Final = 0
"""So that the peer keeps up, and does not drop what is not its to wait for."""
NOWHERE: Final = "postgresql://nobody@127.0.0.1:9/nothing"
"""A port where nothing listens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """An agent and how it is asked to speak."""

    kind: str
    pace: str
    agent: Agent

    @property
    def name(self) -> str:
        """What the case is called in the results."""
        return f"{self.kind}, {self.pace}"


async def measure_accept(stage: Stage) -> Record:
    """Let every kind of agent speak in turn, round by round."""
    async with AsyncExitStack() as stack:
        cases = [case for side in stage.sides for case in await _cases(stage, stack, side)]
        agents = {id(case.agent): await stack.enter_async_context(case.agent) for case in cases}
        await asyncio.gather(*(_warm_up(stage, agent) for agent in agents.values()))
        rounds: list[Record] = []
        for number in range(stage.plan.rounds + 1):
            rounds += await stage.attempt(
                f"round {number + 1}", functools.partial(_round, stage, cases, number), needs=3.0
            )
    summary = {case.name: _summary(case.name, rounds) for case in cases} if rounds else {}
    return {"intervals": INTERVALS, "rounds": rounds, "summary": summary}


async def _warm_up(stage: Stage, agent: Agent) -> None:
    await agent.tell("open", sessions=1, seconds=10.0, timeout=stage.clock.left)
    await agent.tell("pace", turns=5, interval=INTERVALS[NOW_AND_THEN], timeout=stage.clock.left)


async def _cases(stage: Stage, stack: AsyncExitStack, side: Side) -> list[Case]:
    """Return the cases of a side. Ours begin with the calls in a row, before a database is asked for anything."""
    if side.name != "ours":
        spare, _ = await stack.enter_async_context(stage.bench(side, latency_ms=LATENCY_MS))
        agent = side.agent(spare)
        return [Case(kind=side.name, pace=pace, agent=agent) for pace in INTERVALS]
    cases = []
    for sync in ("FULL", "NORMAL"):
        bench, _ = await stack.enter_async_context(stage.bench(side, latency_ms=LATENCY_MS))
        probe = stage.place / "probe" if sync == "FULL" else None
        for pace, where in ((IN_A_ROW, _elsewhere(stage, sync)), (NOW_AND_THEN, bench)):
            cases.append(Case(kind=f"ours {sync}", pace=pace, agent=side.agent(where, sync=sync, probe=probe)))
    return cases


def _elsewhere(stage: Stage, sync: str) -> Bench:
    home = stage.place / f"alone-{sync.lower()}"
    home.mkdir()
    return Bench(database="", dsn=NOWHERE, home=home, embed_url="http://127.0.0.1:9")


async def _round(stage: Stage, cases: list[Case], number: int) -> Record:
    record: Record = {}
    for case in cases if number % 2 == 0 else cases[::-1]:
        answer = await case.agent.tell(
            "pace", turns=stage.plan.paced, interval=INTERVALS[case.pace], timeout=stage.clock.left
        )
        record[case.name] = {"wait_ms": milliseconds(answer["waits"]), "bare_ms": milliseconds(answer["bare"])}
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
