"""Removes what was said before a moment, with all that was made of it, in Postgres."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, LiteralString
from uuid import UUID

from hermes_memory.adapters.postgres.upkeep import HOLD, number
from hermes_memory.domain.maintenance import Prune
from hermes_memory.domain.model import Json
from hermes_memory.ports.maintenance import Step

if TYPE_CHECKING:
    from hermes_memory.adapters.postgres.statements import Connection

ROWS_A_STEP: Final = 5_000
"""Their words are picked out of all of their theme's, in one pass for all of a step."""

# $1 moment, $2 theme or null, $3 origin or null; `t` is the turn.
_DOOMED: Final[LiteralString] = (
    "t.ts < $1 and ($2::text is null or t.agent_identity = $2) and ($3::text is null or t.origin = $3)"
)
# A session of which nothing is left, or will be, goes unless something was said in it since. One in which something
# was forgotten stays: without its marks, a transcript handed in again would bring that back.
_IDLE: Final[LiteralString] = """
s.last_at < $1 and ($2::text is null or s.agent_identity = $2) and s.forgotten = ''
 and not exists (select from hermes_memory.conversations t
                  where t.agent_identity = s.agent_identity and t.subject = s.subject and t.session_id = s.session_id
                    and not (t.ts < $1 and ($3::text is null or t.origin = $3)))"""

_COUNTS: Final[Mapping[str, LiteralString]] = {
    "turns": "select count(*) from hermes_memory.conversations t where {doomed}",
    "sessions": "select count(*) from hermes_memory.sessions s where {idle}",
    "operations": """
select count(*) from hermes_memory.inbox i
  join (select distinct t.agent_identity, t.operation from hermes_memory.conversations t where {doomed}) d
    using (agent_identity, operation)""",
    "postings": "select coalesce(sum(length(t.lex)), 0)::bigint from hermes_memory.conversations t where {doomed}",
    "vectors": """
select coalesce(sum(hermes_memory.count_vectors(d.agent_identity, null, d.ids)), 0)::bigint
  from (select t.agent_identity, array_agg(t.id) as ids from hermes_memory.conversations t where {doomed}
         group by t.agent_identity) d""",
    "jobs": """
select count(*) from hermes_memory.embedding_jobs j
  join hermes_memory.conversations t on t.agent_identity = j.agent_identity and t.id = j.row_id where {doomed}""",
    "reembedded": """
select count(*) from hermes_memory.conversations t
  join hermes_memory.conversations f
    on f.agent_identity = t.agent_identity and f.subject = t.subject and f.session_id = t.session_id
   and f.position = t.position + 1
 where {doomed} and f.embed and exists (select from hermes_memory.embedding_models m where m.fed)
   and not (f.ts < $1 and ($3::text is null or f.origin = $3))""",
}
_THEMES: Final[LiteralString] = "select distinct t.agent_identity from hermes_memory.conversations t where {doomed}"

# The last ones of a session first: what follows a turn that goes has gone before, or stays and waits for a new vector.
DOOMED: Final[LiteralString] = """
select t.id, t.session_id from hermes_memory.conversations t
 where t.agent_identity = $2 and t.ts < $1 and ($3::text is null or t.origin = $3)
   and ($4::text is null or t.session_id <= $4)
 order by t.session_id desc, t.position desc limit $5"""
FOLLOWERS: Final[LiteralString] = """
select count(*) from hermes_memory.conversations t
  join hermes_memory.conversations f
    on f.agent_identity = t.agent_identity and f.subject = t.subject and f.session_id = t.session_id
   and f.position = t.position + 1
 where t.agent_identity = $1 and t.id = any ($2::uuid[]) and f.id <> all ($2::uuid[]) and f.embed
   and exists (select from hermes_memory.embedding_models m where m.fed)"""
OF_ROWS: Final[LiteralString] = """
select hermes_memory.count_vectors($1, null, $2::uuid[]) as vectors,
       (select count(*) from hermes_memory.embedding_jobs j
         where j.agent_identity = $1 and j.row_id = any ($2::uuid[])) as jobs"""
