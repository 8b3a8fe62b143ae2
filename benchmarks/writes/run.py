"""The run: make the place, measure one thing after another, sum up."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any, Final

from benchmarks.kit.agents import AgentDied
from benchmarks.kit.clock import Clock
from benchmarks.kit.ground import ground
from benchmarks.kit.machine import Load, describe
from benchmarks.kit.peer import PEER, PEER_PLACE, install_peer, installed
from benchmarks.kit.report import circumstances, table
from benchmarks.writes.accept import measure_accept
from benchmarks.writes.backlog import measure_backlog
from benchmarks.writes.burst import measure_burst
from benchmarks.writes.footprint import measure_footprint
from benchmarks.writes.plan import Plan
from benchmarks.writes.sides import Ours, Peer, Side
from benchmarks.writes.stage import Record, Stage
from benchmarks.writes.summary import lines
from benchmarks.writes.throughput import measure_throughput

CLEAN_UP_SECONDS: Final = 15.0

PARTS: Final[dict[str, Callable[[Stage], Awaitable[Record]]]] = {
    "accept": measure_accept,
    "throughput": measure_throughput,
    "burst": measure_burst,
    "backlog": measure_backlog,
    "footprint": measure_footprint,
}
SHARES: Final = {"accept": 0.14, "throughput": 0.3, "burst": 0.27, "backlog": 0.17, "footprint": 0.12}
"""How the parts share the time; what one leaves over is the others'."""


async def run(
    plan: Plan,
    *,
    admin_dsn: str | None = None,
    with_peer: bool = True,
    parts: tuple[str, ...] = tuple(PARTS),
    say: Callable[[str], None] = print,
) -> dict[str, Any]:
    """Measure and return all results.

    Args:
        admin_dsn: A superuser's connection URL; an embedded Postgres is run when there is none.
        with_peer: Install the peer and measure it too.
        parts: What to measure, of `PARTS`.
        say: Is told of each step.
    """
    clock, load = Clock(plan.limit - CLEAN_UP_SECONDS), Load.begin()
    async with _stage(plan, clock, admin_dsn, with_peer=with_peer, say=say) as (stage, facts):
        results: dict[str, Any] = {"taken_at": datetime.now(UTC).isoformat(timespec="seconds"), **facts}
        for number, name in enumerate(parts):
            say(f"{clock.spent:.0f} s: {name}")
            stage.clock = clock.part(SHARES[name] / sum(SHARES[later] for later in parts[number:]))
            try:
                async with asyncio.timeout(stage.clock.left):
                    results[name] = await PARTS[name](stage)
            except (TimeoutError, AgentDied) as error:
                stage.problems.append(f"{name}: {type(error).__name__} {error}".strip())
        results["problems"] = stage.problems
    results["load"] = load.report()
    return results


def page(results: dict[str, Any]) -> str:
    """Render what readers see."""
    said = [
        circumstances(results["machine"], results["load"]),
        f"The peer is `{PEER}`. Both sides write to one Postgres and one embedding endpoint of this machine, in turn.",
    ]
    problems = "\n".join(f"- {problem}" for problem in results["problems"])
    parts = [" ".join(said), table(lines(results), other="Peer")]
    return "\n\n".join([*parts, "Not measured:", problems] if problems else parts)


@asynccontextmanager
async def _stage(
    plan: Plan, clock: Clock, admin_dsn: str | None, *, with_peer: bool, say: Callable[[str], None]
) -> AsyncIterator[tuple[Stage, dict[str, Any]]]:
    async with ground(admin_dsn) as place:
        sides: list[Side] = [Ours(place.databases, place.embeddings, place.homes)]
        facts: dict[str, Any] = {"machine": await describe(place.databases.connection, place.homes)}
        if with_peer:
            say("installing the peer")
            python = await install_peer(PEER_PLACE)
            facts["peer"] = await installed(PEER_PLACE)
            sides.append(Peer(place.databases, place.embeddings, place.homes, python))
        for side in sides:
            await side.install()
        yield (
            Stage(plan=plan, clock=clock, databases=place.databases, place=place.homes, sides=sides, say=say),
            facts,
        )
