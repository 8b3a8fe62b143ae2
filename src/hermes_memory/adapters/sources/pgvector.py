"""Reads the database of hermes-memory-pgvector, live and in one snapshot.

Its tables grew: delegations, agents and the sessions that started others came with its release 0.4. What a database
does not have is not asked for.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, LiteralString

import asyncpg

from hermes_memory.adapters.postgres.errors import translated
from hermes_memory.adapters.postgres.lone_connection import lone_connection
from hermes_memory.adapters.sources.addresses import connection_arguments
from hermes_memory.adapters.sources.files import key_of
from hermes_memory.domain.errors import ConfigurationError, InvalidInput, StoreUnavailable
from hermes_memory.domain.foreign import (
    Foreign,
    ForeignAgent,
    ForeignDelegation,
    ForeignEntry,
    ForeignTurn,
    Unreadable,
    Whose,
)
from hermes_memory.domain.model import SINKS, Role, Target

if TYPE_CHECKING:
    from hermes_memory.adapters.postgres.rows import Record

NAME: Final = "hermes-memory-pgvector"
STATEMENT_SECONDS: Final = 600.0
ROWS_AHEAD: Final = 250

COLUMNS: Final[LiteralString] = """
select c.relname as relation, array_agg(a.attname::text) as names
  from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
 where c.oid = any (array[to_regclass('memory_entries'), to_regclass('conversations'), to_regclass('memory_agents'),
                          to_regclass('memory_agent_edges')])
 group by c.relname"""

COUNT_ENTRIES: Final[LiteralString] = "select count(*) from memory_entries"
COUNT_TURNS: Final[LiteralString] = "select count(*) from conversations"
COUNT_EDGES: Final[LiteralString] = "select count(*) from memory_agent_edges"

# {vector} and {parent} are one of two fixed texts each: what an older database lacks is null.
ENTRIES: Final = """
select id, agent_identity, target, content, created_at, updated_at, metadata::text as metadata, {vector} as vector
  from memory_entries order by updated_at, id"""

# Sessions one after the other: the second "yes" of a session is told from the first by counting.
TURNS: Final = """
select id, session_id, agent_identity, role, content, ts, metadata::text as metadata, {parent} as parent,
       {vector} as vector
  from conversations order by session_id collate "C", ts, id"""

AGENTS: Final[LiteralString] = "select agent_identity, first_seen, last_seen from memory_agents order by id"

# An edge does not say whom the talk was with; the turns of its session do.
EDGES: Final[LiteralString] = """
select e.id, e.parent_identity, e.child_identity, e.parent_session_id, e.child_session_id, e.kind, e.ts,
       e.attrs::text as metadata,
       (select c.metadata ->> 'raw_identity' from conversations c
         where c.session_id = e.parent_session_id and c.agent_identity = e.parent_identity
           and c.metadata ? 'raw_identity' order by c.id limit 1) as contact
  from memory_agent_edges e order by e.id"""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tables:
    """What of it there is."""

    agents: bool
    edges: bool
    parents: bool


class PgvectorSource:
    """`Source` over that database. Made by `pgvector_source`, and usable within its block."""

    name = NAME

    def __init__(self, connection: asyncpg.Connection[Record], tables: _Tables, *, vectors: bool) -> None:
        self._connection = connection
        self._tables = tables
        self._vectors = vectors

    async def counts(self) -> Mapping[str, int]:
        """Return the number of rows of each table that is read."""
        counts = {
            "memory_entries": await self._connection.fetchval(COUNT_ENTRIES),
            "conversations": await self._connection.fetchval(COUNT_TURNS),
        }
        if self._tables.edges:
            counts["memory_agent_edges"] = await self._connection.fetchval(COUNT_EDGES)
        return counts

    async def items(self) -> AsyncIterator[Foreign]:
        """Yield agents, entries, turns and delegations."""
        if self._tables.agents:
            for row in await self._connection.fetch(AGENTS):
                yield ForeignAgent(
                    name=row["agent_identity"], first_seen_at=row["first_seen"], last_seen_at=row["last_seen"]
                )
        vector = "embedding::real[]" if self._vectors else "null::real[]"
        parent = "parent_session_id" if self._tables.parents else "null::text"
        async for row in self._rows(ENTRIES.format(vector=vector)):
            yield _understood(_entry, "memory_entries", row)
        async for row in self._rows(TURNS.format(vector=vector, parent=parent)):
            yield _understood(_turn, "conversations", row)
        if self._tables.edges:
            async for row in self._rows(EDGES):
                yield _understood(_delegation, "memory_agent_edges", row)

    async def _rows(self, statement: str) -> AsyncIterator[Record]:
        async for row in self._connection.cursor(statement, prefetch=ROWS_AHEAD):
            yield row


@asynccontextmanager
async def pgvector_source(dsn: str, *, vectors: bool) -> AsyncIterator[PgvectorSource]:
    """Open the database in a transaction that cannot write and sees one moment, whoever writes meanwhile.

    Args:
        dsn: Address of the database, a URL or keywords, with any login that may read its tables.
        vectors: Whether the vectors are read as well.

    Raises:
        ConfigurationError: The address cannot be read, or the database holds no such memory.
        StoreUnavailable: It cannot be reached, or breaks off.
    """
    with translated(StoreUnavailable, "--dsn (the database to import from)"):
        async with (
            lone_connection("import", timeout=STATEMENT_SECONDS, **connection_arguments(dsn)) as connection,
            connection.transaction(isolation="repeatable_read", readonly=True),
        ):
            yield PgvectorSource(connection, await _tables(connection), vectors=vectors)


async def _tables(connection: asyncpg.Connection[Record]) -> _Tables:
    found = {row["relation"]: set(row["names"]) for row in await connection.fetch(COLUMNS)}
    entries, turns = found.get("memory_entries", set()), found.get("conversations", set())
    if not {"agent_identity", "target", "content", "metadata"} <= entries or not {"session_id", "ts"} <= turns:
        raise ConfigurationError(f"this database holds no memory of {NAME}: does the address name the right one?")
    return _Tables(
        agents={"agent_identity", "first_seen", "last_seen"} <= found.get("memory_agents", set()),
        edges={"parent_identity", "child_identity", "attrs"} <= found.get("memory_agent_edges", set()),
        parents="parent_session_id" in turns,
    )


def _understood(read: Callable[[Record], Foreign], table: str, row: Record) -> Foreign:
    try:
        return read(row)
    except InvalidInput as error:
        return Unreadable(place=f"{table} {row['id']}", reason=str(error))


def _entry(row: Record) -> Foreign:
    metadata = _metadata(row)
    place = f"memory_entries {row['id']}"
    if row["target"] not in set(Target):
        return Unreadable(place=place, reason="there is no such target")
    return ForeignEntry(
        place=place,
        key=key_of("entry", row["id"], row["agent_identity"], row["target"], row["created_at"], row["content"]),
        whose=_whose(row["agent_identity"], metadata),
        target=Target(row["target"]),
        content=row["content"],
        at=row["updated_at"],
        session=_text(metadata.get("session_id")),
        metadata={**metadata, "imported": {"from": NAME, "id": row["id"], "created_at": row["created_at"].isoformat()}},
        vector=row["vector"],
    )


def _turn(row: Record) -> Foreign:
    metadata = _metadata(row)
    place = f"conversations {row['id']}"
    if row["role"] not in set(Role):
        return Unreadable(place=place, reason="there is no such role")
    return ForeignTurn(
        place=place,
        key=key_of("turn", row["id"], row["agent_identity"], row["session_id"], row["ts"], row["content"]),
        whose=_whose(row["agent_identity"], metadata),
        session=row["session_id"],
        role=Role(row["role"]),
        content=row["content"],
        at=row["ts"],
        parent=row["parent"],
        metadata={**metadata, "imported": {"from": NAME, "id": row["id"]}},
        vector=row["vector"],
    )


def _delegation(row: Record) -> Foreign:
    attributes = _metadata(row)
    return ForeignDelegation(
        place=f"memory_agent_edges {row['id']}",
        key=key_of("edge", row["id"], row["parent_identity"], row["parent_session_id"], row["ts"], row["kind"]),
        whose=Whose(agent=row["parent_identity"], contact=row["contact"]),
        session=row["parent_session_id"],
        child=row["child_identity"],
        child_session=row["child_session_id"],
        task=attributes.get("task", ""),
        result=attributes.get("result", ""),
        at=row["ts"],
    )


def _whose(agent: str, metadata: Mapping[str, Any]) -> Whose:
    return Whose(agent=agent, contact=_text(metadata.get("raw_identity")) if agent in SINKS else None)


def _metadata(row: Record) -> dict[str, Any]:
    try:
        value = json.loads(row["metadata"]) if row["metadata"] else {}
    except (ValueError, RecursionError):
        raise InvalidInput(
            "its metadata cannot be read: they are nested too deep, or hold a number of too many digits. Simplify them "
            "in the old memory and run it again"
        ) from None
    return value if isinstance(value, dict) else {"value": value}


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value.strip() else None
