"""Moves everything of one theme into another, in Postgres: copied and removed, since a theme is one of a partition."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, LiteralString

from hermes_memory.adapters.postgres.erasure_statements import LEAVE_FOLDING
from hermes_memory.adapters.postgres.upkeep import ROWS_A_STEP, Phase, Sweep, in_turn, number
from hermes_memory.domain.maintenance import Remap
from hermes_memory.domain.model import Json, Theme
from hermes_memory.ports.maintenance import Step

if TYPE_CHECKING:
    from hermes_memory.adapters.postgres.statements import Connection

# $1 from, $2 to throughout.
_EQUAL_ENTRY: Final[LiteralString] = """
(exists (select from hermes_memory.memory_entries o where o.agent_identity = $2 and o.id = t.id)
 or exists (select from hermes_memory.memory_entries o
             where o.agent_identity = $2 and o.subject = t.subject and o.target = t.target
               and o.content_hash = t.content_hash))"""
_EQUAL_TURN: Final[LiteralString] = """
(exists (select from hermes_memory.conversations o where o.agent_identity = $2 and o.id = t.id)
 or exists (select from hermes_memory.conversations o
             where o.agent_identity = $2 and o.subject = t.subject and o.session_id = t.session_id
               and o.role = t.role and o.content_hash = t.content_hash and o.occurrence = t.occurrence)
 or exists (select from hermes_memory.sessions s
             where s.agent_identity = $2 and s.subject = t.subject and s.session_id = t.session_id
               and position(hermes_memory.forgotten_mark(t.role, t.occurrence, t.content_hash) in s.forgotten) > 0))"""
# A name that nobody has, and that no grant made beforehand names: what is granted to or from the old one may then be
# the new one's without widening anything.
_IS_NEW: Final[LiteralString] = """
not exists (select from hermes_memory.memory_agents a where a.agent_identity = $2)
 and not exists (select from hermes_memory.memory_rows r where r.agent_identity = $2)
 and not exists (select from hermes_memory.theme_grants w where w.reader = $2 or w.source = $2)"""

_COUNTS: Final[Mapping[str, LiteralString]] = {
    "entries": "select count(*) from hermes_memory.memory_entries t where t.agent_identity = $1 and $2::text <> ''",
    "merged_entries": "select count(*) from hermes_memory.memory_entries t where t.agent_identity = $1 and {entry}",
    "turns": "select count(*) from hermes_memory.conversations t where t.agent_identity = $1 and $2::text <> ''",
    "merged_turns": "select count(*) from hermes_memory.conversations t where t.agent_identity = $1 and {turn}",
    "sessions": "select count(*) from hermes_memory.sessions t where t.agent_identity = $1 and $2::text <> ''",
    "delegations": """
select count(*) from hermes_memory.memory_agent_edges t where t.agent_identity = $1 and $2::text <> ''""",
    "named": """
select count(*) from hermes_memory.memory_agent_edges t where t.child_identity = $1 and $2::text <> ''""",
    "changes": """
select count(*) from hermes_memory.history t
 where t.agent_identity = $1 and t.erasure is null and t.change <> 'erased' and $2::text <> ''""",
    "vectors": "select hermes_memory.count_vectors($1, null, null) where $2::text <> ''",
    "jobs": "select count(*) from hermes_memory.embedding_jobs t where t.agent_identity = $1 and $2::text <> ''",
    "postings": """
select coalesce(sum(t.n), 0)::bigint + hermes_memory.count_dead_postings($2) from hermes_memory.term_blocks t
 where t.agent_identity = $1 and t.lexeme > ''""",
    "themes": "select count(*) from hermes_memory.memory_agents t where t.agent_identity = $1 and $2::text <> ''",
}


def _filled(statement: LiteralString) -> LiteralString:
    """Say in a statement what is equal, and when a name is new."""
    return statement.replace("{entry}", _EQUAL_ENTRY).replace("{turn}", _EQUAL_TURN).replace("{new}", _IS_NEW)


COUNTS: Final[Mapping[str, LiteralString]] = {name: _filled(statement) for name, statement in _COUNTS.items()}
COUNT_GRANTS: Final = _filled("""
select count(*) from hermes_memory.theme_grants g where (g.reader = $1 or g.source = $1) and ($3 or ({new}))""")
IS_NEW: Final = _filled("select $1::text is not null and {new}")

MOVE_GRANTS: Final[LiteralString] = """
with gone as (
  delete from hermes_memory.theme_grants g where g.reader = $1 or g.source = $1
  returning case when g.reader = $1 then $2 else g.reader end as reader, g.subject,
            case when g.source = $1 then $2 else g.source end as source, g.expires_at, g.granted_at, g.granted_by),
kept as (
  insert into hermes_memory.theme_grants as g (reader, subject, source, expires_at, granted_at, granted_by)
  select distinct on (o.reader, o.subject, o.source) o.reader, o.subject, o.source, o.expires_at, o.granted_at,
         o.granted_by
    from gone o where o.reader <> o.source order by o.reader, o.subject, o.source, o.expires_at desc nulls first
      on conflict (reader, subject, source)
      do update set expires_at = case when g.expires_at is not null and excluded.expires_at is not null
                                      then greatest(g.expires_at, excluded.expires_at) end)
