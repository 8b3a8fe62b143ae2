"""Asks the questions of a theme, each once, and tells what they took and how good the answers are."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any, Final

import anyio
import asyncpg

from benchmarks.kit.figures import quantile
from benchmarks.text.corpus import Exact, overlap, word
from hermes_memory.adapters.postgres.context import opening
from hermes_memory.adapters.postgres.pool import Pool
from hermes_memory.adapters.postgres.search import PostgresSearch
from hermes_memory.domain.model import AllScope, Caller, CurrentScope, Theme
from hermes_memory.ports.reading import SearchSpace

CANDIDATES: Final = 200
"""Rows that recall asks of the text leg."""
PATIENCE: Final = 120.0
WARM_UP: Final = 5

# The plain form: Postgres's own index of words, and its own ranking.
GIN: Final = """
select c.id, c.lex_key, c.content, ts_rank(c.lex, $2::text::tsquery) as score
  from hermes_memory.conversations c
 where c.agent_identity = $1 and c.subject = '' and c.lex @@ $2::text::tsquery
 order by score desc, c.lex_key desc limit $3"""

Ask = Callable[[str, list[int]], Awaitable[list[int]]]


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A theme's questions, with the exact scores of each when they are known."""

    theme: str
    questions: Sequence[list[int]]
    exact: Exact | None = None


class Blocks:
    """Asks the product's text leg, through its adapter and under the wall."""

    def __init__(self, dsn: str, *, everywhere: bool = False, connections: int = 1) -> None:
        """Ask within each theme, or over all of them."""
        self._pool = Pool(dsn, max_size=connections, command_timeout=PATIENCE)
        self._search = PostgresSearch(self._pool)
        self._space = SearchSpace(scope=AllScope() if everywhere else CurrentScope())

    async def __call__(self, theme: str, question: list[int]) -> list[int]:
        """Return the keys of what is found, best first."""
        found = await self._search.by_text(
            Caller(theme=Theme(theme)), self._space, list(map(word, question)), limit=CANDIDATES, timeout=PATIENCE
        )
        return [hit.row.id.int for hit in found.hits]

    async def process(self) -> int:
        """Return the number of the server's process that serves the only connection."""
        async with self._pool.transaction(None, timeout=PATIENCE) as transaction:
            return int(await transaction.fetch_value("select pg_backend_pid()"))

    async def close(self) -> None:
        """Let go of the connections."""
        await self._pool.close()


class Gin:
    """Asks the plain form in a transaction like the product's, as a role before the wall or one beyond it."""

    def __init__(self, connection: asyncpg.Connection) -> None:
        self._connection = connection

    async def __call__(self, theme: str, question: list[int]) -> list[int]:
        """Return the keys of what is found, best first."""
        await self._connection.execute(opening(Caller(theme=Theme(theme)), read_only=True, timeout=PATIENCE))
        query = " | ".join(f"'{word(each)}'" for each in question)
        found = await self._connection.fetch(GIN, theme, query, CANDIDATES)
        await self._connection.execute("commit")
        return [record["lex_key"] for record in found]


async def measure(ask: Ask, asked: Asked, process: int) -> dict[str, Any]:
    """Ask every question once, one after the other; figures in milliseconds.

    `processor` is what the server's process used of the processor, None where the system does not tell.
    """
    for question in asked.questions[:WARM_UP]:
        await ask(asked.theme, question)
    walls, used, shares = [], [], []
    for question in asked.questions:
        before, started = _processor(process), time.perf_counter()
        found = await ask(asked.theme, question)
        walls.append((time.perf_counter() - started) * 1_000)
        after = _processor(process)
        if before is not None and after is not None:
            used.append((after - before) * 1_000)
        if asked.exact is not None:
            shares.append(overlap(found, asked.exact.scores(question)))
    return {
        "theme": asked.theme,
        "questions": len(walls),
        "wall": _spread(walls),
        "processor": _spread(used) if used else None,
        "overlap@10": fmean(shares) if shares else None,
    }


async def measure_readers(ask: Ask, asked: Asked, readers: int) -> dict[str, Any]:
    """Let several readers ask all questions at once, each its own share."""
    walls: list[float] = []

    async def read(questions: Sequence[list[int]]) -> None:
        for question in questions:
            started = time.perf_counter()
            await ask(asked.theme, question)
            walls.append((time.perf_counter() - started) * 1_000)

    started = time.perf_counter()
    async with anyio.create_task_group() as tasks:
        for reader in range(readers):
            tasks.start_soon(read, asked.questions[reader::readers])
    rate = len(walls) / (time.perf_counter() - started)
    return {"theme": asked.theme, "readers": readers, "per_second": rate, "wall": _spread(walls)}


def _spread(values: Sequence[float]) -> dict[str, float]:
    return {"mean": fmean(values), "p50": quantile(values, 0.5), "p99": quantile(values, 0.99)}


def _processor(process: int) -> float | None:
    """Return the seconds that a process has used of the processor."""
    try:
        return int(Path(f"/proc/{process}/schedstat").read_text(encoding="ascii").split()[0]) / 1e9
    except OSError:
        return None
