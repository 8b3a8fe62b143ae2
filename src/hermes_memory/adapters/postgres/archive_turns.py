"""Stores archived turns as they were said, in their places within session and text index."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, LiteralString

from hermes_memory.adapters.postgres import jobs, lexicon
from hermes_memory.adapters.postgres.archive_vectors import Vectored
from hermes_memory.adapters.postgres.lexicon import TURN_SHELF, Indexed, indexed
from hermes_memory.adapters.postgres.pacing import Pace
from hermes_memory.adapters.postgres.rows import columns_in_parts, content_hash, json_text, subject_key, utc
from hermes_memory.adapters.postgres.turns import (
    ADD,
    ADVANCE_SESSIONS,
    HASH_BYTES,
    HOLD_SESSIONS,
    KNOWN,
    NEXT_STRETCHES,
    STRETCH,
    tally,
)
from hermes_memory.domain.archive import ArchivedTurn
from hermes_memory.domain.forgotten import has_forgotten, marks
from hermes_memory.domain.lexemes import indexed_text
from hermes_memory.domain.model import Kind, RowId
from hermes_memory.domain.postings import lexeme_key
from hermes_memory.ports.archive import Receipt

if TYPE_CHECKING:
    from hermes_memory.adapters.postgres.entries import Analyze
    from hermes_memory.adapters.postgres.pool import Transaction

KNOWN_IDS: Final[LiteralString] = """
select c.id from hermes_memory.conversations c where c.agent_identity = $1 and c.id = any ($2::uuid[])"""

PRESENT: Final[LiteralString] = """
select u.n from unnest($3::text[], $4::text[], $5::bytea[], $6::int[]) with ordinality
    as u(session_id, role, hash, occurrence, n)
  join hermes_memory.conversations c
    on c.agent_identity = $1 and c.subject = $2 and c.session_id = u.session_id and c.role = u.role
   and c.content_hash = u.hash and c.occurrence = u.occurrence
 where sha256(convert_to(c.content, 'UTF8')) = u.hash"""


@dataclass(slots=True)
class _Session:
    """Where a session stands while its turns are placed."""

    turns: int
    lex_number: int
    lex_used: int
    forgotten: frozenset[bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Placed:
    """A turn in its place."""

    turn: ArchivedTurn
    position: int
    lex_key: int
    words: Indexed
    key: tuple[str, str, bytes, int] = field(default=("", "", b"", 0))

    def values(self) -> tuple[object, ...]:
        turn = self.turn
        session, role, digest, occurrence = self.key
        return (
            *(turn.id, session, turn.parent, self.position, role, turn.speaker, turn.content, digest, occurrence),
            *(turn.origin, turn.embed, json_text(turn.metadata), turn.said_at, turn.created_at, turn.operation),
            *(self.words.vector, self.lex_key, self.words.length),
        )


async def store_turns(
    transaction: Transaction, analyze: Analyze, turns: Sequence[ArchivedTurn], vectors: Vectored
) -> Receipt:
    """Store turns of one theme and subject."""
    theme, subject = turns[0].theme, subject_key(turns[0].subject)
    sessions = await _hold(transaction, theme, subject, turns)
    keys = [_key(turn) for turn in turns]
    columns = [list(column) for column in zip(*keys, strict=True)]
    found = await transaction.fetch(KNOWN, theme, subject, *columns)
    equal = {(row["session_id"], row["role"], row["content_hash"], row["occurrence"]) for row in found}
    known = {row["id"] for row in await transaction.fetch(KNOWN_IDS, theme, [turn.id for turn in turns])}
    fresh: dict[object, ArchivedTurn] = {}
    for turn, key in zip(turns, keys, strict=True):
        if turn.id not in known and key not in equal and key not in fresh and not _forgotten(key, sessions):
            fresh[key] = turn
            known.add(turn.id)
    placed = await _place(transaction, analyze, sessions, list(fresh.values()))
    if placed:
        tallies = await _insert(transaction, theme, subject, placed, vectors)
        await _advance(transaction, theme, subject, sessions, tallies)
    present = {row["n"] - 1 for row in await transaction.fetch(PRESENT, theme, subject, *columns)}
    absent = [place for place, key in enumerate(keys) if place not in present and not _forgotten(key, sessions)]
    missing = [place for place in absent if turns[place].id not in known]
    altered = len(absent) - len(missing)
    left = len(turns) - len(placed) - altered - len(missing)
    return Receipt(new={"turn": len(placed)}, known=left, altered=altered, missing=missing)


async def _hold(
    transaction: Transaction, theme: str, subject: bytes, turns: Sequence[ArchivedTurn]
) -> dict[str, _Session]:
    """Lock the sessions, made if need be, and tell where they stand."""
    times: dict[str, list[ArchivedTurn]] = {}
    for turn in turns:
        times.setdefault(turn.session, []).append(turn)
    wanted = (
        (session, None, min(each.said_at for each in said), max(each.said_at for each in said))
        for session, said in sorted(times.items())
    )
    held = {}
    for part in columns_in_parts(wanted):
        for row in await transaction.fetch(HOLD_SESSIONS, theme, subject, *part):
            held[row["session_id"]] = _Session(
                row["turns"], row["lex_number"], row["lex_used"], marks(row["forgotten"])
            )
    return held


async def _place(
    transaction: Transaction, analyze: Analyze, sessions: Mapping[str, _Session], fresh: Sequence[ArchivedTurn]
) -> list[_Placed]:
    numbers = iter(await _stretches(transaction, sessions, fresh))
    placed = []
    pace = Pace()
    for turn in fresh:
        await pace.breathe()
        words = indexed(analyze(indexed_text(turn.content, at=utc(turn.said_at), speaker=turn.speaker)))
        placed.append(_placed(turn, sessions[turn.session], numbers, words))
    return placed


def _placed(turn: ArchivedTurn, session: _Session, numbers: Iterator[int], words: Indexed) -> _Placed:
    if session.lex_used == STRETCH:
        session.lex_number, session.lex_used = next(numbers), 0
    position = max(turn.position, session.turns)
    lex_key = lexeme_key(session.lex_number, session.lex_used)
    session.turns = position + 1
    session.lex_used += 1
    return _Placed(turn=turn, position=position, lex_key=lex_key, words=words, key=_key(turn))


async def _stretches(
    transaction: Transaction, sessions: Mapping[str, _Session], fresh: Sequence[ArchivedTurn]
) -> list[int]:
    """Fetch as many numbers of stretches as the new turns will begin."""
    new: dict[str, int] = {}
    for turn in fresh:
        new[turn.session] = new.get(turn.session, 0) + 1
    beyond = (count - (STRETCH - sessions[name].lex_used) for name, count in new.items())
    wanted = sum(-(-turns // STRETCH) for turns in beyond if turns > 0)
    return [row["number"] for row in await transaction.fetch(NEXT_STRETCHES, wanted)] if wanted else []


async def _insert(
    transaction: Transaction,
    theme: str,
    subject: bytes,
    placed: Sequence[_Placed],
    vectors: Vectored,
) -> Counter[str]:
    """Store turns, and return what their hashes come to, by session."""
    tallies: Counter[str] = Counter()
    for part in columns_in_parts(each.values() for each in placed):
        tally(tallies, await transaction.fetch(ADD, theme, subject, *part))
    documents = ((TURN_SHELF, each.words.under(each.lex_key)) for each in placed)
    await lexicon.append(transaction, theme, subject, documents)
    waiting = [
        jobs.Waiting(row=RowId(each.turn.id), kind=Kind.TURN, content_hash=each.key[2])
        for each in placed
        if each.turn.embed
    ]
    await jobs.enqueue(transaction, theme, subject, waiting)
    told = {each.turn.id: _vectors(each) for each in placed}
    follows = {each.turn.id: each.turn.follows for each in placed}
    await vectors.store(transaction, theme, waiting, told, follows)
    return tallies


def _vectors(placed: _Placed) -> Sequence[bytes]:
    """Return the vectors that may be taken over: they hold words of the turn before.

    Of a turn that does not say which one that was, those of the first one of a session alone.
    """
    return placed.turn.vectors if placed.turn.follows is not None or placed.position == 0 else ()


async def _advance(
    transaction: Transaction, theme: str, subject: bytes, sessions: Mapping[str, _Session], tallies: Counter[str]
) -> None:
    states = [
        (name, each.turns, each.lex_number, each.lex_used, tallies[name].to_bytes(HASH_BYTES))
        for name, each in sorted(sessions.items())
    ]
    for part in columns_in_parts(states):
        await transaction.execute(ADVANCE_SESSIONS, theme, subject, *part)


def _forgotten(key: tuple[str, str, bytes, int], sessions: Mapping[str, _Session]) -> bool:
    session, role, digest, occurrence = key
    return has_forgotten(sessions[session].forgotten, role, occurrence, digest)


def _key(turn: ArchivedTurn) -> tuple[str, str, bytes, int]:
    return turn.session, turn.role, content_hash(turn.content), turn.occurrence