select count(*) from gone"""
REGISTER: Final[LiteralString] = """
insert into hermes_memory.memory_agents as a (agent_identity, first_seen_at, last_seen_at, metadata)
select $2, f.first_seen_at, f.last_seen_at, f.metadata from hermes_memory.memory_agents f where f.agent_identity = $1
    on conflict (agent_identity)
    do update set first_seen_at = least(a.first_seen_at, excluded.first_seen_at),
                  last_seen_at = greatest(a.last_seen_at, excluded.last_seen_at),
                  metadata = excluded.metadata || a.metadata"""

ENTRIES: Final[LiteralString] = """
select t.id from hermes_memory.memory_entries t where t.agent_identity = $1 limit $2"""
MOVE_ENTRIES: Final[LiteralString] = """
select entries, merged_entries, vectors, jobs, changes from hermes_memory.move_entries($1, $2, $3::uuid[])"""
TURNS: Final[LiteralString] = """
select t.id from hermes_memory.conversations t where t.agent_identity = $1
 order by t.session_id, t.position, t.subject limit $2"""
MOVE_TURNS: Final[LiteralString] = """
select turns, merged_turns, sessions, vectors, jobs from hermes_memory.move_turns($1, $2, $3::uuid[])"""
MOVE_SESSIONS: Final[LiteralString] = """
with chosen as materialized (
  select t.subject, t.session_id from hermes_memory.sessions t
   where t.agent_identity = $1 and not exists (
         select from hermes_memory.conversations c
          where c.agent_identity = $1 and c.subject = t.subject and c.session_id = t.session_id)
   order by t.subject, t.session_id limit $3 for update of t),
gone as (
  delete from hermes_memory.sessions t using chosen c
   where t.agent_identity = $1 and t.subject = c.subject and t.session_id = c.session_id
  returning t.subject, t.session_id, t.parent_session_id, t.started_at, t.last_at, t.forgotten,
            t.tally),
kept as (
  insert into hermes_memory.sessions as s
    (agent_identity, subject, session_id, parent_session_id, started_at, last_at, forgotten, tally)
  select $2, g.* from gone g order by g.subject, g.session_id
      on conflict (agent_identity, subject, session_id)
      do update set parent_session_id = coalesce(s.parent_session_id, excluded.parent_session_id),
                    started_at = least(s.started_at, excluded.started_at),
                    last_at = greatest(s.last_at, excluded.last_at),
                    tally = s.tally # excluded.tally,
                    forgotten = s.forgotten || hermes_memory.marks_besides(
                      s.agent_identity, s.subject, s.session_id, excluded.forgotten))
select count(*) from gone"""
RENAME_CHILDREN: Final[LiteralString] = """
with chosen as materialized (
  select t.agent_identity, t.id from hermes_memory.memory_agent_edges t
   where t.child_identity = $1 limit $3 for update),
renamed as (
  update hermes_memory.memory_agent_edges t set child_identity = $2 from chosen c
   where t.agent_identity = c.agent_identity and t.id = c.id returning 1)
select count(*) from renamed"""
MOVE_DELEGATIONS: Final[LiteralString] = """
with chosen as materialized (
  select t.id from hermes_memory.memory_agent_edges t where t.agent_identity = $1 limit $3 for update),
gone as (
  delete from hermes_memory.memory_agent_edges t using chosen c where t.agent_identity = $1 and t.id = c.id
  returning t.id, t.subject, t.parent_session_id, t.child_identity, t.child_session_id, t.task, t.result, t.created_at),
kept as (
  insert into hermes_memory.memory_agent_edges
    (agent_identity, id, subject, parent_session_id, child_identity, child_session_id, task, result, created_at)
  select $2, g.* from gone g on conflict do nothing)
select count(*) from gone"""
# All changes of a memory go at once: what is left of its history here tells of what stands, until the rest has come.
CHANGES: Final[LiteralString] = """
select h.id
  from (select distinct t.row_id from hermes_memory.history t
         where t.agent_identity = $1 and t.erasure is null and t.change <> 'erased' limit $2) r
  join hermes_memory.history h on h.agent_identity = $1 and h.row_id = r.row_id
 where h.erasure is null and h.change <> 'erased'"""
# One that an archive brought back here, and that is gone since, may still stand in the other theme under its id.
HOLD_THEMES: Final[LiteralString] = "select hermes_memory.hold_themes(array[$1, $2])"
TELL_WHAT_STANDS: Final[LiteralString] = """
select hermes_memory.merge_entries($1, $2, array(
  select distinct h.row_id from hermes_memory.history h where h.agent_identity = $1 and h.id = any ($3::uuid[])))"""
MOVE_CHANGES: Final[LiteralString] = "select hermes_memory.move_changes($1, $2, $3::uuid[])"

# What is left of rows that were gone before.
END_JOBS: Final[LiteralString] = """
with gone as (
  delete from hermes_memory.embedding_jobs j
   where j.agent_identity = $1 and not exists (
         select from hermes_memory.memory_rows r where r.agent_identity = $1 and r.id = j.row_id)
  returning 1)
