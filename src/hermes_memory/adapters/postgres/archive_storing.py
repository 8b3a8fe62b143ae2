"""Stores an archive's records as they were, past the wall: the operator's way in."""

from __future__ import annotations

import asyncio
import json
import secrets
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final, LiteralString, cast
from uuid import uuid4

from hermes_memory.adapters.postgres.administrator import Administrator
from hermes_memory.adapters.postgres.archive_entries import store_entries
from hermes_memory.adapters.postgres.archive_reading import MODEL
from hermes_memory.adapters.postgres.archive_turns import store_turns
from hermes_memory.adapters.postgres.archive_vectors import Vectored
from hermes_memory.adapters.postgres.errors import translated
from hermes_memory.adapters.postgres.history import SALT_BYTES
from hermes_memory.adapters.postgres.pool import Transaction
from hermes_memory.adapters.postgres.rows import columns_in_parts, json_text, subject_key
from hermes_memory.domain.archive import (
    Archived,
    ArchivedChange,
    ArchivedDelegation,
    ArchivedEntry,
    ArchivedSession,
    ArchivedTheme,
    ArchivedTurn,
    EmbeddingModel,
    archived_kind,
)
from hermes_memory.domain.errors import StoreUnavailable
from hermes_memory.ports.archive import Receipt

if TYPE_CHECKING:
    from hermes_memory.adapters.postgres.entries import Analyze

# What a statement looks up does not hold what it stores itself: a key that is not found is new.
REGISTER: Final[LiteralString] = """
insert into hermes_memory.memory_agents as a (agent_identity, first_seen_at, last_seen_at, metadata)
select u.* from unnest($1::text[], $2::timestamptz[], $3::timestamptz[], $4::jsonb[]) as u
    on conflict (agent_identity)
    do update set first_seen_at = least(a.first_seen_at, excluded.first_seen_at),
                  last_seen_at = greatest(a.last_seen_at, excluded.last_seen_at),
                  metadata = excluded.metadata || a.metadata
returning not exists (select from hermes_memory.memory_agents b where b.agent_identity = a.agent_identity) as added"""

# A theme that an archive does not tell of is known from its rows on.
ENSURE: Final[LiteralString] = """
insert into hermes_memory.memory_agents (agent_identity, first_seen_at, last_seen_at)
select theme, now(), now() from unnest($1::text[]) as u(theme)
    on conflict (agent_identity) do nothing"""

SESSIONS: Final[LiteralString] = """
insert into hermes_memory.sessions as s
  (agent_identity, subject, session_id, parent_session_id, started_at, last_at, forgotten)
select $1, $2, u.* from unnest($3::text[], $4::text[], $5::timestamptz[], $6::timestamptz[], $7::bytea[]) as u
    on conflict (agent_identity, subject, session_id)
    do update set parent_session_id = coalesce(s.parent_session_id, excluded.parent_session_id),
                  started_at = least(s.started_at, excluded.started_at),
                  last_at = greatest(s.last_at, excluded.last_at),
                  forgotten = s.forgotten || hermes_memory.marks_besides(
                    s.agent_identity, s.subject, s.session_id, excluded.forgotten)
returning not exists (select from hermes_memory.sessions b
                       where b.agent_identity = s.agent_identity and b.subject = s.subject
                         and b.session_id = s.session_id) as added"""

DELEGATIONS: Final[LiteralString] = """
insert into hermes_memory.memory_agent_edges
  (agent_identity, subject, id, parent_session_id, child_identity, child_session_id, task, result, created_at)
select $1, $2, u.* from unnest(
  $3::uuid[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::timestamptz[]) as u
    on conflict do nothing
returning true as added"""

