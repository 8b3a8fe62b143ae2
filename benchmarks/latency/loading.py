"""Fills both databases: ours by the library itself, the peer's tables as its own writer leaves them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from typing import Final, LiteralString

import asyncpg

from benchmarks.latency.texts import Text, Vectors, by_content
from hermes_memory import Settings, open_memory
from hermes_memory.application.memory import Memory

PATIENCE: Final = 3_600.0
BATCH: Final = 500
THEME: Final = "desk"
DIMENSION: Final = 512

PEER_TURNS: Final[LiteralString] = """
insert into conversations (session_id, agent_identity, role, content, embedding)
select t.session, $1, 'user', t.content, ($4::real[])[(t.n - 1) * 512 + 1 : t.n * 512]::vector
  from unnest($2::text[], $3::text[]) with ordinality as t(session, content, n)"""
PEER_ENTRIES: Final[LiteralString] = """
insert into memory_entries (agent_identity, target, content, embedding)
select $1, 'memory', t.content, ($3::real[])[(t.n - 1) * 512 + 1 : t.n * 512]::vector
  from unnest($2::text[]) with ordinality as t(content, n)"""


async def load_ours(settings: Settings, rows: Sequence[Text], vectors: Vectors) -> None:
    """Store rows by the public API, and give each its vector; `settings` name no embedder."""
    async with open_memory(settings) as memory:
        await memory.ready(timeout=PATIENCE)
        for part in _parts(rows):
            await asyncio.gather(*(_store(memory, row) for row in part))
            await memory.services.deliverer.drained(timeout=PATIENCE)
        known, queue = by_content(rows), memory.services.queue
        while jobs := await queue.claim(BATCH, lease=PATIENCE):
            await queue.complete({job: [vectors.of(known[job.text])] for job in jobs})


async def _store(memory: Memory, row: Text) -> None:
    view = memory.view(THEME, session=row.session)
    if row.session is None:
        await view.remember(row.content, timeout=PATIENCE)
    else:
        await view.capture_turn(row.content)


async def load_peer(connection: asyncpg.Connection, rows: Sequence[Text], vectors: Vectors) -> None:
    """Write rows into the peer's tables."""
    for part in _parts(rows):
        turns = [row for row in part if row.session is not None]
        entries = [row for row in part if row.session is None]
        await connection.execute(
            PEER_TURNS, THEME, [row.session for row in turns], [row.content for row in turns], _flat(turns, vectors)
        )
        await connection.execute(PEER_ENTRIES, THEME, [row.content for row in entries], _flat(entries, vectors))


def _flat(rows: Sequence[Text], vectors: Vectors) -> list[float]:
    return [value for row in rows for value in vectors.of(row)]


def _parts(rows: Sequence[Text]) -> Iterator[Sequence[Text]]:
    return (rows[start : start + BATCH] for start in range(0, len(rows), BATCH))
