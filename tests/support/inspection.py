"""Looks into a database from outside, as its administrator."""

from __future__ import annotations

from typing import Any, Final, LiteralString

import asyncpg

_SECONDS: Final = 60.0
_TABLES: Final[LiteralString] = """
select c.oid::regclass::text from pg_class c
  join pg_namespace n on n.oid = c.relnamespace
 where n.nspname = 'hermes_memory' and c.relkind = 'r' order by 1"""


async def rows(dsn: str, statement: str, *arguments: object) -> list[tuple[Any, ...]]:
    """Return the rows of a statement."""
    connection = await asyncpg.connect(dsn, timeout=_SECONDS, command_timeout=_SECONDS)
    try:
        return [tuple(record) for record in await connection.fetch(statement, *arguments)]
    finally:
        await connection.close()


async def value(dsn: str, statement: str, *arguments: object) -> Any:
    """Return the one value of a statement's one row."""
    ((found,),) = await rows(dsn, statement, *arguments)
    return found


async def dump(dsn: str) -> str:
    """Return all rows of all tables of the memory as text."""
    connection = await asyncpg.connect(dsn, timeout=_SECONDS, command_timeout=_SECONDS)
    try:
        tables = [record[0] for record in await connection.fetch(_TABLES)]
        found = [await connection.fetch(f"select t::text as line from {table} t") for table in tables]
        return "\n".join(record["line"] for records in found for record in records)
    finally:
        await connection.close()