# Each change gets a salt and a hash of its own here; one whose texts were erased keeps the hash that it had. None comes
# in of an entry that is there: that is left as it is, and would not be what its last change says. Nothing was recorded
# later than now: a change that says so would be the last one for ever.
CHANGES: Final[LiteralString] = """
insert into hermes_memory.history
  (agent_identity, subject, id, row_id, operation, change, target, old_content, new_content, origin, tool, session_id,
   reason, at, said_at, recorded_at, metadata, merged_into, erasure, salt, row_hash)
select $1, $2, u.id, u.row_id, u.operation, u.change, u.target, u.old_content, u.new_content, u.origin, u.tool,
       u.session_id, u.reason, u.at, u.said_at, u.recorded_at, u.metadata, u.merged_into, u.erasure,
       case when u.digest is null then u.salt end,
       coalesce(u.digest, sha256(u.salt || convert_to(hermes_memory.change_form(
         $1, $2, u.id, u.row_id, u.operation, u.change, u.target, u.old_content, u.new_content, u.origin, u.tool,
         u.session_id, u.reason, u.at, u.said_at, u.recorded_at, u.metadata, u.merged_into), 'UTF8')))
  from (select t.*, least(t.told_at, clock_timestamp()) as recorded_at
          from unnest($3::uuid[], $4::uuid[], $5::uuid[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[],
                      $11::text[], $12::text[], $13::text[], $14::timestamptz[], $15::timestamptz[],
                      $16::timestamptz[], $17::jsonb[], $18::uuid[], $19::uuid[], $20::bytea[], $21::bytea[])
            as t(id, row_id, operation, change, target, old_content, new_content, origin, tool, session_id, reason, at,
                 said_at, told_at, metadata, merged_into, erasure, digest, salt)
         where not exists (select from hermes_memory.memory_entries e where e.agent_identity = $1 and e.id = t.row_id)
        offset 0) u
    on conflict do nothing
returning true as added"""


BEGIN: Final[LiteralString] = """
insert into hermes_memory.memory_maintenance_log (id, verb, detail) values ($1, 'import', '{"finished": false}')"""
END: Final[LiteralString] = """
update hermes_memory.memory_maintenance_log
   set detail = $2::text::jsonb || jsonb_build_object('finished', $4::boolean), affected = $3
 where id = $1"""


class PostgresArchive:
    """`Archive` on Postgres.

    Args:
        administrator: A connection with the owner's rights.
        analyze: Turns a text into its lexemes, repetitions kept. Queries must come through the same analyser.
        timeout: Seconds that one call may take.
    """

    def __init__(self, administrator: Administrator, *, analyze: Analyze, timeout: float = 120.0) -> None:
        self._administrator = administrator
        self._analyze = analyze
        self._timeout = timeout
        self._log = uuid4()

    async def model(self) -> EmbeddingModel | None:
        """Return the model in use; see `Archive.model`."""
        async with self._administrator.transaction(read_only=True) as connection:
            found = await connection.fetchrow(MODEL)
        if found is None:
            return None
        return EmbeddingModel(name=found["model"], dimension=found["dimension"], part_tokens=found["part_tokens"])

    async def store(self, records: Sequence[Archived], *, vectors: bool) -> Receipt:
        """Store records, all or none; see `Archive.store`."""
        with translated(StoreUnavailable):
            async with self._administrator.transaction() as connection:
                deadline = asyncio.get_running_loop().time() + self._timeout
                transaction = Transaction(connection, deadline, self._timeout, None)
                where = await _place_of_vectors(transaction) if vectors else Vectored()
                receipt, first = Receipt(), 0
                for _, group in groupby(records, key=_owner):
                    alike = list(group)
                    receipt = _joined(receipt, await self._store(transaction, alike, where), first)
                    first += len(alike)
                await transaction.execute(ENSURE, sorted({str(record.theme) for record in records}))
                return receipt

    async def begin(self) -> None:
        """Note that something is brought in; see `Archive.begin`."""
        log = self._log = uuid4()
        await self._administrator.repeatedly(lambda connection: connection.execute(BEGIN, log))

    async def end(self, new: Mapping[str, int], *, whole: bool) -> None:
        """Note what was brought in; see `Archive.end`."""
        noted = (self._log, json.dumps(dict(new)), sum(new.values()), whole)
        await self._administrator.repeatedly(lambda connection: connection.execute(END, *noted))

    async def _store(self, transaction: Transaction, alike: Sequence[Archived], vectors: Vectored) -> Receipt:
        match alike[0]:
            case ArchivedEntry():
                return await store_entries(transaction, self._analyze, cast("list[ArchivedEntry]", alike), vectors)
            case ArchivedTurn():
                return await store_turns(transaction, self._analyze, cast("list[ArchivedTurn]", alike), vectors)
            case ArchivedTheme():
                return await _put(transaction, REGISTER, alike)
            case ArchivedSession():
                return await _put(transaction, SESSIONS, alike)
            case ArchivedDelegation():
                return await _put(transaction, DELEGATIONS, alike)
            case ArchivedChange():
                return await _put(transaction, CHANGES, alike)


