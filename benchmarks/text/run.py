"""The run: for each size a corpus, questions to it before and after folding, and the plain form beside it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

import asyncpg
import numpy as np

from benchmarks.kit.databases import Databases
from benchmarks.kit.figures import shown
from benchmarks.kit.machine import Load, describe
from benchmarks.kit.report import circumstances
from benchmarks.kit.workplace import embedded_server, workplace
from benchmarks.text.corpus import SHARES, Theme, exact, themes
from benchmarks.text.load import finish, load
from benchmarks.text.measure import Asked, Blocks, Gin, measure, measure_readers
from hermes_memory.adapters.postgres.folding import PostgresTextIndex
from hermes_memory.adapters.postgres.migrator import migrate
from hermes_memory.adapters.postgres.pool import Pool
from hermes_memory.ports.text_index import Folding

APPENDED: Final = 0.02
"""Share of a large corpus that is not folded yet; of one up to `ALL_APPENDED` rows nothing is."""
ALL_APPENDED: Final = 100_000
READERS: Final = 4
FEWEST: Final = 20
"""Rows of a theme below which it is not asked."""
GIN_QUESTIONS: Final = 15
"""Of a theme to the plain form, which takes seconds for each at size."""
SECONDS: Final = 600.0

SIZES: Final = """
select sum(pg_table_size(c.oid))::bigint as table_bytes, sum(pg_indexes_size(c.oid))::bigint as index_bytes,
       (select count(*) from hermes_memory.term_blocks) as blocks
  from pg_class c join pg_inherits i on i.inhrelid = c.oid where i.inhparent = 'hermes_memory.term_blocks'::regclass"""
GIN_SIZE: Final = """
select sum(pg_relation_size(i.inhrelid))::bigint from pg_inherits i
 where i.inhparent = 'hermes_memory.conversations_words'::regclass"""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What is measured: corpora of so many rows, so many questions a theme, in so many partitions."""

    rows: tuple[int, ...] = (6_000, 100_000)
    questions: int = 100
    gin: bool = True
    partitions: int = 32


async def run(plan: Plan, *, admin_dsn: str | None, say: Callable[[str], None]) -> dict[str, Any]:
    """Measure and return all results.

    Args:
        admin_dsn: A superuser's connection URL; an embedded Postgres is run when there is none.
        say: Is told of each step.
    """
    with ExitStack() as stack:
        place = stack.enter_context(workplace())
        dsn = admin_dsn or stack.enter_context(embedded_server(place))
        async with Databases(dsn, lasting=admin_dsn is not None) as databases:
            machine = await describe(databases.connection, place)
            sizes = [await _measured(databases, rows, plan, say) for rows in plan.rows]
    return {
        "taken_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": machine,
        "sizes": sizes,
    }


async def _measured(databases: Databases, rows: int, plan: Plan, say: Callable[[str], None]) -> dict[str, Any]:
    say(f"{rows:,} rows: loading")
    busy = Load.begin()
    role, password = databases.role(f"reader{rows}")
    database = await databases.create()
    await migrate(databases.dsn(database), runtime_role=role, runtime_password=password, partitions=plan.partitions)
    dsn = databases.dsn(database, role)
    owner = await asyncpg.connect(databases.dsn(database), command_timeout=SECONDS)
    try:
        asked = await _load(owner, rows, plan.questions)
        results: dict[str, Any] = {"rows": rows, "appended": _appended(rows), "before": await _index_size(owner)}
        say(f"{rows:,} rows: asking, before folding")
        results["unfolded"] = await _ask_blocks(dsn, asked)
        say(f"{rows:,} rows: folding")
        results["folding"] = await _fold(dsn)
        await owner.execute("vacuum (analyze) hermes_memory.term_blocks")
        results["after"] = await _index_size(owner)
        say(f"{rows:,} rows: asking, after folding")
        results["folded"] = await _ask_blocks(dsn, asked)
        results["everywhere"] = await _ask_everywhere(dsn, asked[0])
        results["readers"] = await _ask_at_once(dsn, asked[0])
        if plan.gin:
            say(f"{rows:,} rows: asking the plain form")
            results["gin"] = await _ask_gin(owner, dsn, asked)
    except BaseException:
        owner.terminate()  # half-way through a COPY the server would wait for the rest of it
        raise
    await owner.close()
    return {**results, "load": busy.report()}


async def _index_size(owner: asyncpg.Connection) -> dict[str, int]:
    (found,) = await owner.fetch(SIZES)
    return dict(found)


def _appended(rows: int) -> float:
    return 1.0 if rows <= ALL_APPENDED else APPENDED


async def _load(owner: asyncpg.Connection, rows: int, questions: int) -> list[Asked]:
    """Load a corpus and make the questions of its measured themes."""
    asked: list[Asked] = []
    sessions = 0
    for number, theme in enumerate(themes(rows)):
        await load(owner, theme, appended=_appended(rows))
        sessions = theme.first_session + theme.rows
        if number < len(SHARES) and theme.rows >= FEWEST:
            asked.append(_asked(theme, questions))
    await finish(owner, sessions)
    return asked


def _asked(theme: Theme, questions: int) -> Asked:
    made = theme.questions(np.random.default_rng(7), min(questions, theme.rows))
    return Asked(theme=theme.name, questions=made, exact=exact(theme, theme.postings()))


async def _ask_blocks(dsn: str, asked: Sequence[Asked]) -> list[dict[str, Any]]:
    ask = Blocks(dsn)
    try:
        return [await measure(ask, each, await ask.process()) for each in asked]
    finally:
        await ask.close()