FORGET: Final[LiteralString] = "select hermes_memory.forget_turn_vectors($1, $2::uuid[])"
ERASE: Final[LiteralString] = """
select turns, operations, postings from hermes_memory.erase_rows($1, $2::uuid[], true)"""

# Locked in a statement of its own: who stores a turn of a session locks it as well, and the next statement sees it.
_HOLD_SESSIONS: Final[LiteralString] = """
select s.agent_identity, s.subject, s.session_id from hermes_memory.sessions s
 where {idle} order by s.agent_identity, s.subject, s.session_id limit $4 for update of s"""
END_SESSIONS: Final[LiteralString] = """
with gone as (
  delete from hermes_memory.sessions s
   using unnest($1::text[], $2::bytea[], $3::text[]) as u(theme, subject, session_id)
   where s.agent_identity = u.theme and s.subject = u.subject and s.session_id = u.session_id
     and not exists (select from hermes_memory.conversations c
                      where c.agent_identity = s.agent_identity and c.subject = s.subject
                        and c.session_id = s.session_id)
  returning 1)
select count(*) from gone"""


def _filled(statement: LiteralString) -> LiteralString:
    """Say in a statement which turns and sessions it is about."""
    return statement.replace("{doomed}", _DOOMED).replace("{idle}", _IDLE)


COUNTS: Final[Mapping[str, LiteralString]] = {name: _filled(statement) for name, statement in _COUNTS.items()}
THEMES: Final = _filled(_THEMES)
HOLD_SESSIONS: Final = _filled(_HOLD_SESSIONS)


@dataclass(slots=True)
class Pruning:
    """A `Job` that prunes, theme by theme.

    Attributes:
        rows: Turns, at most, of one step.
    """

    prune: Prune
    rows: int = ROWS_A_STEP
    verb: str = "prune"
    _themes: list[str] | None = None
    _session: str | None = None

    @property
    def detail(self) -> Mapping[str, Json]:
        """What exactly is removed."""
        return {
            "before": self.prune.before.isoformat(),
            "theme": self.prune.theme,
            "origin": None if self.prune.origin is None else self.prune.origin.value,
        }

    async def count(self, connection: Connection) -> Mapping[str, int]:
        """Count what goes, and which turns wait for new vectors because the one before them goes."""
        values = self._values()
        return {name: await number(connection, statement, *values) for name, statement in COUNTS.items()}

    async def step(self, connection: Connection) -> Step:
        """Remove some turns of one theme, or at last the sessions of which nothing is left."""
        themes = self._themes
        if themes is None:
            themes = sorted([record["agent_identity"] for record in await connection.fetch(THEMES, *self._values())])
        if not themes:
            return await self._sessions(connection)
        theme, before, origin = themes[0], self.prune.before, self._values()[2]
        found = await connection.fetch(DOOMED, before, theme, origin, self._session, self.rows)
        counts = await self._remove(connection, theme, [record["id"] for record in found])
        is_last = len(found) < self.rows
        self._themes = themes[1:] if is_last else themes
        self._session = None if is_last else found[-1]["session_id"]
        return Step(counts=counts, more=True)

    async def _remove(self, connection: Connection, theme: str, ids: list[UUID]) -> Mapping[str, int]:
        if not ids:
            return {}
        await connection.execute(HOLD, theme)
        follow = await number(connection, FOLLOWERS, theme, ids)
        (attached,) = await connection.fetch(OF_ROWS, theme, ids)
        await connection.execute(FORGET, theme, ids)
        (erased,) = await connection.fetch(ERASE, theme, ids)
        return {**dict(attached.items()), **dict(erased.items()), "reembedded": follow}

    async def _sessions(self, connection: Connection) -> Step:
        held = await connection.fetch(HOLD_SESSIONS, *self._values(), self.rows)
        columns = [[record[place] for record in held] for place in range(3)]
        ended = await number(connection, END_SESSIONS, *columns)
        more = ended > 0 and len(held) == self.rows
        self._themes = [] if more else None
        return Step(counts={"sessions": ended}, more=more)

    def _values(self) -> tuple[Any, ...]:
        origin = self.prune.origin
        return self.prune.before, self.prune.theme, None if origin is None else origin.value
