"""Stores what was said, numbered within its session."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Final, LiteralString, TypeAlias

from hermes_memory.adapters.postgres import jobs, lexicon
from hermes_memory.adapters.postgres.entries import Analyze
from hermes_memory.adapters.postgres.lexicon import TURN_SHELF, Indexed, indexed
from hermes_memory.adapters.postgres.pacing import Pace
from hermes_memory.adapters.postgres.pool import Transaction
from hermes_memory.adapters.postgres.rows import columns_in_parts, content_hash, json_text, subject_key, utc
from hermes_memory.domain.errors import InvalidInput
from hermes_memory.domain.forgotten import has_forgotten, marks
from hermes_memory.domain.lexemes import indexed_text
from hermes_memory.domain.model import Caller, Kind, RowId, SessionId
from hermes_memory.domain.operations import Effect, Outcome, RecordTurns, TurnDraft, row_id
from hermes_memory.domain.postings import lexeme_key

if TYPE_CHECKING:
    from hermes_memory.adapters.postgres.rows import Record

TurnKey: TypeAlias = tuple[SessionId, str, bytes, int]
"""Session, role, content hash and occurrence: what makes two turns of a theme and subject the same."""

STRETCH: Final = 64
"""Turns of a session that share a number in the text index."""
HASH_BYTES: Final = 32

# The session's row is locked from here on: whoever else records turns of it waits, so positions have no gap or twin.
HOLD_SESSIONS: Final[LiteralString] = """
insert into hermes_memory.sessions as s
  (agent_identity, subject, session_id, parent_session_id, started_at, last_at)
select $1, $2, u.session_id, u.parent, u.first_at, u.last_at
  from unnest($3::text[], $4::text[], $5::timestamptz[], $6::timestamptz[]) as u(session_id, parent, first_at, last_at)
 order by u.session_id
    on conflict (agent_identity, subject, session_id)
    do update set parent_session_id = coalesce(s.parent_session_id, excluded.parent_session_id),
                  started_at = least(s.started_at, excluded.started_at),
                  last_at = greatest(s.last_at, excluded.last_at)
returning session_id, parent_session_id, turns, lex_number, lex_used, forgotten"""

KNOWN: Final[LiteralString] = """
select c.id, c.session_id, c.role, c.content_hash, c.occurrence
  from hermes_memory.conversations c
  join unnest($3::text[], $4::text[], $5::bytea[], $6::int[]) as u(session_id, role, content_hash, occurrence)
    on c.session_id = u.session_id and c.role = u.role and c.content_hash = u.content_hash
   and c.occurrence = u.occurrence
 where c.agent_identity = $1 and c.subject = $2"""

NEXT_STRETCHES: Final[LiteralString] = """
select nextval('hermes_memory.lex_numbers') as number from generate_series(1, $1::int)"""

ADD: Final[LiteralString] = """
insert into hermes_memory.conversations
  (agent_identity, subject, id, session_id, parent_session_id, position, role, speaker, content, content_hash,
   occurrence, origin, embed, metadata, ts, created_at, operation, row_hash, lex, lex_key, lex_length)
select $1, $2, u.id, u.session_id, u.parent, u.position, u.role, u.speaker, u.content, u.content_hash, u.occurrence,
       u.origin, u.embed, u.metadata, u.ts, u.created_at, u.operation,
       hermes_memory.turn_hash($1, $2, u.id, u.session_id, u.role, u.speaker, u.content_hash, u.occurrence, u.origin,
                               u.embed, u.metadata, u.ts, u.created_at, u.operation),
       u.lex::tsvector, u.lex_key, u.lex_length
  from unnest($3::uuid[], $4::text[], $5::text[], $6::int[], $7::text[], $8::text[], $9::text[], $10::bytea[],
              $11::int[], $12::text[], $13::bool[], $14::jsonb[], $15::timestamptz[], $16::timestamptz[], $17::uuid[],
              $18::text[], $19::bigint[], $20::int[])
    as u(id, session_id, parent, position, role, speaker, content, content_hash, occurrence, origin, embed, metadata,
         ts, created_at, operation, lex, lex_key, lex_length)
