"""Reads a whole memory out in one snapshot, theme by theme, a few rows at a time."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final, LiteralString

from hermes_memory.adapters.postgres.administrator import Administrator
from hermes_memory.adapters.postgres.rows import utc
from hermes_memory.adapters.postgres.vector_statements import vectors_table
from hermes_memory.domain.archive import KINDS, Archived, EmbeddingModel
from hermes_memory.domain.model import NO_METADATA, Kind, Theme

if TYPE_CHECKING:
    from hermes_memory.adapters.postgres.statements import Connection

ROWS_AHEAD: Final = 500
_HALFVEC_HEADER: Final = 4
"""Bytes in front of the numbers in the binary form of a halfvec."""

MODEL: Final[LiteralString] = """
select i.active_generation as generation, m.model, m.dimension, m.part_tokens
  from hermes_memory.installation i join hermes_memory.embedding_models m on m.generation = i.active_generation"""
# Whatever the registry says, nothing that is stored is left behind.
THEMES: Final[LiteralString] = """
select agent_identity from hermes_memory.memory_agents
union select agent_identity from hermes_memory.memory_entries
union select agent_identity from hermes_memory.sessions
union select agent_identity from hermes_memory.conversations
union select agent_identity from hermes_memory.memory_agent_edges
union select agent_identity from hermes_memory.history
 order by 1"""

NO_VECTORS: Final[LiteralString] = "'{}'::bytea[]"
NO_FOLLOWS: Final[LiteralString] = "null::bytea"
VECTORS: Final[LiteralString] = """array(select public.halfvec_send(v.embedding) from hermes_memory.{table} v
               where v.agent_identity = r.agent_identity and v.row_id = r.id order by v.part)"""

FOLLOWS: Final[LiteralString] = (
    "case when lag(r.position) over places = r.position - 1 then lag(r.content_hash) over places end"
)

REGISTERED: Final[LiteralString] = """
select agent_identity as theme, first_seen_at, last_seen_at, metadata
  from hermes_memory.memory_agents where agent_identity = $1"""
ENTRIES: Final[LiteralString] = """
select r.agent_identity as theme, r.subject, r.id, r.target, r.content, r.origin, r.tool, r.session_id as session,
       r.source, r.metadata, r.said_at, r.created_at, r.updated_at, r.operation, {vectors} as vectors
  from hermes_memory.memory_entries r where r.agent_identity = $1 order by r.subject, r.updated_at, r.id"""
SESSIONS: Final[LiteralString] = """
select r.agent_identity as theme, r.subject, r.session_id as session, r.parent_session_id as parent, r.started_at,
       r.last_at, r.forgotten
  from hermes_memory.sessions r where r.agent_identity = $1 order by r.subject, r.session_id collate "C" """
TURNS: Final[LiteralString] = """
select r.agent_identity as theme, r.subject, r.session_id as session, r.position, r.id, r.parent_session_id as parent,
       r.role, r.speaker, r.content, r.occurrence, r.origin, r.embed, r.metadata, r.ts as said_at, r.created_at,
       r.operation, {vectors} as vectors, {follows} as follows
  from hermes_memory.conversations r where r.agent_identity = $1
window places as (partition by r.subject, r.session_id collate "C" order by r.position, r.id)
 order by r.subject, r.session_id collate "C", r.position, r.id"""
DELEGATIONS: Final[LiteralString] = """
select r.agent_identity as theme, r.subject, r.id, r.parent_session_id as session, r.child_identity as child_theme,
       r.child_session_id as child_session, r.task, r.result, r.created_at
  from hermes_memory.memory_agent_edges r where r.agent_identity = $1 order by r.subject, r.created_at, r.id"""
CHANGES: Final[LiteralString] = """
select r.agent_identity as theme, r.subject, r.id, r.row_id as row, r.change, r.target, r.old_content as before,
       r.new_content as after, r.origin, r.tool, r.session_id as session, r.operation, r.reason, r.at, r.said_at,
       r.recorded_at, r.metadata, r.merged_into, r.erasure, case when r.salt is null then r.row_hash end as digest
  from hermes_memory.history r where r.agent_identity = $1 order by r.subject, r.recorded_at, r.id"""


class PostgresSnapshot:
    """`Snapshot` on Postgres. Made by `snapshot`, and usable within its block."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def model(self) -> EmbeddingModel | None:
        """Return the model in use; see `Snapshot.model`."""
        found = await self._connection.fetchrow(MODEL)
        if found is None:
            return None
        return EmbeddingModel(name=found["model"], dimension=found["dimension"], part_tokens=found["part_tokens"])

    async def themes(self) -> Sequence[Theme]:
        """Return all themes; see `Snapshot.themes`."""
        return [Theme(found["agent_identity"]) for found in await self._connection.fetch(THEMES)]

    async def records(self, theme: Theme, *, vectors: bool) -> AsyncIterator[Archived]:
        """Yield all that is a theme's; see `Snapshot.records`."""
        found = await self._connection.fetchrow(MODEL) if vectors else None
        for kind, statement in _statements(found["generation"] if found else None):
            async for row in self._connection.cursor(statement, theme, prefetch=ROWS_AHEAD):
                yield KINDS[kind](**{name: _value(name, value) for name, value in row.items()})


@asynccontextmanager
async def snapshot(administrator: Administrator) -> AsyncIterator[PostgresSnapshot]:
    """Open a snapshot. What is written meanwhile is not in it."""
    async with administrator.transaction(isolation="repeatable_read", read_only=True) as connection:
        yield PostgresSnapshot(connection)


def _statements(generation: int | None) -> Iterator[tuple[str, LiteralString]]:
    def vectors(kind: Kind) -> LiteralString:
        return NO_VECTORS if generation is None else VECTORS.replace("{table}", vectors_table(kind, generation))

    follows = NO_FOLLOWS if generation is None else FOLLOWS
    yield "theme", REGISTERED
    yield "change", CHANGES
    yield "entry", ENTRIES.replace("{vectors}", vectors(Kind.ENTRY))
    yield "session", SESSIONS
    yield "turn", TURNS.replace("{vectors}", vectors(Kind.TURN)).replace("{follows}", follows)
    yield "delegation", DELEGATIONS


def _value(name: str, value: Any) -> Any:
    if name == "subject":
        return value or None
    if name == "metadata":
        return value and (json.loads(value) or NO_METADATA)
    if name == "vectors":
        return tuple(each[_HALFVEC_HEADER:] for each in value)
    return utc(value) if hasattr(value, "tzinfo") else value
