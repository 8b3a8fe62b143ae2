"""What can be asked of the memory: the operations that are accepted, spooled and delivered.

An operation is complete in itself: identity, session, time and text are bound when it is accepted, so that
delivering it later, elsewhere or twice has the same effect.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import TypeAlias
from uuid import uuid5

from hermes_memory.domain.errors import InvalidInput
from hermes_memory.domain.model import (
    NO_METADATA,
    Caller,
    HomeId,
    Metadata,
    OperationId,
    Origin,
    Role,
    RowId,
    SessionId,
    Target,
    Theme,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stamp:
    """What the library itself notes about a write when it accepts it."""

    operation: OperationId
    caller: Caller
    origin: Origin
    accepted_at: datetime
    tool: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ById:
    """Selects the entry with this id."""

    id: RowId


@dataclass(frozen=True, slots=True, kw_only=True)
class ByContent:
    """Selects the entry with exactly this content; one that mirrors `source` comes before the theme's others."""

    target: Target
    content: str
    source: HomeId | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BySubstring:
    """Selects the one entry that contains this text literally, first among those that mirror `source`.

    Raises:
        InvalidInput: The text is empty, which would fit everything.
    """

    target: Target
    text: str
    source: HomeId | None = None

    def __post_init__(self) -> None:
        if not self.text:
            raise InvalidInput("an empty text would select every memory: name the text to find", field="old_text")


Selector: TypeAlias = ById | ByContent | BySubstring


@dataclass(frozen=True, slots=True, kw_only=True)
class AddEntry:
    """Store a durable memory; an equal one of the same theme, subject and target is left as it is."""

    stamp: Stamp
    target: Target
    content: str
    at: datetime
    source: HomeId | None = None
    metadata: Metadata = field(default_factory=lambda: NO_METADATA)

    def __post_init__(self) -> None:
        _require_content(self.content)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaceEntry:
    """Change the content of one memory.

    When nothing is selected and `upsert` is set, the new content is added: the host's file holds it already.
    """

    stamp: Stamp
    selector: Selector
    content: str
    upsert: bool = False
    source: HomeId | None = None

    def __post_init__(self) -> None:
        _require_content(self.content)


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveEntry:
    """Forget one memory."""

    stamp: Stamp
    selector: Selector


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnDraft:
    """One message to store.

    Attributes:
        occurrence: How many equal messages of the same role came before in the session. It makes the second "yes"
            of a session a turn of its own, and the same transcript handed in again no turn at all.
    """

    role: Role
    content: str
    at: datetime
    origin: Origin
    speaker: str | None = None
    occurrence: int = 0
    embed: bool = True
    metadata: Metadata = field(default_factory=lambda: NO_METADATA)

    def __post_init__(self) -> None:
        _require_content(self.content)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordTurns:
    """Store messages of one session, in order; those already stored are left as they are.

    Raises:
        InvalidInput: The caller has no session, or there is no turn.
    """

    stamp: Stamp
    turns: tuple[TurnDraft, ...]
    parent_session: SessionId | None = None

    def __post_init__(self) -> None:
        if self.stamp.caller.session is None:
            raise InvalidInput("a turn belongs to a session: name it", field="session")
        if not self.turns:
            raise InvalidInput("there is no turn to record", field="turns")


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordDelegation:
    """Note that the caller's session handed a task to a child agent, and what came back."""

    stamp: Stamp
    child_session: SessionId | None
    child_theme: Theme | None
    task: str
    result: str


Operation: TypeAlias = AddEntry | ReplaceEntry | RemoveEntry | RecordTurns | RecordDelegation


class Effect(StrEnum):
    """What delivering an operation did."""

    STORED = "stored"
    UNCHANGED = "unchanged"
    REPLACED = "replaced"
    REMOVED = "removed"
    NOT_FOUND = "not_found"
    AMBIGUOUS = "ambiguous"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The recorded effect of one operation. Delivering it again returns the same.

    Attributes:
        row: The entry concerned, or None when there is none or there are several rows.
    """

    operation: OperationId
    effect: Effect
    row: RowId | None = None


def lane_of(operation: Operation) -> str:
    """Name the lane of an operation: within a lane the order of acceptance is the order of effect."""
    caller = operation.stamp.caller
    subject = caller.subject.hex() if caller.subject else ""
    if isinstance(operation, RecordTurns | RecordDelegation):
        return f"session\x1f{caller.theme}\x1f{subject}\x1f{caller.session or ''}"
    return f"entries\x1f{caller.theme}\x1f{subject}"


def row_id(operation: OperationId, index: int = 0) -> RowId:
    """Derive the id of the row that an operation makes, `index` counting its rows from 0."""
    return RowId(uuid5(operation, str(index)))


def _require_content(content: str) -> None:
    if not content.strip():
        raise InvalidInput("the content is empty: there is nothing to remember", field="content")
