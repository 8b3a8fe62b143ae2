"""Reads rows by id, by list and by the home they mirror."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, LiteralString, TypeAlias, assert_never

from hermes_memory.adapters.postgres.pool import Pool
from hermes_memory.adapters.postgres.rows import (
    columns,
    content_hash,
    entry_of,
    own_subjects,
    persons,
    row_id_of,
    row_of,
    subject_key,
    utc,
)
from hermes_memory.domain.model import (
    AllScope,
    Caller,
    CurrentScope,
    Entry,
    HomeId,
    Row,
    RowId,
    Scope,
    SessionScope,
    SubjectScope,
    Target,
    Theme,
    ThemeScope,
)
from hermes_memory.ports.reading import Standing

if TYPE_CHECKING:
    from hermes_memory.adapters.postgres.rows import Record

Version: TypeAlias = tuple[Theme, RowId, bytes, bytes, datetime | None]
"""Theme, id, subject as the database writes it, content hash, and when an entry was changed last."""

# Every statement spells out the visibility rule; row-level security repeats it.
GET: Final[LiteralString] = """
select r.* from hermes_memory.memory_rows r
 where r.id = $2
   and ((r.subject <> '' and r.subject = any ($1::bytea[]))
        or (r.subject = '' and (r.agent_identity = (select hermes_memory.ctx_theme())
                                or r.agent_identity in (select unnest(hermes_memory.ctx_themes())))))"""

MARKS: Final = 8
"""How many of the newest entries a standing names: more than transactions are under way at once in one theme. A key is
drawn before its transaction commits, so the newest alone would not show what came in behind it."""

# One statement, so that all is seen at one moment. The first line holds the marks, the others the rows. Each table is
# asked with the themes, which leave one partition to look at, and in the words of `GET`.
STANDING: Final[LiteralString] = """
select null::text as agent_identity, null::uuid as id, null::bytea as subject, null::bytea as content_hash,
       null::timestamptz as updated_at,
       array(select e.lex_key from hermes_memory.memory_entries e
              where e.agent_identity = $2 and e.subject = '' order by e.lex_key desc limit $3)
       || array(select k.lex_key from unnest($1::bytea[]) as p(subject)
                 cross join lateral (
                   select e.lex_key from hermes_memory.memory_entries e
                    where e.agent_identity = $2 and e.subject = p.subject
                    order by e.lex_key desc limit $3) k
                 order by k.lex_key desc limit $3) as newest
union all
select e.agent_identity, e.id, e.subject, e.content_hash, e.updated_at, null
  from hermes_memory.memory_entries e
 where e.agent_identity = any ($4::text[]) and e.id = any ($5::uuid[])
   and ((e.subject <> '' and e.subject = any ($1::bytea[]))
        or (e.subject = '' and (e.agent_identity = (select hermes_memory.ctx_theme())
                                or e.agent_identity in (select unnest(hermes_memory.ctx_themes())))))
