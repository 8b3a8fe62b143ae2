"""Reads rows by id, by list and by the home they mirror."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any, Final, LiteralString, assert_never

from hermes_memory.adapters.postgres.pool import Pool
from hermes_memory.adapters.postgres.rows import (
    columns,
    content_hash,
    entry_of,
    own_subjects,
    row_of,
    subject_key,
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

if TYPE_CHECKING:
    from hermes_memory.adapters.postgres.rows import Record

# Every statement spells out the visibility rule; row-level security repeats it.
GET: Final[LiteralString] = """
select r.* from hermes_memory.memory_rows r
 where r.id = $2
   and ((r.subject <> '' and r.subject = $1)
        or (r.subject = '' and (r.agent_identity = (select hermes_memory.ctx_theme())
                                or r.agent_identity in (select unnest(hermes_memory.ctx_themes())))))"""

LIST_THEME: Final[LiteralString] = """
select r.* from hermes_memory.memory_rows r
 where r.kind = 'entry' and r.agent_identity = $1 and r.subject = any ($2::bytea[])
   and (r.subject <> '' or $1 = (select hermes_memory.ctx_theme())
        or $1 in (select unnest(hermes_memory.ctx_themes())))
   and ($3::text is null or r.target = $3)
 order by r.updated_at desc, r.id desc limit $4"""

LIST_SESSION: Final[LiteralString] = """
select r.* from hermes_memory.memory_rows r
 where r.kind = 'entry' and r.agent_identity = $1 and r.subject = any ($2::bytea[]) and r.session_id = $5
   and ($3::text is null or r.target = $3)
 order by r.updated_at desc, r.id desc limit $4"""

LIST_SUBJECT: Final[LiteralString] = """
select r.* from hermes_memory.memory_rows r
 where r.kind = 'entry' and r.subject = $1 and r.subject <> '' and ($2::text is null or r.target = $2)
 order by r.updated_at desc, r.id desc limit $3"""

LIST_ALL: Final[LiteralString] = """
select r.* from hermes_memory.memory_rows r
 where r.kind = 'entry'
   and ((r.subject <> '' and r.subject = any ($2::bytea[]))
        or (r.subject = '' and r.agent_identity in (select unnest(hermes_memory.ctx_themes()))))
   and (r.agent_identity = $1 or r.agent_identity not in (select s.theme from hermes_memory.sinks s))
   and ($3::text is null or r.target = $3)
 order by r.updated_at desc, r.id desc limit $4"""

MIRRORED: Final[LiteralString] = """
select r.* from hermes_memory.memory_rows r
 where r.kind = 'entry' and r.agent_identity = $1 and r.subject = $2 and r.source = $3
 order by r.updated_at, r.id"""

PRIVATE_COPIES: Final[LiteralString] = """
select target, content_hash from hermes_memory.private_copies($1, $2::text[], $3::bytea[])"""

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
        found = await self._fetch(caller, timeout, GET, subject_key(caller.subject), row)
        return row_of(found[0]) if found else None

    async def entries(
        self, caller: Caller, scope: Scope, *, target: Target | None = None, limit: int, timeout: float
    ) -> Sequence[Entry]:
        """List entries; see `Reader.entries`."""
        statement, arguments = _listing(caller, scope, str(target) if target else None, limit)
        return [entry_of(record) for record in await self._fetch(caller, timeout, statement, *arguments)]

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

    async def themes(self, caller: Caller, *, timeout: float) -> Sequence[Theme]:
        """List the readable themes; see `Reader.themes`."""
        return [Theme(record["agent_identity"]) for record in await self._fetch(caller, timeout, THEMES)]

    async def _fetch(self, caller: Caller | None, timeout: float, statement: str, *arguments: object) -> list[Record]:
        async with self._pool.transaction(caller, timeout=timeout, read_only=True) as transaction:
            return await transaction.fetch(statement, *arguments)


def _listing(caller: Caller, scope: Scope, target: str | None, limit: int) -> tuple[LiteralString, tuple[Any, ...]]:
    """Choose the statement that lists a scope, with its arguments."""
    subjects = own_subjects(caller)
    match scope:
        case CurrentScope():
            return LIST_THEME, (caller.theme, subjects, target, limit)
        case ThemeScope():
            return LIST_THEME, (scope.theme, subjects, target, limit)
        case SessionScope():
            return LIST_SESSION, (caller.theme, subjects, target, limit, scope.session)
        case SubjectScope():
            return LIST_SUBJECT, (subject_key(caller.subject), target, limit)
        case AllScope():
            return LIST_ALL, (caller.theme, subjects, target, limit)
        case _:
            assert_never(scope)
