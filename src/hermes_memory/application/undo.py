"""Taking the last change of a memory back: a change of its own, by the way of every write."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from hermes_memory.application.accept import Acceptor
from hermes_memory.application.past import Past
from hermes_memory.domain.errors import NotVisible, Outdated
from hermes_memory.domain.history import Change, ChangeKind
from hermes_memory.domain.model import Caller, OperationId, Origin, SessionId, Target
from hermes_memory.domain.operations import ById, Operation
from hermes_memory.domain.visibility import changeable

TOOL = "undo"


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """When it was decided to take a memory's last change back: none that came later is meant.

    Attributes:
        at: The time, by the clock of the store. Those of hosts disagree, and what waits in a spool comes late. What
            was being stored then, and is seen only later, counts as there.
        own: What the home itself had accepted by then to change or forget, and was on its way.
    """

    at: datetime
    own: Collection[OperationId]

    def before(self, change: Change) -> bool:
        """Tell whether it was decided before a change came."""
        return change.recorded_at > self.at and change.operation not in self.own


async def last_change(
    past: Past, caller: Caller, name: UUID, *, timeout: float, decided: Decided | None = None
) -> tuple[Change, Sequence[Change]]:
    """Find what an undo would take back.

    Args:
        name: The memory, or the write that changed it last.
        decided: When that was; without it whatever is the last change is meant.

    Returns:
        The change, and all changes of its memory, newest first.

    Raises:
        NotVisible: There is none, it is not the caller's to change, its text was erased, or it is what was said in a
            conversation.
        Outdated: The memory was changed again after that write, or since it was decided; the message names what to
            undo first.
    """
    change, changes = await past.named(caller, name, timeout=timeout)
    if not changeable(change.theme, change.subject, caller):
        raise NotVisible("there is no such memory, or it is not yours to change")
    _target(change)
    if changes[0].operation != change.operation:
        raise Outdated(f"the memory was changed again since: undo {changes[0].operation} first")
    if decided is not None and change.row == name and decided.before(change):
        raise _meanwhile(change)
    if change.erased or (change.kind is not ChangeKind.ADDED and change.before is None):
        raise NotVisible("the text that stood before was erased")
    return change, changes


def require_left_by(change: Change, meant: OperationId) -> None:
    """Make sure that a change is the one that is meant.

    Raises:
        Outdated: It is another one.
    """
    if change.operation != meant:
        raise _meanwhile(change)


def take_back(
    acceptor: Acceptor, caller: Caller, changes: Sequence[Change], *, origin: Origin, reason: str
) -> Operation:
    """Accept the write that takes the newest of these changes back. It has no effect on a memory changed meanwhile.

    What is restored keeps the origin of who wrote it first, so that an undo lends no text more trust than it had; the
    conversation that it was said in, so that it goes when that one is erased; and the date when it was said, so that
    it is no newer than what came after it.

    Raises:
        SpoolFull, StoreUnavailable: As for every write.
    """
    change, earlier = changes[0], changes[1:]
    as_left = ById(id=change.row, left_by=change.operation)
    if change.kind is ChangeKind.ADDED:
        return acceptor.remove(caller, as_left, origin=origin, tool=TOOL, reason=reason)
    written = next((one for one in earlier if one.after == change.before), None)
    origin, session, said_at = _provenance(written, change)
    there = replace(caller, session=session)
    if not change.gone:
        return acceptor.replace(there, as_left, change.before, origin=origin, at=said_at, tool=TOOL, reason=reason)
    came_with = next((one.metadata for one in earlier if one.metadata is not None), None)
    return acceptor.add(
        # Whose it was, it is again: what belonged to everybody of the theme does not become that of who undoes.
        replace(there, subject=change.subject, also=frozenset()),
        change.before,
        target=_target(change),
        origin=origin,
        at=said_at,
        metadata=came_with,
        tool=TOOL,
        reason=reason,
    )


def _meanwhile(change: Change) -> Outdated:
    """Return what is raised where two at once undo the same, since the second would take back what the first did."""
    done = "undone" if change.tool == TOOL else "changed"
    return Outdated(
        f"the memory was {done} by somebody else meanwhile: look at it again; {change.operation} did it, "
        "and undoing that takes it back"
    )


def _target(change: Change) -> Target:
    if change.target is None:
        raise NotVisible("what was said in a conversation can be forgotten, and neither is undone")
    return change.target


def _provenance(written: Change | None, change: Change) -> tuple[Origin, SessionId | None, datetime | None]:
    """Return by whom, where and when a text was written. A history that does not tell leaves it undated: as of now."""
    if written is None:
        return change.origin, change.session, None
    return written.origin, written.session, written.said_at
