"""What a memory consists of when it is moved: every row as it stands, with its own id, times and origin."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final, TypeAlias
from uuid import UUID

from hermes_memory.domain.chain import ERASED, TAKEN, is_erasure_record
from hermes_memory.domain.errors import InvalidInput
from hermes_memory.domain.model import NO_METADATA, SINKS, SUBJECT_BYTES, Metadata, Subject, Theme
from hermes_memory.domain.themes import canonical_theme, is_reserved

FORMAT_VERSION: Final = 1
SAID_TARGET: Final = "turn"
"""In the place of a target, of what was said in a conversation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingModel:
    """Which model made the vectors of an archive; vectors of another model do not compare with them.

    Attributes:
        part_tokens: The longest parts that texts were cut into, in estimated tokens; None when that is not known.
    """

    name: str
    dimension: int
    part_tokens: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivedTheme:
    """A line of the registry of themes."""

    theme: Theme
    first_seen_at: datetime
    last_seen_at: datetime
    metadata: Metadata = field(default_factory=lambda: NO_METADATA)


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivedEntry:
    """A durable memory.

    Attributes:
        vectors: One for each part of its text: big-endian half-precision numbers. Empty when none are told.
    """

    theme: Theme
    subject: Subject | None
    id: UUID
    target: str
    content: str
    origin: str
    tool: str | None
    session: str | None
    source: str | None
    metadata: Metadata
    said_at: datetime
    created_at: datetime
    updated_at: datetime
    operation: UUID
    vectors: tuple[bytes, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivedSession:
    """A conversation, without its turns.

    Attributes:
        forgotten: The marks of turns that were forgotten, one behind the other; see `hermes_memory.domain.forgotten`.
    """

    theme: Theme
    subject: Subject | None
    session: str
    parent: str | None
    started_at: datetime
    last_at: datetime
    forgotten: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivedTurn:
    """One message that was said; `vectors` as of an entry.

    Attributes:
        follows: The SHA-256 of the text right before it in its session, of which its vectors hold words. None when
            there is none, and where no vectors are told.
    """

    theme: Theme
    subject: Subject | None
    session: str
    position: int
    id: UUID
    parent: str | None
    role: str
    speaker: str | None
    content: str
    occurrence: int
    origin: str
    embed: bool
    metadata: Metadata
    said_at: datetime
    created_at: datetime
    operation: UUID
    vectors: tuple[bytes, ...] = ()
    follows: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivedDelegation:
    """A task that was handed to a child agent."""

    theme: Theme
    subject: Subject | None
    id: UUID
    session: str | None
    child_theme: str | None
    child_session: str | None
    task: str
    result: str
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivedChange:
    """One change of an entry, as the history has it.

    Attributes:
        digest: Its hash, when its texts were erased: without them it cannot be made anew. None otherwise.
    """

    theme: Theme
    subject: Subject | None
    id: UUID
    row: UUID
    change: str
    target: str
    before: str | None
    after: str | None
    origin: str
    tool: str | None
    session: str | None
    operation: UUID
    reason: str | None
    at: datetime
    said_at: datetime | None
    recorded_at: datetime
    metadata: Metadata | None
    merged_into: UUID | None
    erasure: UUID | None
    digest: bytes | None


Archived: TypeAlias = (
    ArchivedTheme | ArchivedEntry | ArchivedSession | ArchivedTurn | ArchivedDelegation | ArchivedChange
)

KINDS: Final[Mapping[str, type[Archived]]] = {
    "theme": ArchivedTheme,
    "change": ArchivedChange,
    "entry": ArchivedEntry,
    "session": ArchivedSession,
    "turn": ArchivedTurn,
    "delegation": ArchivedDelegation,
}
"""The names of the kinds, in the order in which they stand within a theme: the history of an entry before the entry."""
_NAMES: Final = {kind: name for name, kind in KINDS.items()}


def archived_kind(record: Archived) -> str:
    """Return the name of the kind of a record."""
    return _NAMES[type(record)]


def tells(last: ArchivedChange, entry: ArchivedEntry) -> bool:
    """Tell whether the last change of an entry says what it is."""
    if not stands(last):
        return False
    return (last.subject, *_stamp(last), last.after, last.at) == (
        *(entry.subject, *_stamp(entry), entry.content, entry.updated_at),
    )


def stands(last: ArchivedChange) -> bool:
    """Tell whether an entry is there, and has a text that is known, by its last change."""
    return last.change != "removed" and last.merged_into is None and last.erasure is None


def merged(last: ArchivedChange, twin: ArchivedEntry, *, change: UUID, recorded_at: datetime) -> ArchivedChange:
    """Return the change by which an entry that did not come in gave way to its twin, which was there before."""
    return replace(
        added(twin, change=change, recorded_at=recorded_at),
        row=last.row,
        change="replaced",
        before=last.after,
        origin="import",
        tool=None,
        session=None,
        operation=change,
        at=recorded_at,
        metadata=None,
        merged_into=twin.id,
    )


def added(entry: ArchivedEntry, *, change: UUID, recorded_at: datetime) -> ArchivedChange:
    """Return the change by which an entry came in at a moment, for want of one that says what it is."""
    return ArchivedChange(
        theme=entry.theme,
        subject=entry.subject,
        id=change,
        row=entry.id,
        change="added",
        target=entry.target,
        before=None,
        after=entry.content,
        origin=entry.origin,
        tool=entry.tool,
        session=entry.session,
        operation=entry.operation,
        reason=None,
        at=entry.updated_at,
        said_at=entry.said_at,
        recorded_at=recorded_at,
        metadata=entry.metadata,
        merged_into=None,
        erasure=None,
        digest=None,
    )


def _stamp(record: ArchivedEntry | ArchivedChange) -> tuple[object, ...]:
    return record.target, record.origin, record.tool, record.session, record.said_at, record.operation


def check_change(change: ArchivedChange) -> None:
    """Check that nothing somebody said stands where no erasure would look for it.

    Raises:
        InvalidInput: A text stands in what is left after an erasure, in the record of one, or beside a turn that was
            forgotten; or a tombstone lacks its hash or its erasure.
    """
    if (change.erasure is None) != (change.digest is None):
        raise InvalidInput("an erasure and a digest come together", field="erasure")
    if (change.change == ERASED) != (change.target == ""):
        raise InvalidInput("the record of an erasure is of no target, and every other change of one", field="target")
    empty: Set[str] = frozenset()
    if change.change == ERASED:
        if change.erasure is not None or not is_erasure_record(change.reason or ""):
            raise InvalidInput("this is no record of an erasure", field="reason")
        empty = TAKEN - {"reason"}
    elif change.erasure is not None:
        empty = TAKEN
    elif change.target == SAID_TARGET:
        empty = {"before", "after"}
    if filled := sorted(name for name in empty if getattr(change, name) is not None):
        raise InvalidInput(f"the field '{filled[0]}' tells something where nothing is told any more", field=filled[0])


def check_owner(theme: str, subject: bytes | None, *, registry: bool = False) -> None:
    """Check whose a record is.

    Args:
        registry: Whether it is a line of the registry of themes, where a sink stands without a subject.

    Raises:
        InvalidInput: The theme is not in its one spelling, names a person or a scope, or is a sink without a subject.
    """
    if subject is not None and len(subject) != SUBJECT_BYTES:
        raise InvalidInput("a subject is 64 hexadecimal digits", field="subject")
    if theme in SINKS:
        if subject is None and not registry:
            raise InvalidInput("what is in a governed theme has a subject", field="subject")
        return
    if canonical_theme(theme) != theme or is_reserved(Theme(theme)):
        raise InvalidInput("this is no theme's name in its one spelling", field="theme")