union all
select c.agent_identity, c.id, c.subject, c.content_hash, null, null
  from hermes_memory.conversations c
 where c.agent_identity = any ($4::text[]) and c.id = any ($5::uuid[])
   and ((c.subject <> '' and c.subject = any ($1::bytea[]))
        or (c.subject = '' and (c.agent_identity = (select hermes_memory.ctx_theme())
                                or c.agent_identity in (select unnest(hermes_memory.ctx_themes())))))"""

LIST_THEME: Final[LiteralString] = """
select r.* from hermes_memory.memory_rows r
 where r.kind = 'entry' and r.agent_identity = $1 and r.subject = any ($2::bytea[])
   and (r.subject <> '' or $1 = (select hermes_memory.ctx_theme())
        or $1 in (select unnest(hermes_memory.ctx_themes())))
   and ($3::text is null or r.target = $3)
 order by r.updated_at desc, r.id desc limit $4"""

LIST_SESSION: Final[LiteralString] = """
select r.* from hermes_memory.memory_rows r
 where r.kind = 'entry' and r.agent_identity = $1 and r.subject = any ($2::bytea[]) and r.session_id = any ($5::text[])
   and ($3::text is null or r.target = $3)
 order by r.updated_at desc, r.id desc limit $4"""

LIST_SUBJECT: Final[LiteralString] = """
select r.* from hermes_memory.memory_rows r
 where r.kind = 'entry' and r.subject = any ($1::bytea[]) and r.subject <> '' and ($2::text is null or r.target = $2)
 order by r.updated_at desc, r.id desc limit $3"""

# The newest of each readable theme, found by the index on its times, and then the newest of those.
LIST_ALL: Final[LiteralString] = """
select r.* from (
  select n.* from unnest(hermes_memory.ctx_themes()) as t(theme) cross join lateral (
         select r.* from hermes_memory.memory_rows r
          where r.kind = 'entry' and r.agent_identity = t.theme and r.subject = ''
            and ($3::text is null or r.target = $3)
          order by r.updated_at desc, r.id desc limit $4) n
  union all
  select r.* from hermes_memory.memory_rows r
   where r.kind = 'entry' and r.subject <> '' and r.subject = any ($2::bytea[])
     and ($3::text is null or r.target = $3)) r
 where r.agent_identity = $1 or r.agent_identity not in (select s.theme from hermes_memory.sinks s)
 order by r.updated_at desc, r.id desc limit $4"""

# By the key that keeps equal entries apart, which a theme's size does not matter to.
WITH_CONTENT: Final[LiteralString] = """
select e.agent_identity, e.id, e.subject, e.target, e.content, e.said_at as at, e.updated_at, e.origin, e.session_id,
       e.source, e.metadata, e.operation, e.tool
  from hermes_memory.memory_entries e
 where e.agent_identity = $1 and e.subject = any ($2::bytea[]) and e.target = any ($3::text[]) and e.content_hash = $4
 order by e.updated_at desc, e.id desc"""

MIRRORED: Final[LiteralString] = """
select r.* from hermes_memory.memory_rows r
 where r.kind = 'entry' and r.agent_identity = $1 and r.subject = $2 and r.source = $3
 order by r.updated_at, r.id"""

PRIVATE_COPIES: Final[LiteralString] = """
select target, content_hash from hermes_memory.private_copies($1, $2::text[], $3::bytea[])"""

# By the database's clock alone: those of the processes that ask may differ.
ERASED_AGO: Final[LiteralString] = """
select extract(epoch from clock_timestamp() - i.erased_at)::float8 as seconds from hermes_memory.installation i"""

THEMES: Final[LiteralString] = """
select a.agent_identity from hermes_memory.memory_agents a
 where a.agent_identity in (select unnest(hermes_memory.ctx_themes()))
   and a.agent_identity not in (select s.theme from hermes_memory.sinks s)
 order by a.agent_identity"""


class PostgresReader:
    """`Reader` on Postgres.

    Args:
        pool: Connections of the runtime role.
    """

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def get(self, caller: Caller, row: RowId, *, timeout: float) -> Row | None:
        """Return a row; see `Reader.get`."""
        found = await self._fetch(caller, timeout, GET, persons(caller), row)
        return row_of(found[0]) if found else None

    async def standing(self, caller: Caller, rows: Collection[Row], *, timeout: float) -> Standing:
        """Tell how rows stand now; see `Reader.standing`."""
        themes, ids = sorted({row.theme for row in rows}), [row.id for row in rows]
        marks, *found = await self._fetch(
            caller,
            timeout,
            STANDING,
            *(persons(caller), caller.theme, MARKS),
            *(themes, ids),
        )
        stored = {_version(record) for record in found}
        return Standing(
            unchanged=frozenset(row.id for row in rows if _version_of(row) in stored), newest=tuple(marks["newest"])
        )

    async def entries(
        self, caller: Caller, scope: Scope, *, target: Target | None = None, limit: int, timeout: float
    ) -> Sequence[Entry]:
        """List entries; see `Reader.entries`."""
        statement, arguments = _listing(caller, scope, str(target) if target else None, limit)
        return [entry_of(record) for record in await self._fetch(caller, timeout, statement, *arguments)]

    async def with_content(self, caller: Caller, content: str, *, timeout: float) -> Sequence[Entry]:
        """List the entries of a content; see `Reader.with_content`."""
        sought = caller.theme, own_subjects(caller), [str(target) for target in Target], content_hash(content)
        return [entry_of(record) for record in await self._fetch(caller, timeout, WITH_CONTENT, *sought)]

    async def mirrored(self, caller: Caller, source: HomeId, *, timeout: float) -> Sequence[Entry]:
        """List what mirrors a home; see `Reader.mirrored`."""
        found = await self._fetch(caller, timeout, MIRRORED, caller.theme, subject_key(caller.subject), source)
        return [entry_of(record) for record in found]

    async def private_copies(
        self, source: HomeId, contents: Collection[tuple[Target, str]], *, timeout: float
    ) -> frozenset[tuple[Target, str]]:
        """Tell which contents are some subject's; see `Reader.private_copies`."""
        asked = {(str(target), content_hash(content)): (target, content) for target, content in contents}
        if not asked:
            return frozenset()
        found = await self._fetch(None, timeout, PRIVATE_COPIES, source, *columns(asked))
        return frozenset(asked[record["target"], record["content_hash"]] for record in found)

    async def erased_ago(self, *, timeout: float) -> float | None:
        """Return how long ago something was erased; see `Reader.erased_ago`."""
        found = await self._fetch(None, timeout, ERASED_AGO)
        return None if not found else found[0]["seconds"]

    async def themes(self, caller: Caller, *, timeout: float) -> Sequence[Theme]:
        """List the readable themes; see `Reader.themes`."""
        return [Theme(record["agent_identity"]) for record in await self._fetch(caller, timeout, THEMES)]

    async def _fetch(
        self, caller: Caller | None, timeout: float, statement: LiteralString, *arguments: object
    ) -> list[Record]:
        async with self._pool.transaction(caller, timeout=timeout, read_only=True) as transaction:
            return await transaction.fetch(statement, *arguments)


def _version(record: Record) -> Version:
    """Return what tells a stored row from an earlier or later state of it."""
    changed_at = record["updated_at"]
    return (
        Theme(record["agent_identity"]),
        row_id_of(record),
        record["subject"],
        record["content_hash"],
        utc(changed_at) if changed_at else None,
    )


def _version_of(row: Row) -> Version:
    """Return the same of a row that was read. A turn never changes; what could is its text."""
    changed_at = row.updated_at if isinstance(row, Entry) else None
    return row.theme, row.id, subject_key(row.subject), content_hash(row.content), changed_at


def _listing(caller: Caller, scope: Scope, target: str | None, limit: int) -> tuple[LiteralString, tuple[Any, ...]]:
    """Choose the statement that lists a scope, with its arguments."""
    subjects = own_subjects(caller)
    match scope:
        case CurrentScope():
            return LIST_THEME, (caller.theme, subjects, target, limit)
        case ThemeScope():
            return LIST_THEME, (scope.theme, subjects, target, limit)
        case SessionScope():
            return LIST_SESSION, (caller.theme, subjects, target, limit, [*scope.names])
        case SubjectScope():
            return LIST_SUBJECT, (persons(caller), target, limit)
        case AllScope():
            return LIST_ALL, (caller.theme, subjects, target, limit)
        case _:
            assert_never(scope)
