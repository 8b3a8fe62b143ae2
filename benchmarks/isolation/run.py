"""The run: the same work before the wall and without it, with history and without, beside an erasing, and accepting."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any, Final

from benchmarks.isolation import storing
from benchmarks.isolation.accepting import accepting
from benchmarks.isolation.erasing import erasing
from benchmarks.kit.databases import Databases
from benchmarks.kit.figures import quantile, ratio
from benchmarks.kit.machine import Load, describe
from benchmarks.kit.report import Line, at_most, circumstances, table
from benchmarks.kit.workplace import embedded_server, workplace
from hermes_memory.adapters.postgres.migrator import migrate
from hermes_memory.adapters.postgres.pool import Pool
from hermes_memory.adapters.postgres.store import PostgresStore
from hermes_memory.adapters.stemming import snowball_stem
from hermes_memory.domain.lexemes import Analyzer
from hermes_memory.domain.model import Caller, SessionId, Subject, Theme

PERSON: Final = Caller(theme=Theme("support"), subject=Subject(b"p" * 32), session=SessionId("s1"))
OTHERS: Final = (
    Caller(theme=Theme("support"), subject=Subject(b"q" * 32)),
    Caller(theme=Theme("support")),
    Caller(theme=Theme("sales")),
)
TARGETS: Final = {"read": 1.5, "deliver": 1.2, "history": 1.6, "accept": 3.0, "erase": 60.0}


@dataclass(frozen=True, kw_only=True)
class Plan:
    """How much is done: entries of each caller, rounds of each side, and turns of the one who is erased."""

    rows: int = 2_000
    rounds: int = 15
    accepted: int = 2_000
    erased: int = 50_000
    partitions: int = 32


SMOKE: Final = Plan(rows=100, rounds=1, accepted=50, erased=100, partitions=4)


async def run(plan: Plan, *, admin_dsn: str | None, say: Callable[[str], None]) -> dict[str, Any]:
    """Measure and return all results.

    Args:
        admin_dsn: A superuser's connection URL; an embedded Postgres is run when there is none.
        say: Is told of each step.
    """
    busy = Load.begin()
    async with AsyncExitStack() as stack:
        place = stack.enter_context(workplace())
        dsn = admin_dsn or stack.enter_context(embedded_server(place))
        databases = await stack.enter_async_context(Databases(dsn, lasting=admin_dsn is not None))
        machine = await describe(databases.connection, place)
        walled, bare, dsn = await stack.enter_async_context(_stores(databases, plan.partitions))
        say("loading")
        rows = await storing.store(walled, storing.additions(PERSON, 0, plan.rows))
        for number, caller in enumerate(OTHERS, 1):
            await storing.store(walled, storing.additions(caller, number * plan.rows, plan.rows))
        await storing.embed(walled)
        say("asking and delivering")
        figures: defaultdict[str, list[float]] = defaultdict(list)
        first = (len(OTHERS) + 1) * plan.rows
        for _ in range(plan.rounds):
            for side, store in (("walled", walled), ("bare", bare)):
                for name, spent in (await storing.reading(store, PERSON, rows)).items():
                    figures[f"{name}, {side}"].append(spent)
                for history in ("", ", no history"):
                    with storing.without_history() if history else nullcontext():
                        figures[f"deliver, {side}{history}"].append(await storing.delivering(store, PERSON, first))
                    first += storing.BATCH
        say("erasing")
        erased = await erasing(dsn, walled, plan.erased, first)
    say("accepting")
    for _ in range(plan.rounds):
        for name, spent in accepting(PERSON, plan.accepted).items():
            figures[f"accept, {name}"].append(spent)
    return {
        "taken_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": machine,
        "plan": asdict(plan),
        "load": busy.report(),
        "figures": {name: quantile(values, 0.25) for name, values in figures.items()},
        "rounds": dict(figures),
        "erasing": erased,
    }


@asynccontextmanager
async def _stores(databases: Databases, partitions: int) -> AsyncIterator[tuple[PostgresStore, PostgresStore, str]]:
    """Give one store twice, as the runtime role before the wall and as a superuser, who sees none, and its address."""
    role, password = databases.role("walled")
    database = await databases.create()
    await migrate(
        databases.dsn(database),
        runtime_role=role,
        runtime_password=password,
        partitions=partitions,
        generation=("made up", storing.DIMENSION),
    )
    analyze = Analyzer(stem=snowball_stem()).analyze
    pools = [Pool(databases.dsn(database, role)), Pool(databases.dsn(database))]
    try:
        walled, bare = (PostgresStore(pool, analyze=analyze) for pool in pools)
        yield walled, bare, databases.dsn(database)
    finally:
        for pool in pools:
            await pool.close()


def page(results: dict[str, Any]) -> str:
    """Return what readers see."""
    figures = results["figures"]
    lines = [
        _line(f"{name}, ms", figures, f"{name}, walled", f"{name}, bare", TARGETS["read"])
        for name in ("text", "text, by person", "vector", "vector, by person", "by id", "list")
    ]
    lines += [
        _line("100 writes delivered, ms", figures, "deliver, walled", "deliver, bare", TARGETS["deliver"]),
        _line(
            "the same with history, and without, ms",
            figures,
            "deliver, walled",
            "deliver, walled, no history",
            TARGETS["history"],
        ),
        _line("a turn stamped, and only kept, us", figures, "accept, stamped", "accept, kept", None),
        _line("redacted, and only stamped, us", figures, "accept, redacted", "accept, stamped", TARGETS["accept"]),
    ]
    lines += _erasing(results["erasing"], results["plan"]["erased"])
    note = (
        "Each side is asked in turn, round by round; a figure is what a quarter of its rounds kept, "
        "so that other work on the machine counts for little."
    )
    return f"{table(lines, other='Without')}\n\n{circumstances(results['machine'], results['load'])} {note}"


def _erasing(results: dict[str, Any], turns: int) -> list[Line]:
    seconds, target = results["seconds"], TARGETS["erase"]
    what = f"{turns:,} turns of a person erased, s"
    lines = [Line(what=what, ours=seconds, target=f"at most {target:.0f}", met=at_most(seconds, target))]
    for name in ("read", "write"):
        for share in (0.5, 0.99):
            waited = (results[when][name] for when in ("during", "before"))
            during, before = (quantile(each, share) if each else None for each in waited)
            what = f"a {name} in another theme meanwhile, and before, p{share * 100:.0f}, ms"
            lines.append(Line(what=what, ours=during, other=before, ratio=ratio(during, before)))
    return lines


def _line(what: str, figures: dict[str, float], ours: str, other: str, target: float | None) -> Line:
    cost = ratio(figures[ours], figures[other])
    return Line(
        what=what,
        ours=figures[ours],
        other=figures[other],
        ratio=cost,
        target=f"at most {target}" if target else "",
        met=at_most(cost, target) if target else None,
    )
