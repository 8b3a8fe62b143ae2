"""Puts a corpus into a database past the product, as its owner and by COPY: a million rows in minutes."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Final
from uuid import UUID

import asyncpg

from benchmarks.text.corpus import SESSION, Postings, Theme, word
from hermes_memory.adapters.postgres.lexicon import tsvector_text

A_BATCH: Final = 2
"""Rows that a writer appends at a time: what was asked and what was answered."""
BEGUN: Final = datetime(2024, 1, 1, tzinfo=UTC)
LINES: Final = 2_000
SCHEMA: Final = "hermes_memory"
ROWS: Final = (
    *("agent_identity", "id", "session_id", "position", "role", "content", "content_hash", "origin", "embed"),
    *("ts", "created_at", "operation", "row_hash", "lex", "lex_key", "lex_length"),
)
BLOCKS: Final = ("agent_identity", "shelf", "lexeme", "hi", "n", "packed")


async def load(connection: asyncpg.Connection, theme: Theme, *, appended: float) -> None:
    """Store a theme: its rows, and its index as folded but for the share that was appended last."""
    await connection.execute(
        "insert into hermes_memory.memory_agents (agent_identity, first_seen_at, last_seen_at) values ($1, $2, $2)",
        *(theme.name, BEGUN),
    )
    await _copy(connection, "conversations", ROWS, _rows(theme))
    await _copy(connection, "term_blocks", BLOCKS, _blocks(theme, round(theme.rows * (1 - appended))))


async def finish(connection: asyncpg.Connection, sessions: int) -> None:
    """Let the product number what it stores after this, and know the sizes of the tables."""
    await connection.execute("select setval('hermes_memory.lex_numbers', $1)", sessions)
    for table in ("conversations", "term_blocks", "memory_agents"):
        await connection.execute(f"vacuum (analyze) {SCHEMA}.{table}")


async def _copy(connection: asyncpg.Connection, table: str, columns: Iterable[str], lines: Iterator[str]) -> None:
    async def source() -> AsyncIterator[bytes]:
        while part := "".join(islice(lines, LINES)):
            yield part.encode()

    await connection.copy_to_table(table, source=source(), schema_name=SCHEMA, columns=list(columns))


def _rows(theme: Theme) -> Iterator[str]:
    for number, key in enumerate(theme.keys.tolist()):
        words = [word(each) for each in theme.document(number).tolist()]
        content = " ".join(words)
        at = (BEGUN + timedelta(seconds=number)).isoformat()
        # A turn may be said again in its session, where it would need a number of its own.
        digest = "\\\\x" + hashlib.sha256(f"{number} {content}".encode()).hexdigest()
        yield (
            "\t".join(
                (
                    *(theme.name, str(UUID(int=key)), f"session{number // SESSION}", str(number % SESSION)),
                    *("user" if number % 2 == 0 else "assistant", content, digest),
                    *("agent", "f", at, at, str(UUID(int=key)), digest),
                    *(tsvector_text(words), str(key), str(len(words))),
                )
            )
            + "\n"
        )


def _blocks(theme: Theme, folded: int) -> Iterator[str]:
    parts = [(0, folded)] if folded else []
    parts += [(at, min(at + A_BATCH, theme.rows)) for at in range(folded, theme.rows, A_BATCH)]
    for first, last in parts:
        postings = theme.postings(first, last)
        # A folded statistics block says that nothing waits to be folded, and that the place is in order.
        books = (_lengths(theme, first, last), *((0, folded) if first == 0 and folded else ()))
        yield _block(theme, "", 0.0, last - first, books)
        yield from _of_words(theme, postings)


def _of_words(theme: Theme, postings: Postings) -> Iterator[str]:
    for number, hi, packed in postings.blocks():
        yield _block(theme, word(number), hi, len(packed), packed)


def _block(theme: Theme, lexeme: str, hi: float, count: int, packed: Iterable[int]) -> str:
    return f"{theme.name}\tturn\t{lexeme}\t{hi!r}\t{count}\t{{{','.join(map(str, packed))}}}\n"


def _lengths(theme: Theme, first: int, last: int) -> int:
    return int(theme.offsets[last] - theme.offsets[first])
