"""Small worlds of themes, subjects, sessions, grants and policies, drawn by hypothesis and laid out in a store."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Final

from hypothesis import strategies as st

from hermes_memory.domain.model import (
    BENCHMARKS,
    DIRECT_MESSAGES,
    AllScope,
    Caller,
    CurrentScope,
    Kind,
    ReadPolicy,
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
from hermes_memory.domain.operations import AddEntry, RecordTurns, row_id
from hermes_memory.domain.visibility import Access, in_scope, visible
from hermes_memory.testing.making import (
    HOME,
    PLENTY,
    add,
    record,
    said,
)
from hermes_memory.testing.store_under_test import StoreUnderTest

VECTOR: Final = (1.0, 0.0, 0.0, 0.0)
_ORDINARY: Final = ("desk", "shop", "lab")
_SINKS: Final = (DIRECT_MESSAGES, BENCHMARKS)
_SESSIONS: Final = (None, SessionId("one"), SessionId("two"))
_world_numbers: Final = count()


@dataclass(frozen=True, slots=True, kw_only=True)
class Spot:
    """Where a row of a world is: theme by index (ordinary ones, then sinks), subject by index (0 is none), session."""

    kind: Kind
    theme: int
    subject: int
    session: SessionId | None


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """Rows, a policy, grants (pairs: reading theme or subject, and ordinary theme read) and who asks.

    Attributes:
        one_person: Whether an operator has said that the two subjects are the same person.
    """

    spots: tuple[Spot, ...]
    policy: ReadPolicy
    grants: frozenset[tuple[int, int]]
    personal_grants: frozenset[tuple[int, int]]
    one_person: bool
    callers: tuple[Spot, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """A row as it was stored."""

    id: RowId
    kind: Kind
    caller: Caller


def _spots(kinds: Sequence[Kind] = tuple(Kind)) -> st.SearchStrategy[Spot]:
    themes = len(_ORDINARY) + len(_SINKS)
    drawn = st.builds(
        Spot,
        kind=st.sampled_from(kinds),
        theme=st.integers(0, themes - 1),
        subject=st.integers(0, 2),
        session=st.sampled_from(_SESSIONS),
    )
    return drawn.map(_mended)


def _mended(spot: Spot) -> Spot:
    """Give a spot in a sink a subject and a turn a session: without them it could not be."""
    subject = spot.subject or int(spot.theme >= len(_ORDINARY))
    session = spot.session or (SessionId("one") if spot.kind is Kind.TURN else None)
    return Spot(kind=spot.kind, theme=spot.theme, subject=subject, session=session)


worlds: Final = st.builds(
    World,
    spots=st.lists(_spots(), min_size=6, max_size=14).map(tuple),
    policy=st.sampled_from(ReadPolicy),
    grants=st.frozensets(st.tuples(st.integers(0, 2), st.integers(0, 2)), max_size=4),
    personal_grants=st.frozensets(st.tuples(st.integers(1, 2), st.integers(0, 2)), max_size=2),
    one_person=st.booleans(),
    callers=st.lists(_spots(), min_size=2, max_size=2, unique=True).map(tuple),
)


class Setting:
    """One world in a store: names of its own, so that worlds built one after another do not meet."""

    def __init__(self, store: StoreUnderTest, world: World) -> None:
        """Lay out a world that is not built yet."""
        number = next(_world_numbers)
        self.store = store
        self.world = world
        # Letters only, so that no analyser takes it apart.
        self.word = "w" + "".join(chr(ord("a") + int(digit)) for digit in f"{number:04}") + "q"
        self.themes = tuple(Theme(f"{name}-{self.word}") for name in _ORDINARY) + _SINKS
        self.subjects = (None, *(Subject(bytes([n]) * 16 + number.to_bytes(16)) for n in (1, 2)))
        self.rows: list[Placed] = []

    def caller(self, spot: Spot) -> Caller:
        """Return who writes to, or asks from, a spot."""
        return Caller(theme=self.themes[spot.theme], subject=self.subjects[spot.subject], session=spot.session)

    def reading(self, caller: Caller) -> Caller:
        """Return a caller of this world as it reads: with the other subjects of the same person."""
        if caller.subject is None or not self.world.one_person:
            return caller
        return replace(caller, also=frozenset(s for s in self.subjects if s not in {None, caller.subject} and s))

    def access(self, caller: Caller) -> Access:
        """Return what the world's grants give a caller."""
        to_theme = {source for reader, source in self.world.grants if self.themes[reader] == caller.theme}
        to_subject = {source for somebody, source in self.world.personal_grants if self._is(caller, somebody)}
        granted = frozenset(self.themes[source] for source in to_theme | to_subject)
        return Access(policy=self.world.policy, grants=granted)

    def _is(self, caller: Caller, subject: int) -> bool:
        if caller.subject is None:
            return False
        return self.world.one_person or caller.subject == self.subjects[subject]

    async def build(self) -> None:
        """Store the rows of the world, embed them, and set policy and grants."""
        await self.store.set_policy(self.world.policy)
        for reader, source in sorted(self.world.grants):
            await self.store.grant(self.themes[reader], self.themes[source])
        for somebody, source in sorted(self.world.personal_grants):
            await self.store.grant(Subject(self.subjects[somebody] or b""), self.themes[source])
        if self.world.one_person:
            await self.store.merge(*(subject for subject in self.subjects if subject))
        operations = [self._operation(index, spot) for index, spot in enumerate(self.world.spots)]
        await self.store.delivery.apply(operations)
        for spot, operation in zip(self.world.spots, operations, strict=True):
            placed = Placed(id=row_id(operation.stamp.operation), kind=spot.kind, caller=operation.stamp.caller)
            self.rows.append(placed)
        while jobs := await self.store.queue.claim(PLENTY, lease=60):
            await self.store.queue.complete({job: [VECTOR] for job in jobs})

    def _operation(self, index: int, spot: Spot) -> AddEntry | RecordTurns:
        text = f"{self.word} number {index}"
        if spot.kind is Kind.TURN:
            return record(said(text), caller=self.caller(spot))
        return add(text, self.caller(spot), target=list(Target)[index % 2], source=HOME)

    def seen(self, caller: Caller, scope: Scope | None = None) -> list[Placed]:
        """Tell by the rule which rows the caller sees, of a scope or of all there are."""
        access, caller = self.access(caller), self.reading(caller)
        return [
            row
            for row in self.rows
            if visible(row.caller.theme, row.caller.subject, caller, access)
            and (scope is None or in_scope(row.caller.theme, row.caller.subject, row.caller.session, caller, scope))
        ]

    def scopes(self) -> list[Scope]:
        """Return every scope there is in this world, and one of a theme and a session that are not."""
        sessions = [SessionScope(session=SessionId(name)) for name in ("one", "two", "never")]
        themes = [ThemeScope(theme=theme) for theme in (*self.themes, Theme("nobody"))]
        return [CurrentScope(), *sessions, SubjectScope(), AllScope(), *themes]
