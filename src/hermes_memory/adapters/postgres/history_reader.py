"""Reads the history of entries, and how they stood at a moment."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, LiteralString, TypeAlias, assert_never

from hermes_memory.adapters.postgres.pool import Pool
from hermes_memory.adapters.postgres.rows import own_subjects, persons, turn_of, utc
from hermes_memory.domain.archive import SAID_TARGET
from hermes_memory.domain.history import Change, ChangeKind, said
from hermes_memory.domain.model import (
    NO_METADATA,
    AllScope,
    Caller,
    CurrentScope,
    Entry,
    Metadata,
    OperationId,
    Origin,
    RowId,
    Scope,
    SessionId,
    SessionScope,
    Subject,
    SubjectScope,
    Target,
    Theme,
    ThemeScope,
)

if TYPE_CHECKING:
    from hermes_memory.adapters.postgres.rows import Record

# Every statement spells out who may see the past of a row, which are fewer than may see the row; row-level security
# repeats it. What tells of an erasure is no change of a memory: it belongs to the chain. Where a theme came back to its
# old name, what is left of a change there stands beside the change.
OF_ROW: Final[LiteralString] = """
select h.* from hermes_memory.history h
 where h.row_id = $2 and h.change <> 'erased'
   and ((h.subject <> '' and h.subject = any ($1::bytea[]))
        or (h.subject = '' and h.agent_identity = (select hermes_memory.ctx_theme())))
 order by h.recorded_at desc, h.erasure nulls first, h.id limit $3"""

# What was said is told as what was added: it is there, and nothing else became of it.
SAID: Final[LiteralString] = """
select r.* from hermes_memory.memory_rows r
 where r.kind = 'turn' and r.id = $2
   and ((r.subject <> '' and r.subject = any ($1::bytea[]))
        or (r.subject = '' and r.agent_identity = (select hermes_memory.ctx_theme())))"""

OF_OPERATION: Final[LiteralString] = """
select h.* from hermes_memory.history h
 where h.agent_identity = $1 and h.subject = any ($2::bytea[]) and h.operation = $3 and h.change <> 'erased'
 order by h.recorded_at desc, h.erasure nulls first, h.id"""

STORED_AT: Final[LiteralString] = """
select c.id from hermes_memory.conversations c
 where c.id = any ($2::uuid[]) and c.created_at <= $3
   and ((c.subject <> '' and c.subject = any ($1::bytea[]))
        or (c.subject = '' and (c.agent_identity = (select hermes_memory.ctx_theme())
                                or c.agent_identity in (select unnest(hermes_memory.ctx_themes())))))"""

# Where to look: $1 the theme meant, $2 the subjects one may meet there.
IN_THEME: Final[LiteralString] = """
   and h.agent_identity = $1 and h.subject = any ($2::bytea[])
   and (h.subject <> '' or $1 = (select hermes_memory.ctx_theme()))"""
OF_SUBJECT: Final[LiteralString] = """
   and $1::text is not null and h.subject = any ($2::bytea[]) and h.subject <> ''"""
EVERYWHERE: Final[LiteralString] = """
   and ((h.subject <> '' and h.subject = any ($2::bytea[]))
        or (h.subject = '' and h.agent_identity = (select hermes_memory.ctx_theme())))
   and (h.agent_identity = $1 or h.agent_identity not in (select s.theme from hermes_memory.sinks s))"""

# $3 the names of the session, null for any, $4 the limit.
RECENT: Final[tuple[LiteralString, LiteralString]] = (
    """
select h.* from hermes_memory.history h
 where h.change <> 'erased'""",
    """
   and ($3::text[] is null or h.session_id = any ($3))
 order by h.recorded_at desc, h.id limit $4""",
)

# $5 the moment, $6 the target, null for either. What came with an entry is noted where it was added, last.
STOOD: Final[tuple[LiteralString, LiteralString]] = (
    """
with seen as materialized (
  select h.* from hermes_memory.history h
   where h.change <> 'erased' and h.recorded_at <= $5 and ($6::text is null or h.target = $6)""",
    """),
latest as (
  select distinct on (s.row_id) s.* from seen s
   order by s.row_id, s.recorded_at desc, s.erasure nulls first, s.id),
came as (
  select distinct on (s.row_id, s.agent_identity) s.row_id, s.agent_identity, s.metadata from seen s
   where s.metadata is not null order by s.row_id, s.agent_identity, s.recorded_at desc, s.id)