returning session_id, row_hash"""

ADVANCE_SESSIONS: Final[LiteralString] = """
update hermes_memory.sessions s set turns = u.turns, lex_number = u.lex_number, lex_used = u.lex_used,
       tally = s.tally # hermes_memory.tally_of(u.tally)
  from unnest($3::text[], $4::int[], $5::bigint[], $6::int[], $7::bytea[])
    as u(session_id, turns, lex_number, lex_used, tally)
 where s.agent_identity = $1 and s.subject = $2 and s.session_id = u.session_id"""


@dataclass(slots=True)
class _Session:
    """Where a session stands, while its turns are numbered."""

    parent: str | None
    turns: int
    lex_number: int
    lex_used: int
    forgotten: frozenset[bytes]

    def has_forgotten(self, key: TurnKey) -> bool:
        _, role, digest, occurrence = key
        return has_forgotten(self.forgotten, role, occurrence, digest)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Said:
    """One turn that was handed in. `row` is the id it gets if it is stored."""

    operation: RecordTurns
    draft: TurnDraft
    row: RowId
    key: TurnKey


@dataclass(frozen=True, slots=True, kw_only=True)
class _Placed:
    """A turn about to be stored, in its place."""

    said: _Said
    parent: str | None
    position: int
    lex_key: int
    indexed: Indexed

    def values(self) -> tuple[object, ...]:
        draft, stamp = self.said.draft, self.said.operation.stamp
        session, role, digest, occurrence = self.said.key
        return (
            *(self.said.row, session, self.parent, self.position),
            *(role, draft.speaker, draft.content, digest, occurrence),
            *(draft.origin.value, draft.embed, json_text(draft.metadata), draft.at, stamp.accepted_at, stamp.operation),
            *(self.indexed.vector, self.lex_key, self.indexed.length),
        )


class Turns:
    """Writes turns on behalf of one theme and subject at a time.

    Args:
        analyze: Turns a text into its lexemes, repetitions kept.
    """

    def __init__(self, analyze: Analyze) -> None:
        self._analyze = analyze

    async def record(self, transaction: Transaction, caller: Caller, records: Sequence[RecordTurns]) -> list[Outcome]:
        """Store the turns that are neither stored yet nor forgotten, in order; the others are left as they are."""
        theme, subject = caller.theme, subject_key(caller.subject)
        sessions = await _hold(transaction, theme, subject, records)
        said = await _said(records)
        rows = await _known(transaction, theme, subject, said)
        fresh = _fresh(said, rows, sessions)
        rows.update({turn.key: turn.row for turn in fresh})
        placed = await self._place(transaction, sessions, fresh)
        if placed:
            await self._insert(transaction, theme, subject, sessions, placed)
        return _outcomes(records, said, rows, stored={turn.row for turn in fresh})

    async def _place(
        self, transaction: Transaction, sessions: dict[SessionId, _Session], fresh: Sequence[_Said]
    ) -> list[_Placed]:
        """Give new turns their positions in session and text index."""
        numbers = iter(await _stretches(transaction, sessions, fresh))
        placed: list[_Placed] = []
        pace = Pace()
        for turn in fresh:
            await pace.breathe()
            placed.append(self._placed(turn, sessions[turn.key[0]], numbers))
        return placed

    def _placed(self, turn: _Said, session: _Session, numbers: Iterator[int]) -> _Placed:
        if session.lex_used == STRETCH:
            session.lex_number, session.lex_used = next(numbers), 0
        draft = turn.draft
        placed = _Placed(
            said=turn,
            # A delegation may have told the parent before, which the child itself does not know.
            parent=turn.operation.parent_session or session.parent,
            position=session.turns,
            lex_key=lexeme_key(session.lex_number, session.lex_used),
            indexed=indexed(self._analyze(indexed_text(draft.content, at=utc(draft.at), speaker=draft.speaker))),
        )
        session.turns += 1
        session.lex_used += 1
        return placed

    async def _insert(
        self,
        transaction: Transaction,
        theme: str,
        subject: bytes,
        sessions: dict[SessionId, _Session],
        placed: Sequence[_Placed],
    ) -> None:
        tallies: Counter[str] = Counter()
        for part in columns_in_parts(turn.values() for turn in placed):
            tally(tallies, await transaction.fetch(ADD, theme, subject, *part))
        states = [
            (name, s.turns, s.lex_number, s.lex_used, tallies[name].to_bytes(HASH_BYTES))
            for name, s in sorted(sessions.items())
        ]
        for part in columns_in_parts(states):
            await transaction.execute(ADVANCE_SESSIONS, theme, subject, *part)
        documents = ((TURN_SHELF, turn.indexed.under(turn.lex_key)) for turn in placed)
        await lexicon.append(transaction, theme, subject, documents)
        wanted = (turn.said for turn in placed if turn.said.draft.embed)
        waiting = [jobs.Waiting(row=turn.row, kind=Kind.TURN, content_hash=turn.key[2]) for turn in wanted]
        await jobs.enqueue(transaction, theme, subject, waiting)


def tally(tallies: dict[str, int], stored: Sequence[Record]) -> None:
    """Add the hashes of stored turns to what those of their sessions come to, bit by bit."""
    for turn in stored:
        tallies[turn["session_id"]] ^= int.from_bytes(turn["row_hash"])


async def _said(records: Sequence[RecordTurns]) -> list[_Said]:
    """Name every turn that is handed in, in order."""
    said: list[_Said] = []
    pace = Pace()
    for operation in records:
        for index, draft in enumerate(operation.turns):
            row = row_id(operation.stamp.operation, index)
            said.append(_Said(operation=operation, draft=draft, row=row, key=_turn_key(operation, draft)))
        await pace.breathe()
    return said


async def _hold(
    transaction: Transaction, theme: str, subject: bytes, records: Sequence[RecordTurns]
) -> dict[SessionId, _Session]:
    """Lock the sessions, made if need be, and tell where they stand."""
    wanted: dict[SessionId, tuple[SessionId | None, datetime, datetime]] = {}
    for operation in records:
        session, times = _session(operation), [draft.at for draft in operation.turns]
        parent, first, last = wanted.get(session, (None, times[0], times[0]))
        wanted[session] = (parent or operation.parent_session, min(first, *times), max(last, *times))
    held: dict[SessionId, _Session] = {}
    for part in columns_in_parts((session, *facts) for session, facts in sorted(wanted.items())):
        found = await transaction.fetch(HOLD_SESSIONS, theme, subject, *part)
        held |= {SessionId(r["session_id"]): _standing(r) for r in found}
    return held


def _standing(record: Record) -> _Session:
    *_, parent, turns, number, used, forgotten = record
    return _Session(parent, turns, number, used, marks(forgotten))


async def _known(transaction: Transaction, theme: str, subject: bytes, said: Sequence[_Said]) -> dict[TurnKey, RowId]:
    known: dict[TurnKey, RowId] = {}
    for part in columns_in_parts(list({turn.key: None for turn in said})):
        found = await transaction.fetch(KNOWN, theme, subject, *part)
        known |= {_stored_key(record): RowId(record["id"]) for record in found}
    return known


def _fresh(said: Sequence[_Said], known: dict[TurnKey, RowId], sessions: dict[SessionId, _Session]) -> list[_Said]:
    """Return the turns that are neither stored yet nor forgotten, each key once, in order."""
    fresh: dict[TurnKey, _Said] = {}
    for turn in said:
        if turn.key not in known and not sessions[turn.key[0]].has_forgotten(turn.key):
            fresh.setdefault(turn.key, turn)
    return list(fresh.values())


async def _stretches(
    transaction: Transaction, sessions: dict[SessionId, _Session], fresh: Sequence[_Said]
) -> list[int]:
    """Fetch as many numbers of stretches as the new turns will begin."""
    new = Counter(turn.key[0] for turn in fresh)
    beyond = (new[name] - (STRETCH - session.lex_used) for name, session in sessions.items())
    wanted = sum(-(-turns // STRETCH) for turns in beyond if turns > 0)
    return [record["number"] for record in await transaction.fetch(NEXT_STRETCHES, wanted)] if wanted else []


def _session(operation: RecordTurns) -> SessionId:
    if operation.stamp.caller.session is None:
        raise InvalidInput("a turn belongs to a session: name it", field="session")
    return operation.stamp.caller.session


def _turn_key(operation: RecordTurns, draft: TurnDraft) -> TurnKey:
    return _session(operation), draft.role.value, content_hash(draft.content), draft.occurrence


def _stored_key(record: Record) -> TurnKey:
    return SessionId(record["session_id"]), record["role"], record["content_hash"], record["occurrence"]


def _outcomes(
    records: Sequence[RecordTurns], said: Sequence[_Said], rows: dict[TurnKey, RowId], *, stored: set[RowId]
) -> list[Outcome]:
    effective = {turn.operation.stamp.operation for turn in said if turn.row in stored}
    row_of = {turn.operation.stamp.operation: rows.get(turn.key) for turn in said}
    return [
        Outcome(
            operation=(key := operation.stamp.operation),
            effect=Effect.STORED if key in effective else Effect.UNCHANGED,
            row=row_of[key] if len(operation.turns) == 1 else None,
        )
        for operation in records
    ]