select count(*) from gone"""
END_VECTORS: Final[LiteralString] = "select hermes_memory.erase_orphaned_vectors($1, null)"
UNREGISTER: Final[LiteralString] = """
with gone as (
  delete from hermes_memory.memory_agents a
   where a.agent_identity = $1
     and not exists (select from hermes_memory.memory_rows r where r.agent_identity = $1)
     and not exists (select from hermes_memory.sessions s where s.agent_identity = $1)
  returning 1)
select count(*) from gone"""


@dataclass(slots=True)
class Remapping:
    """A `Job` that moves a theme, table after table.

    Attributes:
        rows: Rows, at most, of one step.
    """

    remap: Remap
    rows: int = ROWS_A_STEP
    verb: str = "remap"
    _phase: int = 0
    _sweep: Sweep | None = None

    @property
    def detail(self) -> Mapping[str, Json]:
        """From where to where."""
        return {"from": self.remap.source, "to": self.remap.target, "grants": self.remap.grants}

    async def count(self, connection: Connection) -> Mapping[str, int]:
        """Count what is the old theme's, and what of it gives way to an equal row of the new one."""
        counts = {name: await number(connection, statement, *self._names()) for name, statement in COUNTS.items()}
        return {**counts, "grants": await number(connection, COUNT_GRANTS, *self._names(), self.remap.grants)}

    async def step(self, connection: Connection) -> Step:
        """Move a part of one table, and tell whether there are others."""
        phases: tuple[Phase, ...] = (
            self._register,
            self._stale_words,
            self._entries,
            self._turns,
            self._words,
            self._sessions,
            self._children,
            self._delegations,
            self._changes,
            self._finish,
        )
        step, self._phase = await in_turn(phases, self._phase, connection)
        return step

    async def _register(self, connection: Connection) -> Step:
        carried = self.remap.grants or await connection.fetchval(IS_NEW, *self._names())
        grants = await number(connection, MOVE_GRANTS, *self._names()) if carried else 0
        await connection.execute(REGISTER, *self._names())
        return Step(counts={"grants": grants}, more=False)

    async def _stale_words(self, connection: Connection) -> Step:
        # A run the other way that was stopped has left words of rows that now come back under the same keys.
        return await self._swept(connection, self.remap.target)

    async def _entries(self, connection: Connection) -> Step:
        return await self._moved(connection, ENTRIES, MOVE_ENTRIES)

    async def _turns(self, connection: Connection) -> Step:
        return await self._moved(connection, TURNS, MOVE_TURNS)

    async def _words(self, connection: Connection) -> Step:
        return await self._swept(connection, self.remap.source)

    async def _swept(self, connection: Connection, theme: Theme) -> Step:
        if self._sweep is None:
            self._sweep = Sweep(theme=theme)
        step = await self._sweep.step(connection)
        if not step.more:
            self._sweep = None
        return Step(counts={"postings": step.counts.get("postings", 0)}, more=step.more)

    async def _moved(self, connection: Connection, rows: LiteralString, move: LiteralString) -> Step:
        ids = [record["id"] for record in await connection.fetch(rows, self.remap.source, self.rows)]
        if not ids:
            return Step(counts={}, more=False)
        (moved,) = await connection.fetch(move, *self._names(), ids)
        return Step(counts=dict(moved.items()), more=len(ids) == self.rows)

    async def _sessions(self, connection: Connection) -> Step:
        return await self._some(connection, "sessions", MOVE_SESSIONS)

    async def _children(self, connection: Connection) -> Step:
        return await self._some(connection, "named", RENAME_CHILDREN)

    async def _delegations(self, connection: Connection) -> Step:
        return await self._some(connection, "delegations", MOVE_DELEGATIONS)

    async def _some(self, connection: Connection, name: str, statement: LiteralString) -> Step:
        moved = await number(connection, statement, *self._names(), self.rows)
        return Step(counts={name: moved}, more=moved == self.rows)

    async def _changes(self, connection: Connection) -> Step:
        ids = [record["id"] for record in await connection.fetch(CHANGES, self.remap.source, self.rows)]
        if not ids:
            return Step(counts={}, more=False)
        await connection.execute(HOLD_THEMES, *self._names())
        await connection.execute(TELL_WHAT_STANDS, *self._names(), ids)
        moved = await number(connection, MOVE_CHANGES, *self._names(), ids)
        return Step(counts={"changes": moved}, more=True)

    async def _finish(self, connection: Connection) -> Step:
        source = self.remap.source
        counts = {
            "jobs": await number(connection, END_JOBS, source),
            "vectors": await number(connection, END_VECTORS, source),
            "themes": await number(connection, UNREGISTER, source),
        }
        await connection.execute(LEAVE_FOLDING, source, None)
        return Step(counts=counts, more=False)

    def _names(self) -> tuple[str, str]:
        return self.remap.source, self.remap.target
