"""Operations and reads for tests, with everything but the point of the test left to a default."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Final
from uuid import uuid4

from hermes_memory.domain.model import (
    DIRECT_MESSAGES,
    NO_METADATA,
    Caller,
    CurrentScope,
    Entry,
    HomeId,
    Kind,
    Metadata,
    OperationId,
    Origin,
    Role,
    Row,
    RowId,
    Scope,
    SessionId,
    Subject,
    Target,
    Theme,
)
from hermes_memory.domain.operations import (
    AddEntry,
    ByContent,
    BySubstring,
    Operation,
    Outcome,
    RecordTurns,
    RemoveEntry,
    ReplaceEntry,
    Selector,
    Stamp,
    TurnDraft,
)
from hermes_memory.ports.reading import SearchSpace
from hermes_memory.testing.store_under_test import StoreUnderTest

PATIENCE: Final = 60.0
"""Seconds a suite gives a read: a guard against hanging, not a measure."""
PLENTY: Final = 1_000
"""A limit that no suite reaches."""

MARKETING: Final = Theme("marketing")
SALES: Final = Theme("sales")
ANA: Final = Subject(b"a" * 32)
BEN: Final = Subject(b"b" * 32)
MORNING: Final = SessionId("morning")
EVENING: Final = SessionId("evening")
HOME: Final = HomeId("1" * 32)
OTHER_HOME: Final = HomeId("2" * 32)

DESK: Final = Caller(theme=MARKETING, session=MORNING)
"""Somebody of marketing whose talk is with no one in particular."""
DESK_WITH_ANA: Final = Caller(theme=MARKETING, subject=ANA, session=MORNING)
DESK_WITH_BEN: Final = Caller(theme=MARKETING, subject=BEN, session=MORNING)
SALES_DESK: Final = Caller(theme=SALES, session=MORNING)
ANA_DIRECTLY: Final = Caller(theme=DIRECT_MESSAGES, subject=ANA, session=MORNING)
BEN_DIRECTLY: Final = Caller(theme=DIRECT_MESSAGES, subject=BEN, session=MORNING)

CURRENT: Final = SearchSpace(scope=CurrentScope())
ENTRIES: Final = SearchSpace(scope=CurrentScope(), kinds=frozenset({Kind.ENTRY}))
TURNS: Final = SearchSpace(scope=CurrentScope(), kinds=frozenset({Kind.TURN}))

_FIRST_MOMENT: Final = datetime(2024, 5, 3, 9, 0, tzinfo=UTC)
_ticks: Final = count()


def next_moment() -> datetime:
    """Return a time one second after the one returned before."""
    return _FIRST_MOMENT + timedelta(seconds=next(_ticks))


def stamp(
    caller: Caller = DESK,
    *,
    accepted_at: datetime | None = None,
    origin: Origin = Origin.ASSISTANT,
    operation: OperationId | None = None,
    tool: str | None = None,
) -> Stamp:
    """Stamp a write of the caller's, accepted a second after the last one made."""
    return Stamp(
        operation=operation or OperationId(uuid4()),
        caller=caller,
        origin=origin,
        accepted_at=accepted_at or next_moment(),
        tool=tool,
    )


def add(
    content: str,
    caller: Caller = DESK,
    *,
    target: Target = Target.MEMORY,
    at: datetime | None = None,
    source: HomeId | None = None,
    metadata: Metadata = NO_METADATA,
    origin: Origin = Origin.ASSISTANT,
    tool: str | None = None,
) -> AddEntry:
    """Make the operation that stores a memory; it became true when it was accepted, unless `at` says otherwise."""
    noted = stamp(caller, origin=origin, tool=tool)
    return AddEntry(
        stamp=noted, target=target, content=content, at=at or noted.accepted_at, source=source, metadata=metadata
    )


def replace(
    selector: Selector,
    content: str,
    caller: Caller = DESK,
    *,
    upsert: bool = False,
    source: HomeId | None = None,
    at: datetime | None = None,
    origin: Origin = Origin.ASSISTANT,
    tool: str | None = None,
) -> ReplaceEntry:
    """Make the operation that changes a memory; it became true when it was accepted, unless `at` says otherwise."""
    noted = stamp(caller, origin=origin, tool=tool)
    return ReplaceEntry(stamp=noted, selector=selector, content=content, upsert=upsert, source=source, at=at)


def remove(selector: Selector, caller: Caller = DESK) -> RemoveEntry:
    """Make the operation that forgets a memory."""
    return RemoveEntry(stamp=stamp(caller), selector=selector)


def by_content(content: str, *, source: HomeId | None = None) -> ByContent:
    """Select the entry of target memory with this content."""
    return ByContent(target=Target.MEMORY, content=content, source=source)


def by_substring(text: str, *, source: HomeId | None = None) -> BySubstring:
    """Select the entry of target memory that holds this text."""
    return BySubstring(target=Target.MEMORY, text=text, source=source)


def said(
    content: str,
    *,
    role: Role = Role.USER,
    at: datetime | None = None,
    speaker: str | None = None,
    occurrence: int = 0,
    embed: bool = True,
    metadata: Metadata = NO_METADATA,
) -> TurnDraft:
    """Make a message to record."""
    origin = Origin.USER if role is Role.USER else Origin.ASSISTANT
    return TurnDraft(
        role=role,
        content=content,
        at=at or next_moment(),
        origin=origin,
        speaker=speaker,
        occurrence=occurrence,
        embed=embed,
        metadata=metadata,
    )


def record(*turns: TurnDraft, caller: Caller = DESK, parent_session: SessionId | None = None) -> RecordTurns:
    """Make the operation that records messages of the caller's session."""
    return RecordTurns(stamp=stamp(caller), turns=turns, parent_session=parent_session)


async def deliver(store: StoreUnderTest, *operations: Operation) -> Sequence[Outcome]:
    """Apply operations in one batch."""
    return await store.delivery.apply(operations)


async def deliver_one(store: StoreUnderTest, operation: Operation) -> Outcome:
    """Apply one operation."""
    (outcome,) = await store.delivery.apply([operation])
    return outcome


async def stored(store: StoreUnderTest, operation: Operation) -> RowId:
    """Apply an operation that concerns one row, and return the row's id."""
    outcome = await deliver_one(store, operation)
    assert outcome.row is not None
    return outcome.row


async def read(store: StoreUnderTest, row: RowId, caller: Caller = DESK) -> Row | None:
    """Read one row on the caller's behalf."""
    return await store.reader.get(caller, row, timeout=PATIENCE)


async def read_entry(store: StoreUnderTest, row: RowId, caller: Caller = DESK) -> Entry:
    """Read a row that must be a visible entry."""
    found = await read(store, row, caller)
    assert isinstance(found, Entry)
    return found


async def list_entries(store: StoreUnderTest, caller: Caller = DESK, scope: Scope | None = None) -> Sequence[Entry]:
    """List the caller's entries of a scope, by default those of the own theme."""
    return await store.reader.entries(caller, scope or CurrentScope(), limit=PLENTY, timeout=PATIENCE)


async def contents(store: StoreUnderTest, caller: Caller = DESK) -> set[str]:
    """Tell what the caller's own theme remembers, as far as the caller sees it."""
    return {entry.content for entry in await list_entries(store, caller)}


async def embed_all(store: StoreUnderTest, vectors: dict[str, Sequence[float]]) -> None:
    """Embed every waiting row: the vector of the first key that its text contains."""
    while jobs := await store.queue.claim(PLENTY, lease=60):
        chosen = {job: [next(v for word, v in vectors.items() if word in job.text)] for job in jobs}
        await store.queue.complete(chosen)
