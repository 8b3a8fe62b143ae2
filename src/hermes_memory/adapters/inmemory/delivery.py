"""Delivery to an in-memory store."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import assert_never

from hermes_memory.adapters.inmemory.history import note, note_forgotten
from hermes_memory.adapters.inmemory.records import Delivered, Records, entry_key
from hermes_memory.adapters.inmemory.selection import SEVERAL, said_by_id, select
from hermes_memory.adapters.inmemory.storable import require_storable
from hermes_memory.adapters.inmemory.turns import note_delegation, record_turns
from hermes_memory.domain.model import Caller, Entry, HomeId, OperationId, RowId
from hermes_memory.domain.operations import (
    AddEntry,
    ById,
    Effect,
    Operation,
    Outcome,
    RecordDelegation,
    RecordTurns,
    RemoveEntry,
    ReplaceEntry,
    row_id,
)
from hermes_memory.domain.visibility import changeable
from hermes_memory.ports.delivery import Wanted


class InMemoryDelivery:
    """`DeliveryStore` over rows in memory."""

    def __init__(self, records: Records) -> None:
        self._records = records

    async def apply(self, operations: Sequence[Operation], *, wanted: Wanted | None = None) -> Sequence[Outcome]:
        """Apply operations in their order, all or none; see `DeliveryStore.apply`."""
        with self._records.writing():
            if wanted is not None:
                still = await wanted([operation.stamp.operation for operation in operations])
                operations = [operation for operation in operations if operation.stamp.operation in still]
            for operation in operations:
                require_storable(operation)
            return [self._once(operation) for operation in operations]

    async def outcome(self, caller: Caller, operation: OperationId) -> Outcome | None:
        """Return a recorded outcome; see `DeliveryStore.outcome`."""
        delivered = self._records.delivered.get(operation)
        if delivered is None or not changeable(delivered.theme, delivered.subject, caller):
            return None
        return delivered.outcome

    def _once(self, operation: Operation) -> Outcome:
        stamp = operation.stamp
        if known := self._records.delivered.get(stamp.operation):
            return known.outcome
        effect, row = self._perform(operation)
        outcome = Outcome(operation=stamp.operation, effect=effect, row=row)
        self._records.delivered[stamp.operation] = Delivered(
            outcome=outcome, at=self._records.now(), theme=stamp.caller.theme, subject=stamp.caller.subject
        )
        return outcome

    def _perform(self, operation: Operation) -> tuple[Effect, RowId | None]:
        match operation:
            case AddEntry():
                return self._add(operation)
            case ReplaceEntry():
                return self._replace(operation)
            case RemoveEntry():
                return self._remove(operation)
            case RecordTurns():
                return record_turns(self._records, operation)
            case RecordDelegation():
                return note_delegation(self._records, operation)
            case _:
                assert_never(operation)

    def _add(self, operation: AddEntry) -> tuple[Effect, RowId | None]:
        stamp = operation.stamp
        entry = Entry(
            id=row_id(stamp.operation),
            theme=stamp.caller.theme,
            subject=stamp.caller.subject,
            target=operation.target,
            content=operation.content,
            at=operation.at,
            updated_at=stamp.accepted_at,
            origin=stamp.origin,
            session=stamp.caller.session,
            source=operation.source,
            metadata=operation.metadata,
            operation=stamp.operation,
            tool=stamp.tool,
        )
        if equal := self._equal(entry):
            self._adopt(equal, operation.source)
            return Effect.UNCHANGED, equal.id
        self._records.put_entry(entry)
        note(self._records, operation, None, entry)
        return Effect.STORED, entry.id

    def _replace(self, operation: ReplaceEntry) -> tuple[Effect, RowId | None]:
        selected = select(self._records, operation.stamp.caller, operation.selector)
        if selected is SEVERAL:
            return Effect.AMBIGUOUS, None
        if selected is None:
            return self._add_instead(operation)
        stamp = operation.stamp
        changed = replace(
            selected,
            content=operation.content,
            at=operation.said_at,
            updated_at=stamp.accepted_at,
            origin=stamp.origin,
            session=stamp.caller.session,
            source=operation.source,
            operation=stamp.operation,
            tool=stamp.tool,
        )
        survivor = self._equal(changed)
        if survivor is None:
            self._records.put_entry(changed)
            note(self._records, operation, selected, changed)
            return Effect.REPLACED, changed.id
        self._adopt(survivor, operation.source)
        if survivor.id == selected.id:
            return Effect.UNCHANGED, survivor.id
        self._records.drop_entry(selected.id)
        note(self._records, operation, selected, survivor)
        return Effect.REPLACED, survivor.id

    def _add_instead(self, operation: ReplaceEntry) -> tuple[Effect, RowId | None]:
        if not operation.upsert or isinstance(operation.selector, ById):
            return Effect.NOT_FOUND, None
        return self._add(
            AddEntry(
                stamp=operation.stamp,
                target=operation.selector.target,
                content=operation.content,
                at=operation.said_at,
                source=operation.source,
            )
        )

    def _remove(self, operation: RemoveEntry) -> tuple[Effect, RowId | None]:
        selected = select(self._records, operation.stamp.caller, operation.selector)
        if selected is SEVERAL:
            return Effect.AMBIGUOUS, None
        if selected is None:
            return self._forget_turn(operation)
        self._records.drop_entry(selected.id)
        note(self._records, operation, selected, None)
        return Effect.REMOVED, selected.id

    def _forget_turn(self, operation: RemoveEntry) -> tuple[Effect, RowId | None]:
        turn = said_by_id(self._records, operation.stamp.caller, operation.selector)
        if turn is None:
            return Effect.NOT_FOUND, None
        self._records.forget_turn(turn.id)
        note_forgotten(self._records, operation, turn)
        return Effect.REMOVED, turn.id

    def _equal(self, entry: Entry) -> Entry | None:
        known = self._records.entry_keys.get(entry_key(entry))
        return self._records.entries[known] if known else None

    def _adopt(self, entry: Entry, source: HomeId | None) -> None:
        """Let an entry that mirrors no home mirror this one. It is not a change: its place in the order stays."""
        if entry.source is None and source is not None:
            self._records.entries[entry.id] = replace(entry, source=source)
