"""The rows of an in-memory store, and the bookkeeping that has to change together with them."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Final, TypeAlias
from uuid import UUID, uuid4

import anyio

from hermes_memory.adapters.inmemory.people import Persons
from hermes_memory.adapters.inmemory.vectors import Job, KeptGeneration
from hermes_memory.domain.grants import StandingGrant
from hermes_memory.domain.history import Change
from hermes_memory.domain.lexemes import indexed_row
from hermes_memory.domain.model import (
    Caller,
    Entry,
    Kind,
    OperationId,
    ReadPolicy,
    Role,
    Row,
    RowId,
    SessionId,
    Subject,
    Target,
    Theme,
    Turn,
)
from hermes_memory.domain.operations import Outcome, RecordDelegation
from hermes_memory.domain.visibility import Access, visible
from hermes_memory.ports.embedding import Generation

EntryKey: TypeAlias = tuple[Theme, Subject | None, Target, str]
SessionKey: TypeAlias = tuple[Theme, Subject | None, SessionId]
GrantKey: TypeAlias = tuple[Theme | Subject, Theme]
"""Reader and source."""
TurnKey: TypeAlias = tuple[SessionKey, Role, str, int]
"""Session, role, content and occurrence."""

NOTHING: Final[Mapping[str, int]] = MappingProxyType({})


@dataclass(slots=True, kw_only=True)
class NotedUpkeep:
    """What the log of maintenance has of one run.

    Attributes:
        at: When it began.
        counts: What all its steps changed.
        remaining: What was still found at the end; None as long as it was not carried through.
    """

    verb: str
    at: datetime
    counts: Counter[str] = field(default_factory=Counter)
    remaining: Mapping[str, int] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivered:
    """What an operation did, when, and who may ask for it."""

    outcome: Outcome
    at: datetime
    theme: Theme
    subject: Subject | None


@dataclass(slots=True, kw_only=True)
class Records:
    """Everything an in-memory store holds.

    Attributes:
        analyze: Turns text into lexemes, repetitions kept.
        now: The clock of leases, waits and grants (aware).
        forgotten_days: How long what was forgotten keeps its texts.
        entries: In the order in which they were last changed.
        marks: How many entries had been stored or changed when each of them was.
        changes: How many have been until now.
        turn_counts: Turns stored in each session, which is the position of its next one.
        turn_places: The turn at each position of a session.
        forgotten_turns: What makes a turn of each session equal to one that was forgotten.
        unembedded: Turns that are to have no vector.
        history: What became of entries, in the order in which it happened.
        accepted: When each turn was accepted.
        parents: The session that each session was started by.
        themes: When something of each theme was first and last stored.
        grants: By reader and source.
        persons: Which subjects are one person.
        kept: The embedding generations by number, in the order in which they were made.
        generations_made: How many there have been until now; a number is given once.
        active: The one in use.
        erased_at: When something was erased last, by the monotonic clock.
        under_way: The deliveries that have begun, each until it is done.
    """

    analyze: Callable[[str], Sequence[str]]
    now: Callable[[], datetime]
    policy: ReadPolicy
    forgotten_days: float = 30.0
    entries: dict[RowId, Entry] = field(default_factory=dict)
    turns: dict[RowId, Turn] = field(default_factory=dict)
    entry_keys: dict[EntryKey, RowId] = field(default_factory=dict)
    turn_keys: dict[TurnKey, RowId] = field(default_factory=dict)
    marks: dict[RowId, int] = field(default_factory=dict)
    changes: int = 0
    turn_counts: Counter[SessionKey] = field(default_factory=Counter)
    turn_places: dict[tuple[SessionKey, int], RowId] = field(default_factory=dict)
    forgotten_turns: dict[SessionKey, set[TurnKey]] = field(default_factory=dict)
    unembedded: set[RowId] = field(default_factory=set)
    history: list[Change] = field(default_factory=list)
    accepted: dict[RowId, datetime] = field(default_factory=dict)
    parents: dict[SessionKey, SessionId] = field(default_factory=dict)
    delegations: list[RecordDelegation] = field(default_factory=list)
    themes: dict[Theme, tuple[datetime, datetime]] = field(default_factory=dict)
    grants: dict[GrantKey, StandingGrant] = field(default_factory=dict)
    persons: Persons = field(default_factory=Persons)
    delivered: dict[OperationId, Delivered] = field(default_factory=dict)
    lexemes: dict[RowId, Counter[str]] = field(default_factory=dict)
    kept: dict[int, KeptGeneration] = field(default_factory=dict)
    generations_made: int = 0
    active: int | None = None
    maintenance: dict[UUID, NotedUpkeep] = field(default_factory=dict)
    erased_at: float | None = None
    under_way: set[anyio.Event] = field(default_factory=set)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Be a delivery that has begun, for whoever waits for those."""
        done = anyio.Event()
        self.under_way.add(done)
        try:
            yield
        finally:
            self.under_way.discard(done)
            done.set()

    @property
    def in_use(self) -> KeptGeneration | None:
        """The embedding generation that recall uses, None when there is none."""
        return self.kept.get(self.active) if self.active is not None else None

    def keep(self, generation: Generation) -> None:
        """Keep a further embedding generation. Rows that are stored from now on wait for a vector of it."""
        self.kept[generation.number] = KeptGeneration(generation=generation)
        self.generations_made = max(self.generations_made, generation.number)

    def use(self, generation: int) -> None:
        """Let recall use an embedding generation."""
        self.active = generation
        self.kept[generation].activated_at = self.now()

    def vectors_of(self, row: RowId) -> int:
        """Count the vectors of a row, in all generations."""
        return sum(len(kept.vectors.get(row, ())) for kept in self.kept.values())

    def jobs_of(self, row: RowId) -> int:
        """Count for how many generations a row waits."""
        return sum(row in kept.jobs for kept in self.kept.values())

    def lacking(self, kept: KeptGeneration, kind: Kind) -> list[RowId]:
        """Return the rows of a kind that are to have a vector and have neither one of a generation nor a job for it."""
        rows = self.entries if kind is Kind.ENTRY else self.turns
        return [row for row in rows if row not in self.unembedded and kept.lacks(row)]

    def access(self, caller: Caller) -> Access:
        """Tell what the installation lets a caller read beyond its own theme."""
        now = self.now()
        readers = {caller.theme, caller.subject, *self.persons.of(caller.subject)}
        granted = (
            source
            for (reader, source), standing in self.grants.items()
            if reader in readers and not standing.expired(now)
        )
        return Access(policy=self.policy, grants=frozenset(granted))

    def see(self, theme: Theme) -> None:
        """Know a theme from now on."""
        now = self.now()
        self.themes[theme] = self.themes.get(theme, (now, now))[0], now

    def visible_rows(self, caller: Caller, kinds: frozenset[Kind] = frozenset(Kind)) -> Iterator[Row]:
        """Yield the rows of these kinds that the caller may see."""
        access = self.access(caller)
        for kind, rows in ((Kind.ENTRY, self.entries), (Kind.TURN, self.turns)):
            if kind in kinds:
                yield from (row for row in rows.values() if visible(row.theme, row.subject, caller, access))

    def row(self, row: RowId) -> Row | None:
        """Return a row whoever's it is."""
        return self.entries.get(row) or self.turns.get(row)

    def put_entry(self, entry: Entry) -> None:
        """Store a new entry, or a new content in an old one's place, indexed and waiting for its vector."""
        self.drop_entry(entry.id)
        self.entries[entry.id] = entry
        self.entry_keys[entry_key(entry)] = entry.id
        self.changes += 1
        self.marks[entry.id] = self.changes
        self._welcome(entry, embed=True)

    def put_turn(self, turn: Turn, *, key: TurnKey, embed: bool) -> None:
        """Store a new turn, indexed and waiting for its vector if it is to have one."""
        self.turns[turn.id] = turn
        self.turn_keys[key] = turn.id
        self.turn_counts[key[0]] += 1
        self.turn_places[session_key(turn), turn.position] = turn.id
        if not embed:
            self.unembedded.add(turn.id)
        self._welcome(turn, embed=embed)

    def previous(self, row: Row) -> Turn | None:
        """Return the turn right before a turn; None when it is gone, for a session's first, and for an entry."""
        if not isinstance(row, Turn):
            return None
        previous = self.turn_places.get((session_key(row), row.position - 1))
        return self.turns[previous] if previous else None

    def note(self, verb: str, counts: Mapping[str, int] = NOTHING, *, ended: bool = True) -> UUID:
        """Note in the log of maintenance that something was done, or is begun; return under which id."""
        log = uuid4()
        remaining = NOTHING if ended else None
        self.maintenance[log] = NotedUpkeep(verb=verb, at=self.now(), counts=Counter(counts), remaining=remaining)
        return log

    def forgotten(self) -> list[RowId]:
        """Return the memories that were forgotten long enough ago and whose history still has texts."""
        until = self.now() - timedelta(days=self.forgotten_days)
        gone = [
            change.row for change in self.history if change.gone and not change.erased and change.recorded_at < until
        ]
        return [row for row in dict.fromkeys(gone) if row not in self.entries]

    def told_of(self, rows: Collection[RowId]) -> list[int]:
        """Return where in history the changes of these memories stand that still have texts."""
        return [place for place, change in enumerate(self.history) if change.row in rows and not change.erased]

    def expire(self, rows: Collection[RowId]) -> int:
        """Erase the texts of these memories from history; return how many changes had some."""
        doomed = self.told_of(frozenset(rows))
        for place in doomed:
            self.history[place] = self.history[place].without_texts()
        return len(doomed)

    def forget_turn(self, row: RowId) -> None:
        """Remove a turn as `erase_turn` does. It is not stored again, however often it is handed in."""
        key = next(key for key, stored in self.turn_keys.items() if stored == row)
        self.forgotten_turns.setdefault(key[0], set()).add(key)
        self.erase_turn(row)

    def erase_turn(self, row: RowId) -> None:
        """Remove a turn with all that holds words of it: the turn after it waits for a new vector."""
        turn = self.turns.pop(row)
        self.turn_keys = {key: stored for key, stored in self.turn_keys.items() if stored != row}
        del self.turn_places[session_key(turn), turn.position]
        del self.lexemes[row]
        self.unembedded.discard(row)
        after = self.turn_places.get((session_key(turn), turn.position + 1))
        self.forget(row)
        if after:
            self.embed_anew(after)

    def embed_anew(self, row: RowId) -> None:
        """Let a stored turn that is to have a vector wait for one, without the one that it has."""
        self.forget(row)
        if row not in self.unembedded:
            self._enqueue(self.turns[row])

    def drop_entry(self, row: RowId) -> None:
        """Remove an entry with all that was derived from it; an unknown one is passed over."""
        if entry := self.entries.pop(row, None):
            del self.entry_keys[entry_key(entry)]
            del self.marks[row]
            del self.lexemes[row]
            self.forget(row)

    def _welcome(self, row: Row, *, embed: bool) -> None:
        self.see(row.theme)
        self.lexemes[row.id] = Counter(self.analyze(indexed_row(row)))
        if embed:
            self._enqueue(row)

    def enqueue(self, row: RowId, generation: int) -> None:
        """Let a stored row wait for its vector, without failures and whatever was found about it before."""
        found = self.row(row)
        if found is not None:
            self.kept[generation].jobs[row] = self._job(found)

    def _enqueue(self, row: Row) -> None:
        for kept in self.kept.values():
            kept.jobs[row.id] = self._job(row)

    def _job(self, row: Row) -> Job:
        return Job(content_hash=content_hash(row.content), not_before=self.now())

    def forget(self, row: RowId) -> None:
        """Let go of all vectors and jobs of a row."""
        for kept in self.kept.values():
            kept.forget(row)


def entry_key(entry: Entry) -> EntryKey:
    """Return what makes an entry equal to another."""
    return entry.theme, entry.subject, entry.target, entry.content


def session_key(turn: Turn) -> SessionKey:
    """Return what makes two turns of the same session."""
    return turn.theme, turn.subject, turn.session


def content_hash(content: str) -> bytes:
    """Return the SHA-256 of a content, 32 bytes."""
    return hashlib.sha256(content.encode()).digest()
