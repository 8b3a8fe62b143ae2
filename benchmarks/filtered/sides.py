"""Ours and the peer's, as the benchmark sees them: rows get in, and questions are answered."""

from __future__ import annotations

import time
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Final, Protocol

import asyncpg

from benchmarks.filtered.asking import Asked
from benchmarks.filtered.world import Block, Keys

ANSWER_SECONDS: Final = 60.0
LOAD_SECONDS: Final = 3_600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What one question brought: keys, nearest first, and what it took; `cpu_ms` is that of the server's process."""

    keys: list[int]
    wall_ms: float
    cpu_ms: float | None


class Side(Protocol):
    """One of the two that are compared."""

    name: str

    async def install(self) -> None:
        """Make the database, without an index on the vectors."""
        ...

    async def take(self, block: Block) -> None:
        """Load rows."""
        ...

    async def index(self, memory: str, workers: int) -> float:
        """Index the vectors and look at the tables, as an operator does after a load; return the index's seconds."""
        ...

    async def drop(self, block: Block, keys: Keys) -> None:
        """Delete some rows of a block."""
        ...

    async def connect(self) -> None:
        """Make a new connection, and ask by it from now on."""
        ...

    async def ask(self, asked: Asked) -> list[Answer]:
        """Ask all questions, one after another."""
        ...


async def owner(dsn: str, stack: AsyncExitStack) -> asyncpg.Connection:
    """Connect for as long as the stack is open, to load and to index."""
    connection = await asyncpg.connect(dsn, timeout=ANSWER_SECONDS, command_timeout=LOAD_SECONDS)
    stack.push_async_callback(connection.close)
    return connection


async def build(connection: asyncpg.Connection, statement: str, *, memory: str, workers: int) -> float:
    """Make an index with room and hands enough, and statistics; return the seconds that the index took."""
    await connection.execute(f"set maintenance_work_mem = '{memory}'; set max_parallel_maintenance_workers = {workers}")
    started = time.perf_counter()
    await connection.execute(statement)
    taken = time.perf_counter() - started
    await connection.execute("vacuum (analyze)")
    return taken


def content(key: int) -> str:
    """Return what a row says, at the same length for all."""
    return f"Row {key:020d} of a made-up memory, in which nothing but the vectors bears on what is measured."
