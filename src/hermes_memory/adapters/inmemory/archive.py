"""A memory as it is moved, in this process's memory: what was stored comes out again as it stands."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from hashlib import sha256
from typing import Final, TypeVar, cast
from uuid import uuid4

from hermes_memory.domain.archive import (
    KINDS,
    Archived,
    ArchivedChange,
    ArchivedDelegation,
    ArchivedEntry,
    ArchivedSession,
    ArchivedTheme,
    ArchivedTurn,
    EmbeddingModel,
    added,
    archived_kind,
    merged,
    stands,
    tells,
)
from hermes_memory.domain.forgotten import forgotten_mark, marks, marks_besides
from hermes_memory.domain.model import Theme
from hermes_memory.domain.vectors import all_indexable
from hermes_memory.ports.archive import Receipt

Text = TypeVar("Text", ArchivedEntry, ArchivedTurn)

_NEW: Final = "new"
_KNOWN: Final = "known"
_ALTERED: Final = "altered"


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass(slots=True, kw_only=True)
class InMemoryArchive:
    """`Archive` and `Snapshot` over the same records, for tests of what moves a memory.

    Attributes:
        in_use: The model whose vectors are kept.
        now: Tells when a theme was seen that no record of its own tells of, and an entry came in (aware).
    """

    in_use: EmbeddingModel | None = None
    now: Callable[[], datetime] = _now
    _kept: dict[tuple[type[Archived], Hashable], Archived] = field(default_factory=dict)
    _noted: list[tuple[Mapping[str, int], bool]] = field(default_factory=list)

    @property
    def noted(self) -> Sequence[tuple[Mapping[str, int], bool]]:
        """What was noted in the log of maintenance: how much of each kind came in, and whether that was all."""
        return tuple(self._noted)

    async def model(self) -> EmbeddingModel | None:
        """Return the model in use; see `Archive.model`."""
        return self.in_use

    async def store(self, records: Sequence[Archived], *, vectors: bool) -> Receipt:
        """Store records; see `Archive.store`."""
        dimension = self.in_use.dimension if vectors and self.in_use is not None else None
        became = [self._store(_kept(record, dimension)) for record in records]
        for theme in sorted({record.theme for record in records}):
            if (ArchivedTheme, theme) not in self._kept:
                now = self.now()
                self._kept[ArchivedTheme, theme] = ArchivedTheme(theme=theme, first_seen_at=now, last_seen_at=now)
        new: dict[str, int] = {archived_kind(record): 0 for record in records}
        for record, each in zip(records, became, strict=True):
            new[archived_kind(record)] += each == _NEW
        return Receipt(new=new, known=became.count(_KNOWN), altered=became.count(_ALTERED))

    async def begin(self) -> None:
        """Note that something is brought in; see `Archive.begin`."""
        self._noted.append(({}, False))

    async def end(self, new: Mapping[str, int], *, whole: bool) -> None:
        """Note what was brought in; see `Archive.end`."""
        self._noted[-1] = (dict(new), whole)

    async def themes(self) -> Sequence[Theme]:
        """Return all themes; see `Snapshot.themes`."""
        return sorted({record.theme for record in self._kept.values()})

    async def records(self, theme: Theme, *, vectors: bool) -> AsyncIterator[Archived]:
        """Yield all that is a theme's; see `Snapshot.records`."""
        mine = [record for record in self._kept.values() if record.theme == theme]
        for kind in KINDS.values():
            for record in sorted((each for each in mine if isinstance(each, kind)), key=_order):
                yield self._told(record) if vectors and self.in_use is not None else _without_vectors(record)

    def _store(self, record: Archived) -> str:
        match record:
            case ArchivedTheme():
                return self._merge(record, record.theme, _wider_theme)
            case ArchivedSession():
                return self._session(record)
            case ArchivedEntry():
                return self._entry(record)
            case ArchivedTurn():
                return self._turn(record)
            case ArchivedDelegation() | ArchivedChange():
                return self._underived(record)

    def _underived(self, record: ArchivedDelegation | ArchivedChange) -> str:
        if isinstance(record, ArchivedChange):
            if (ArchivedEntry, (record.theme, record.row)) in self._kept:
                return _KNOWN  # like the entry, its history is left as it is
            record = replace(record, recorded_at=min(record.recorded_at, self.now()))
        return self._merge(record, (record.theme, record.subject, record.id), lambda there, _: there)

    def _merge(self, record: Archived, key: Hashable, join: Callable[[Archived, Archived], Archived]) -> str:
        there = self._kept.get((type(record), key))
        self._kept[type(record), key] = record if there is None else join(there, record)
        return _NEW if there is None else _KNOWN

    def _entry(self, record: ArchivedEntry) -> str:
        there = (ArchivedEntry, (record.theme, record.id)) in self._kept
        equal = [e for e in self._of(ArchivedEntry) if _same_entry(e, record)]
        became = self._keep(record, equal)
        changes = [each for each in self._kept.values() if isinstance(each, ArchivedChange)]
        mine = [each for each in changes if (each.theme, each.row) == (record.theme, record.id)]
        last = max(mine, key=lambda change: change.recorded_at, default=None)
        if became == _NEW and not (last and tells(last, record)):
            self._note(added(record, change=uuid4(), recorded_at=self.now()))
        elif equal and not there and last and stands(last):
            self._note(merged(last, equal[0], change=uuid4(), recorded_at=self.now()))
        return became

    def _note(self, change: ArchivedChange) -> None:
        self._kept[ArchivedChange, (change.theme, change.subject, change.id)] = change

    def _keep(self, record: Text, equal: Collection[Text]) -> str:
        """Keep a row unless it, or an equal one, is there."""
        key = (type(record), (record.theme, record.id))
        if equal:
            return _KNOWN
        if key in self._kept:
            return _ALTERED
        self._kept[key] = record
        return _NEW

    def _session(self, record: ArchivedSession) -> str:
        """Take over what was forgotten in a session, unless it stands in the one that is there."""
        key = record.theme, record.subject, record.session
        known = {_mark(turn) for turn in self._of(ArchivedTurn) if _place(turn) == key}
        if there := self._kept.get((ArchivedSession, key)):
            known |= marks(cast("ArchivedSession", there).forgotten)
        return self._merge(replace(record, forgotten=marks_besides(record.forgotten, known)), key, _wider_session)

    def _turn(self, record: ArchivedTurn) -> str:
        said = [turn for turn in self._of(ArchivedTurn) if _place(turn) == _place(record)]
        session = ArchivedSession(
            theme=record.theme,
            subject=record.subject,
            session=record.session,
            parent=None,
            started_at=record.said_at,
            last_at=record.said_at,
        )
        self._merge(session, _place(record), _wider_session)
        after = max((turn.position + 1 for turn in said), default=0)
        if self._forgotten(record):
            return _KNOWN
        placed = replace(record, position=max(record.position, after))
        if record.follows != _follows(placed, said) or (placed.position and record.follows is None):
            placed = replace(placed, vectors=())  # they hold words of the turn before
        return self._keep(placed, [turn for turn in said if _words(turn) == _words(record)])

    def _told(self, record: Archived) -> Archived:
        if not isinstance(record, ArchivedTurn):
            return record
        return replace(record, follows=_follows(record, self._of(ArchivedTurn)))

    def _forgotten(self, record: ArchivedTurn) -> bool:
        session = cast("ArchivedSession", self._kept[ArchivedSession, _place(record)])
        return _mark(record) in marks(session.forgotten)

    def _of(self, kind: type[Text]) -> list[Text]:
        return [record for record in self._kept.values() if isinstance(record, kind)]