async def _place_of_vectors(transaction: Transaction) -> Vectored:
    found = await transaction.fetch_row(MODEL)
    return Vectored(generation=found["generation"], dimension=found["dimension"]) if found else Vectored()


async def _put(transaction: Transaction, statement: LiteralString, alike: Sequence[Archived]) -> Receipt:
    """Store records that nothing is derived from; a key that is there was stored before, by whatever it holds."""
    whose: tuple[Any, ...] = ()
    if not isinstance(first := alike[0], ArchivedTheme):
        whose = (first.theme, subject_key(first.subject))
    new = 0
    for different in _rounds(alike):
        for part in columns_in_parts(map(_values, different)):
            new += sum(row["added"] for row in await transaction.fetch(statement, *whose, *part))
    return Receipt(new={archived_kind(alike[0]): new}, known=len(alike) - new)


def _rounds(alike: Sequence[Archived]) -> Iterator[list[Archived]]:
    """Yield records so that none meets another one of its identity in one statement, which could not join the two."""
    rounds: list[dict[object, Archived]] = []
    met: Counter[object] = Counter()
    for record in alike:
        identity = _identity(record)
        if met[identity] == len(rounds):
            rounds.append({})
        rounds[met[identity]][identity] = record
        met[identity] += 1
    for each in rounds:
        yield list(each.values())


def _identity(record: Archived) -> object:
    """Return what a record has in common with no other one of its kind and owner."""
    match record:
        case ArchivedTheme():
            return record.theme
        case ArchivedSession():
            return record.session
        case _:
            return record.id


def _values(record: Archived) -> tuple[object, ...]:
    match record:
        case ArchivedTheme():
            return record.theme, record.first_seen_at, record.last_seen_at, json_text(record.metadata)
        case ArchivedSession():
            return record.session, record.parent, record.started_at, record.last_at, record.forgotten
        case ArchivedDelegation():
            return (
                *(record.id, record.session, record.child_theme, record.child_session),
                *(record.task, record.result, record.created_at),
            )
        case ArchivedChange():
            metadata = None if record.metadata is None else json_text(record.metadata)
            return (
                *(record.id, record.row, record.operation, record.change, record.target, record.before, record.after),
                *(record.origin, record.tool, record.session, record.reason),
                *(record.at, record.said_at, record.recorded_at, metadata, record.merged_into, record.erasure),
                *(record.digest, secrets.token_bytes(SALT_BYTES)),
            )
        case ArchivedEntry() | ArchivedTurn():
            raise AssertionError("stored with what is derived from them")


def _owner(record: Archived) -> tuple[object, ...]:
    """Return what records that are stored together have in common."""
    if isinstance(record, ArchivedTheme):
        return ("theme",)
    return archived_kind(record), record.theme, record.subject


def _joined(before: Receipt, after: Receipt, first: int) -> Receipt:
    new = {kind: before.new.get(kind, 0) + after.new.get(kind, 0) for kind in {**before.new, **after.new}}
    return Receipt(
        new=new,
        known=before.known + after.known,
        altered=before.altered + after.altered,
        missing=[*before.missing, *(first + place for place in after.missing)],
    )
