"""What became of the entries of an in-memory store."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from uuid import uuid5

from hermes_memory.adapters.inmemory.records import Records
from hermes_memory.domain.history import Change, ChangeKind, said
from hermes_memory.domain.model import NO_METADATA, Caller, Entry, OperationId, RowId, Scope, Target, Turn
from hermes_memory.domain.operations import AddEntry, RemoveEntry, ReplaceEntry
from hermes_memory.domain.visibility import changeable, in_scope, past_visible, visible


def note(
    records: Records, operation: AddEntry | ReplaceEntry | RemoveEntry, before: Entry | None, after: Entry | None
) -> None:
    """Note that an operation has made `after` of `before`; None stands for no entry."""
    entry = before or after
    if entry is None:
        return
    stamp = operation.stamp
    merged = before is not None and after is not None and before.id != after.id
    kind = ChangeKind.ADDED if before is None else ChangeKind.REMOVED if after is None else ChangeKind.REPLACED
    records.history.append(
        Change(
            id=uuid5(stamp.operation, f"history {entry.id}"),
            theme=entry.theme,
            subject=entry.subject,
            row=entry.id,
            kind=kind,
            target=entry.target,
            before=before.content if before else None,
            after=after.content if after else None,
            origin=stamp.origin,
            tool=stamp.tool,
            session=stamp.caller.session,
            operation=stamp.operation,
            reason=stamp.reason,
            at=stamp.accepted_at,
            recorded_at=records.now(),
            said_at=None if isinstance(operation, RemoveEntry) else _said_at(operation),
            metadata=after.metadata if after and before is None else None,
            merged_into=after.id if after and merged else None,
        )
    )


def note_forgotten(records: Records, operation: RemoveEntry, turn: Turn) -> None:
    """Note that an operation has forgotten a turn. What was said is not told."""
    stamp = operation.stamp
    records.history.append(
        Change(
            id=uuid5(stamp.operation, f"history {turn.id}"),
            theme=turn.theme,
            subject=turn.subject,
            row=turn.id,
            kind=ChangeKind.REMOVED,
            target=None,
            before=None,
            after=None,
            origin=stamp.origin,
            tool=stamp.tool,
            session=turn.session,
            operation=stamp.operation,
            reason=stamp.reason,
            at=stamp.accepted_at,
            recorded_at=records.now(),
            said_at=turn.at,
        )
    )


def _said_at(operation: AddEntry | ReplaceEntry) -> datetime:
    return operation.at if isinstance(operation, AddEntry) else operation.said_at


class InMemoryHistory:
    """`HistoryReader` over rows in memory. The time allowed is not watched: nothing here waits."""

    def __init__(self, records: Records) -> None:
        self._records = records

    async def of_row(self, caller: Caller, row: RowId, *, limit: int, timeout: float) -> Sequence[Change]:
        """Return the changes of a memory; see `HistoryReader.of_row`."""
        if told := [change for change in self._visible(caller) if change.row == row]:
            return told[:limit]
        turn = self._records.turns.get(row)
        if turn is None or not past_visible(turn.theme, turn.subject, caller):
            return []
        return [said(turn, accepted_at=self._records.accepted[row])]

    async def of_operation(self, caller: Caller, operation: OperationId, *, timeout: float) -> Sequence[Change]:
        """Return what a write changed; see `HistoryReader.of_operation`."""
        changes = (change for change in self._visible(caller) if change.operation == operation)
        return [change for change in changes if changeable(change.theme, change.subject, caller)]

    async def recent(self, caller: Caller, scope: Scope, *, limit: int, timeout: float) -> Sequence[Change]:
        """Return the changes within a scope; see `HistoryReader.recent`."""
        changes = self._visible(caller)
        return [c for c in changes if in_scope(c.theme, c.subject, c.session, caller, scope)][:limit]

    async def entries_at(
        self,
        caller: Caller,
        scope: Scope,
        moment: datetime,
        *,
        target: Target | None = None,
        limit: int,
        timeout: float,
    ) -> Sequence[Entry]:
        """Return memories as they stood; see `HistoryReader.entries_at`."""
        latest: dict[RowId, Change] = {}
        for change in self._visible(caller):
            if change.recorded_at <= moment and target in {None, change.target}:
                latest.setdefault(change.row, change)
        stood = [entry for change in latest.values() if (entry := self._entry(change))]
        return [e for e in stood if in_scope(e.theme, e.subject, e.session, caller, scope)][:limit]

    async def stored_at(
        self, caller: Caller, turns: Collection[RowId], moment: datetime, *, timeout: float
    ) -> frozenset[RowId]:
        """Tell which turns had been accepted; see `HistoryReader.stored_at`."""
        access = self._records.access(caller)
        known = (turn for row in turns if (turn := self._records.turns.get(row)))
        seen = (turn.id for turn in known if visible(turn.theme, turn.subject, caller, access))
        return frozenset(row for row in seen if self._records.accepted[row] <= moment)

    async def moment(self, *, timeout: float) -> datetime:
        """Return the time; see `HistoryReader.moment`."""
        return self._records.now()

    def _visible(self, caller: Caller) -> Iterator[Change]:
        """Yield the changes that the caller may see, newest first."""
        changes = reversed(self._records.history)
        return (change for change in changes if past_visible(change.theme, change.subject, caller))

    def _entry(self, change: Change) -> Entry | None:
        if change.gone or change.after is None or change.said_at is None or change.target is None:
            return None
        added = [c.metadata for c in self._records.history if c.row == change.row and c.kind is ChangeKind.ADDED]
        return Entry(
            id=change.row,
            theme=change.theme,
            subject=change.subject,
            target=change.target,
            content=change.after,
            at=change.said_at,
            updated_at=change.at,
            origin=change.origin,
            session=change.session,
            metadata=added[0] or NO_METADATA,
            operation=change.operation,
            tool=change.tool,
        )