def _kept(record: Archived, dimension: int | None) -> Archived:
    """Return a record with vectors that an index takes, or without any."""
    told = record.vectors if isinstance(record, ArchivedEntry | ArchivedTurn) else ()
    return record if dimension is not None and all_indexable(told, dimension) else _without_vectors(record)


def _without_vectors(record: Archived) -> Archived:
    if isinstance(record, ArchivedTurn):
        return replace(record, vectors=(), follows=None)
    return replace(record, vectors=()) if isinstance(record, ArchivedEntry) else record


def _same_entry(one: ArchivedEntry, other: ArchivedEntry) -> bool:
    def key(entry: ArchivedEntry) -> Hashable:
        return entry.theme, entry.subject, entry.target, entry.content

    return key(one) == key(other)


def _place(turn: ArchivedTurn) -> tuple[Hashable, ...]:
    return turn.theme, turn.subject, turn.session


def _follows(record: ArchivedTurn, turns: Collection[ArchivedTurn]) -> bytes | None:
    """Return the SHA-256 of what stands right before a turn, None when nothing does."""
    before = (_place(record), record.position - 1)
    return next((_digest(turn) for turn in turns if (_place(turn), turn.position) == before), None)


def _digest(turn: ArchivedTurn) -> bytes:
    return sha256(turn.content.encode()).digest()


def _words(turn: ArchivedTurn) -> Hashable:
    return turn.role, turn.content, turn.occurrence


def _mark(turn: ArchivedTurn) -> bytes:
    return forgotten_mark(turn.role, turn.occurrence, _digest(turn))


def _wider_theme(there: Archived, told: Archived) -> Archived:
    one, other = cast("ArchivedTheme", there), cast("ArchivedTheme", told)
    return ArchivedTheme(
        theme=one.theme,
        first_seen_at=min(one.first_seen_at, other.first_seen_at),
        last_seen_at=max(one.last_seen_at, other.last_seen_at),
        metadata={**other.metadata, **one.metadata},
    )


def _wider_session(there: Archived, told: Archived) -> Archived:
    one, other = cast("ArchivedSession", there), cast("ArchivedSession", told)
    return replace(
        one,
        parent=one.parent or other.parent,
        started_at=min(one.started_at, other.started_at),
        last_at=max(one.last_at, other.last_at),
        forgotten=one.forgotten + other.forgotten,
    )


def _order(record: Archived) -> tuple[object, ...]:
    """Return by what records of one kind and theme are told one after the other."""
    match record:
        case ArchivedTheme():
            return ()
        case ArchivedEntry():
            return record.subject or b"", record.updated_at, record.id
        case ArchivedSession():
            return record.subject or b"", record.session
        case ArchivedTurn():
            return record.subject or b"", record.session, record.position, record.id
        case ArchivedDelegation():
            return record.subject or b"", record.created_at, record.id
        case ArchivedChange():
            return record.subject or b"", record.recorded_at, record.id
