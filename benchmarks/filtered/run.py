"""The run: load, index, ask; delete and write, and ask again."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from typing import Any, Final

from benchmarks.filtered.asking import Asked, everything
from benchmarks.filtered.measure import measure
from benchmarks.filtered.ours import Ours
from benchmarks.filtered.peer import Peer
from benchmarks.filtered.plan import Plan
from benchmarks.filtered.sides import Side
from benchmarks.filtered.summary import places, targets
from benchmarks.filtered.world import World, deleted
from benchmarks.kit.databases import Databases
from benchmarks.kit.machine import Load, describe
from benchmarks.kit.peer import PEER, PEER_PLACE, install_peer, installed
from benchmarks.kit.report import circumstances, table
from benchmarks.kit.workplace import embedded_server, workplace

WORKERS: Final = 2
Say = Callable[[str], None]


async def run(plan: Plan, *, admin_dsn: str | None = None, with_peer: bool = True, say: Say = print) -> dict[str, Any]:
    """Measure and return all results.

    Args:
        admin_dsn: A superuser's connection URL; an embedded Postgres is run when there is none.
        with_peer: Install the peer and measure it too.
        say: Is told of each step.
    """
    load = Load.begin()
    world = World(plan.rows)
    asked = everything(world, plan.questions)
    async with _sides(plan, admin_dsn, with_peer=with_peer, say=say) as (sides, facts):
        results: dict[str, Any] = {"taken_at": datetime.now(UTC).isoformat(timespec="seconds"), **facts}
        results["plan"] = {"rows": plan.rows, "partitions": plan.partitions, "questions": plan.questions}
        results["built"] = await _load(world, asked, sides, plan, say)
        results["before"] = await _ask(sides, asked, plan, say, after=False)
        say("deleting and writing")
        results["change_seconds"] = await _change(world, asked, sides, plan)
        results["after"] = await _ask(sides, asked, plan, say, after=True)
    results["load"] = load.report()
    return results


async def _load(
    world: World, asked: Sequence[Asked], sides: Sequence[Side], plan: Plan, say: Say
) -> dict[str, dict[str, float]]:
    say(f"loading {plan.rows:,} rows")
    for block in world.blocks():
        for one in asked:
            one.see(block, plan.changed)
        for side in sides:
            await side.take(block)
    built: dict[str, dict[str, float]] = {}
    for side in sides:
        say(f"indexing {side.name}")
        built[side.name] = {"seconds": round(await side.index(plan.build_memory, WORKERS), 1)}
    return built


async def _ask(
    sides: Sequence[Side], asked: Sequence[Asked], plan: Plan, say: Say, *, after: bool
) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for side in sides:
        truth = (lambda one: one.after) if after else (lambda one: one.before)
        found += await measure(side, asked, truth, passes=plan.passes, say=say)
    return found


async def _change(world: World, asked: Sequence[Asked], sides: Sequence[Side], plan: Plan) -> dict[str, float]:
    """Delete a share of the rows and write as many, through the finished index; return the seconds of each side."""
    taken = {side.name: 0.0 for side in sides}
    for block in world.blocks():
        gone = block.keys[deleted(block.keys, plan.changed)]
        for side in sides if len(gone) else ():
            started = time.perf_counter()
            await side.drop(block, gone)
            taken[side.name] += time.perf_counter() - started
    for block in world.more(plan.changed):
        for one in asked:
            one.see_more(block)
        for side in sides:
            started = time.perf_counter()
            await side.take(block)
            taken[side.name] += time.perf_counter() - started
    return {name: round(seconds, 1) for name, seconds in taken.items()}


@asynccontextmanager
async def _sides(
    plan: Plan, admin_dsn: str | None, *, with_peer: bool, say: Say
) -> AsyncIterator[tuple[Sequence[Side], dict[str, Any]]]:
    async with AsyncExitStack() as stack:
        place = stack.enter_context(workplace())
        dsn = admin_dsn or stack.enter_context(embedded_server(place, plan.server_settings))
        databases = await stack.enter_async_context(Databases(dsn, lasting=admin_dsn is not None))
        homes = place / "homes"
        homes.mkdir()
        facts: dict[str, Any] = {"machine": await describe(databases.connection, homes)}
        sides: list[Side] = [await stack.enter_async_context(Ours(databases, homes, partitions=plan.partitions))]
        if with_peer:
            say("installing the peer")
            python = await install_peer(PEER_PLACE)
            facts["peer"] = await installed(PEER_PLACE)
            sides.append(await stack.enter_async_context(Peer(databases, homes, python)))
        for side in sides:
            await side.install()
        yield sides, facts


def page(results: dict[str, Any]) -> str:
    """Render what readers see."""
    plan = results["plan"]
    said = (
        f"{circumstances(results['machine'], results['load'])} "
        f"{plan['rows']:,} rows in {plan['partitions']} partitions, {plan['questions']} near and as many far questions "
        f"to each place. The peer is `{PEER}`, on the same server."
    )
    parts = [said, table(targets(results), other="Peer"), places(results["before"])]
    return "\n\n".join([*parts, "After deletions and writes:", places(results["after"])])
