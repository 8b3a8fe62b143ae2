"""Changes of memories, as they are kept: what became what, when, by whom and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from uuid import UUID, uuid5

from hermes_memory.domain.model import Json, OperationId, Origin, RowId, SessionId, Subject, Target, Theme, Turn


class ChangeKind(StrEnum):
    """What became of a memory."""

    ADDED = "added"
    REPLACED = "replaced"
    REMOVED = "removed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One change of one memory.

    Attributes:
        row: The memory.
        target: None of what was said in a conversation.
        before: Its content before; None when it is new, when the text was erased, and of what was said.
        after: Its content afterwards; None when it was removed, or when the text was erased.
        origin: Who wrote `after`, or removed it.
        operation: The accepted write that did it.
        at: When that was accepted, by the clock of its host.
        recorded_at: When it had its effect, by the clock of the store. Changes of one memory are in this order.
        said_at: When `after` was said or became true; of what was said and is forgotten, when that was said.
        metadata: What the memory came with; None unless it was added by this change.
        merged_into: The memory that had the new content already, and has taken the place of this one.
        erased: Whether the texts were erased; nothing but the fact of the change is left then.
    """

    id: UUID
    theme: Theme
    subject: Subject | None
    row: RowId
    kind: ChangeKind
    target: Target | None
    before: str | None
    after: str | None
    origin: Origin
    tool: str | None
    session: SessionId | None
    operation: OperationId
    reason: str | None
    at: datetime
    recorded_at: datetime
    said_at: datetime | None = None
    metadata: Mapping[str, Json] | None = None
    merged_into: RowId | None = None
    erased: bool = False

    def without_texts(self) -> Change:
        """Return what is left of it once its texts were erased."""
        return replace(
            self,
            before=None,
            after=None,
            tool=None,
            session=None,
            reason=None,
            said_at=None,
            metadata=None,
            erased=True,
        )

    @property
    def gone(self) -> bool:
        """Whether the memory was no more after it."""
        return self.kind is ChangeKind.REMOVED or self.merged_into is not None


def said(turn: Turn, *, accepted_at: datetime) -> Change:
    """Return what there is to tell of a turn that is there: that it was said. It is kept as it was said ever since."""
    return Change(
        id=uuid5(turn.id, "said"),
        theme=turn.theme,
        subject=turn.subject,
        row=turn.id,
        kind=ChangeKind.ADDED,
        target=None,
        before=None,
        after=turn.content,
        origin=turn.origin,
        tool=None,
        session=turn.session,
        operation=turn.operation or OperationId(turn.id),
        reason=None,
        at=accepted_at,
        recorded_at=accepted_at,
        said_at=turn.at,
        metadata=turn.metadata,
    )