async def _ask_everywhere(dsn: str, asked: Asked) -> dict[str, Any]:
    ask = Blocks(dsn, everywhere=True)
    try:
        few = Asked(theme=asked.theme, questions=asked.questions[:30])
        return await measure(ask, few, await ask.process())
    finally:
        await ask.close()


async def _ask_at_once(dsn: str, asked: Asked) -> list[dict[str, Any]]:
    ask = Blocks(dsn, connections=READERS)
    try:
        return [await measure_readers(ask, asked, readers) for readers in (1, 2, READERS)]
    finally:
        await ask.close()


async def _fold(dsn: str) -> dict[str, Any]:
    """Fold until there is nothing to fold, without the pauses that the product makes."""
    pool = Pool(dsn, max_size=1, command_timeout=SECONDS)
    index, steps, gone, made, longest = PostgresTextIndex(pool, rest=0.0), 0, 0, 0, 0.0
    started = time.perf_counter()
    try:
        while True:
            before = time.perf_counter()
            step = await index.fold()
            longest = max(longest, time.perf_counter() - before)
            if step.state is Folding.IDLE:
                break
            steps, gone, made = steps + 1, gone + step.gone, made + step.made
    finally:
        await pool.close()
    seconds = time.perf_counter() - started
    return {"seconds": seconds, "steps": steps, "longest_ms": longest * 1_000, "gone": gone, "made": made}


async def _ask_gin(owner: asyncpg.Connection, dsn: str, asked: Sequence[Asked]) -> dict[str, Any]:
    started = time.perf_counter()
    await owner.execute("create index conversations_words on hermes_memory.conversations using gin (lex)")
    built = time.perf_counter() - started
    await owner.execute("vacuum (analyze) hermes_memory.conversations")
    results: dict[str, Any] = {"bytes": await owner.fetchval(GIN_SIZE), "build_seconds": built}
    before_wall = await asyncpg.connect(dsn, command_timeout=SECONDS)
    try:
        for name, connection in (("owner", owner), ("wall", before_wall)):
            few = [Asked(theme=a.theme, questions=a.questions[:GIN_QUESTIONS], exact=a.exact) for a in asked]
            process = connection.get_server_pid()
            results[name] = [await measure(Gin(connection), each, process) for each in few]
    finally:
        await before_wall.close()
    return results


def merged(results: dict[str, Any], earlier: dict[str, Any]) -> dict[str, Any]:
    """Keep of an earlier run the sizes that were not measured now."""
    measured = {size["rows"] for size in results["sizes"]}
    kept = [size for size in earlier["sizes"] if size["rows"] not in measured]
    return {**results, "sizes": sorted([*results["sizes"], *kept], key=lambda size: int(size["rows"]))}


def page(results: dict[str, Any]) -> str:
    """Render what readers see."""
    parts = []
    for size in results["sizes"]:
        taken = circumstances(results["machine"], size["load"])
        parts += [f"**{size['rows']:,} rows.** {taken}", _sizes(size), _table(size), _others(size)]
    return "\n\n".join(parts)


def _sizes(size: dict[str, Any]) -> str:
    folding, before, after = size["folding"], _megabytes(size["before"]), _megabytes(size["after"])
    appended = "All" if size["appended"] == 1.0 else f"{size['appended']:.0%} of the rows"
    gin = f" The index of the plain form takes {size['gin']['bytes'] / 1e6:,.0f} MB." if "gin" in size else ""
    return (
        f"{appended} appended in exchanges of two turns: {size['before']['blocks']:,} blocks, {before:,.0f} MB. "
        f"Folded in {folding['seconds']:.0f} s of {folding['steps']:,} steps, "
        f"the longest of {folding['longest_ms']:.0f} ms: "
        f"{size['after']['blocks']:,} blocks, {after:,.0f} MB with what is left of the old ones.{gin}"
    )


def _megabytes(sizes: dict[str, Any]) -> float:
    return float(sizes["table_bytes"] + sizes["index_bytes"]) / 1e6


def _table(size: dict[str, Any]) -> str:
    head = (
        "| Theme | Form | Wall p50 / p99, ms | Processor mean / p99, ms | Overlap@10 with exact BM25 |\n"
        "|---|---|---:|---:|---:|"
    )
    forms = [("blocks, as appended", size["unfolded"]), ("blocks, folded", size["folded"])]
    if "gin" in size:
        forms += [("GIN and ts_rank, no wall", size["gin"]["owner"]), ("GIN and ts_rank, wall", size["gin"]["wall"])]
    lines = [
        _line(theme["theme"].removeprefix("share"), name, found[at], size["rows"])
        for at, theme in enumerate(size["folded"])
        for name, found in forms
    ]
    everywhere = _line("all", "blocks, folded", size["everywhere"], None)
    return "\n".join([head, *lines, everywhere])


def _line(share: str, form: str, found: dict[str, Any], rows: int | None) -> str:
    theme = share if rows is None else f"{float(share):.2%}, {round(float(share) * rows):,} rows"
    wall, used = found["wall"], found["processor"]
    processor = f"{shown(used['mean'])} / {shown(used['p99'])}" if used else "–"
    close = "–" if found["overlap@10"] is None else f"{found['overlap@10']:.3f}"
    return f"| {theme} | {form} | {shown(wall['p50'])} / {shown(wall['p99'])} | {processor} | {close} |"


def _others(size: dict[str, Any]) -> str:
    told = [
        f"{each['readers']} reader{'s' if each['readers'] > 1 else ''} {each['per_second']:.0f} "
        f"(p50 {each['wall']['p50']:.0f}, p99 {each['wall']['p99']:.0f} ms)"
        for each in size["readers"]
    ]
    return f"Questions a second in the largest theme: {', '.join(told)}."