select l.row_id, l.agent_identity, l.subject, l.target, l.new_content, l.said_at, l.at, l.origin, l.session_id,
       l.operation, l.tool, f.metadata as came_with
  from latest l left join came f on f.row_id = l.row_id and f.agent_identity = l.agent_identity
 where l.change <> 'removed' and l.merged_into is null and l.new_content is not null and l.erasure is null
   and ($3::text[] is null or l.session_id = any ($3))
 order by l.recorded_at desc, l.row_id limit $4""",
)

MOMENT: Final[LiteralString] = "select clock_timestamp() as now"

Place: TypeAlias = tuple[LiteralString, str, list[bytes], list[SessionId] | None]
"""The condition that says where to look, and what it is about: theme, subjects, names of the session."""


class PostgresHistory:
    """`HistoryReader` on Postgres.

    Args:
        pool: Connections of the runtime role.
    """

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def of_row(self, caller: Caller, row: RowId, *, limit: int, timeout: float) -> Sequence[Change]:
        """Return the changes of a memory; see `HistoryReader.of_row`."""
        async with self._pool.transaction(caller, timeout=timeout, read_only=True) as transaction:
            if found := await transaction.fetch(OF_ROW, persons(caller), row, limit):
                return [_change(record) for record in found]
            turns = await transaction.fetch(SAID, persons(caller), row)
            return [said(turn_of(turn), accepted_at=utc(turn["updated_at"])) for turn in turns]

    async def of_operation(self, caller: Caller, operation: OperationId, *, timeout: float) -> Sequence[Change]:
        """Return what a write changed; see `HistoryReader.of_operation`."""
        found = await self._fetch(caller, timeout, OF_OPERATION, caller.theme, own_subjects(caller), operation)
        return [_change(record) for record in found]

    async def recent(self, caller: Caller, scope: Scope, *, limit: int, timeout: float) -> Sequence[Change]:
        """Return the changes within a scope; see `HistoryReader.recent`."""
        where, *place = _place(caller, scope)
        found = await self._fetch(caller, timeout, RECENT[0] + where + RECENT[1], *place, limit)
        return [_change(record) for record in found]

    async def entries_at(
        self,
        caller: Caller,
        scope: Scope,
        moment: datetime,
        *,
        target: Target | None = None,
        limit: int,
        timeout: float,
    ) -> Sequence[Entry]:
        """Return memories as they stood; see `HistoryReader.entries_at`."""
        where, *place = _place(caller, scope)
        wanted = str(target) if target else None
        found = await self._fetch(caller, timeout, STOOD[0] + where + STOOD[1], *place, limit, moment, wanted)
        return [_entry(record) for record in found]

    async def stored_at(
        self, caller: Caller, turns: Collection[RowId], moment: datetime, *, timeout: float
    ) -> frozenset[RowId]:
        """Tell which turns had been accepted; see `HistoryReader.stored_at`."""
        found = await self._fetch(caller, timeout, STORED_AT, persons(caller), list(turns), moment)
        return frozenset(RowId(record["id"]) for record in found)

    async def moment(self, *, timeout: float) -> datetime:
        """Return the time; see `HistoryReader.moment`. How long a connection was waited for is taken off."""
        clock = asyncio.get_running_loop().time
        called = clock()
        async with self._pool.transaction(None, timeout=timeout, read_only=True) as transaction:
            waited = timedelta(seconds=clock() - called)
            (told,) = await transaction.fetch(MOMENT)
        return utc(told["now"]) - waited

    async def _fetch(
        self, caller: Caller, timeout: float, statement: LiteralString, *arguments: object
    ) -> list[Record]:
        async with self._pool.transaction(caller, timeout=timeout, read_only=True) as transaction:
            return await transaction.fetch(statement, *arguments)


def _place(caller: Caller, scope: Scope) -> Place:
    subjects = own_subjects(caller)
    match scope:
        case CurrentScope():
            return IN_THEME, caller.theme, subjects, None
        case ThemeScope():
            return IN_THEME, scope.theme, subjects, None
        case SessionScope():
            return IN_THEME, caller.theme, subjects, [*scope.names]
        case SubjectScope():
            return OF_SUBJECT, caller.theme, subjects, None
        case AllScope():
            return EVERYWHERE, caller.theme, subjects, None
        case _:
            assert_never(scope)


def _change(record: Record) -> Change:
    subject, session, merged, said = (record[name] for name in ("subject", "session_id", "merged_into", "said_at"))
    return Change(
        id=record["id"],
        theme=Theme(record["agent_identity"]),
        subject=Subject(subject) if subject else None,
        row=RowId(record["row_id"]),
        kind=ChangeKind(record["change"]),
        target=None if record["target"] == SAID_TARGET else Target(record["target"]),
        before=record["old_content"],
        after=record["new_content"],
        origin=Origin(record["origin"]),
        tool=record["tool"],
        session=SessionId(session) if session is not None else None,
        operation=OperationId(record["operation"]),
        reason=record["reason"],
        at=utc(record["at"]),
        recorded_at=utc(record["recorded_at"]),
        said_at=utc(said) if said else None,
        metadata=_metadata(record["metadata"]),
        merged_into=RowId(merged) if merged else None,
        erased=record["erasure"] is not None,
    )


def _entry(record: Record) -> Entry:
    subject, session = record["subject"], record["session_id"]
    return Entry(
        id=RowId(record["row_id"]),
        theme=Theme(record["agent_identity"]),
        subject=Subject(subject) if subject else None,
        target=Target(record["target"]),
        content=record["new_content"],
        at=utc(record["said_at"]),
        updated_at=utc(record["at"]),
        origin=Origin(record["origin"]),
        session=SessionId(session) if session is not None else None,
        metadata=_metadata(record["came_with"]) or NO_METADATA,
        operation=OperationId(record["operation"]),
        tool=record["tool"],
    )


def _metadata(text: Any) -> Metadata | None:
    return None if text is None else (json.loads(text) or NO_METADATA)
