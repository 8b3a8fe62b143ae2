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
    """What the library itself notes about a write when it accepts it.

    Attributes:
        reason: Why it was made, in somebody's words; it is kept in the history.
    """

    operation: OperationId
    caller: Caller
    origin: Origin
    accepted_at: datetime
    tool: str | None = None
    reason: str | None = None


# Whatever the selector, only entries that `hermes_memory.domain.visibility.changeable` allows the caller are looked at:
# a row of another theme or subject is as good as absent. Entries that mirror `source` come before the theme's others,
# and among either the caller's own subject comes before no subject. The first group with a match decides.
@dataclass(frozen=True, slots=True, kw_only=True)
class ById:
    """Selects the entry with this id, whatever its target. What is removed may be a turn as well.

    Attributes:
        left_by: Only as this write has left it; an entry that was changed since is not selected.
    """

    id: RowId
    left_by: OperationId | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ByContent:
    """Selects the entry with exactly this content; one that mirrors `source` comes before the theme's others."""

    target: Target
    content: str
    source: HomeId | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BySubstring:
    """Selects the one entry that contains this text literally, first among those that mirror `source`.

    Case counts. Several entries that contain it are ambiguous, and none is touched.

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
    """Store a durable memory; an equal one of the same theme, subject and target is left as it is.

    Effect: STORED, with `row_id` of the operation; or UNCHANGED, with the row that was there. That one is as it was,
    except that it mirrors `source` from now on if it mirrored no home before.
    """

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
    By id there is no target to add it to.

    The entry keeps its id, theme, subject, target and metadata. Content, origin, session and source become those of
    the operation, `at` its `said_at`, and `updated_at` the time of its acceptance.

    Effect: REPLACED, with the row. UNCHANGED when the content was the same. Where an equal entry is there already, the
    selected one is removed, the other stays as with `AddEntry`, and its row is the outcome's. NOT_FOUND or AMBIGUOUS
    when none or several are selected; what is added instead has the effect of `AddEntry`.

    Attributes:
        at: When the new content was said or became true; None for the moment of acceptance.
    """

    stamp: Stamp
    selector: Selector
    content: str
    upsert: bool = False
    source: HomeId | None = None
    at: datetime | None = None

    def __post_init__(self) -> None:
        _require_content(self.content)

    @property
    def said_at(self) -> datetime:
        """When the new content was said or became true."""
        return self.at or self.stamp.accepted_at


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveEntry:
    """Forget one memory, with its vector and all else that was derived from it.

    By id it may be a turn. The places of the others in its session stay, and it is not stored again: for `RecordTurns`
    a turn that equals a forgotten one is known already.

    Effect: REMOVED, with the row; NOT_FOUND or AMBIGUOUS.
    """

    stamp: Stamp
    selector: Selector


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnDraft:
    """One message to store.

    Attributes:
        occurrence: How many equal messages of the same role came before in the session. It makes the second "yes"
            of a session a turn of its own, and the same transcript handed in again no turn at all. From 0 to 2³¹ - 1.

    Raises:
        InvalidInput: The content is empty, or the occurrence is out of range.
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
        if not _is_count(self.occurrence):
            raise InvalidInput("an occurrence is a whole number from 0 to 2147483647", field="occurrence")


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordTurns:
    """Store messages of one session, in order; those already stored are left as they are.

    A message is already stored when theme, subject, session, role, content and occurrence are equal. The row of the
    draft at `index` is `row_id` of operation and index; positions grow by one a stored turn of theme, subject and
    session. One that was forgotten is not stored again.

    Effect: STORED when any was new, else UNCHANGED; with the row when there is one draft that is stored.

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
    """Note that the caller's session handed a task to a child agent, and what came back.

    A child session of the caller's own theme gets the caller's as its parent, unless it has one. One of another theme
    is noted here alone: no theme writes what is another's. Nothing of it is searchable. Effect: STORED.
    """

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


def takes_away(operation: Operation) -> bool:
    """Tell whether an operation may take something away that is shown until it has its effect."""
    return isinstance(operation, RemoveEntry | ReplaceEntry)


def row_id(operation: OperationId, index: int = 0) -> RowId:
    """Derive the id of the row that an operation makes, `index` counting its rows from 0."""
    return RowId(uuid5(operation, str(index)))


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 31


def _require_content(content: str) -> None:
    if not content.strip():
        raise InvalidInput("the content is empty: there is nothing to remember", field="content")
