"""What of another memory is in an in-memory store already."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime

from hermes_memory.adapters.inmemory.records import Records
from hermes_memory.domain.model import Caller, OperationId, RowId, Theme
from hermes_memory.domain.operations import Outcome
from hermes_memory.domain.visibility import changeable, visible


class InMemoryWitness:
    """`Witness` over rows in memory."""

    def __init__(self, records: Records) -> None:
        self._records = records

    async def delivered(self, caller: Caller, operations: Collection[OperationId]) -> Mapping[OperationId, Outcome]:
        """Return recorded outcomes; see `Witness.delivered`."""
        found = {each: self._records.delivered.get(each) for each in operations}
        return {
            operation: done.outcome
            for operation, done in found.items()
            if done and changeable(done.theme, done.subject, caller)
        }

    async def present(self, caller: Caller, rows: Mapping[RowId, str]) -> frozenset[RowId]:
        """Return rows with exactly this text; see `Witness.present`."""
        access = self._records.access(caller)
        stored = {row: self._records.row(row) for row in rows}
        return frozenset(
            row
            for row, there in stored.items()
            if there and there.theme == caller.theme and there.content == rows[row]
            if visible(there.theme, there.subject, caller, access)
        )

    async def note_theme(self, theme: Theme, first_seen_at: datetime, last_seen_at: datetime) -> None:
        """Enter a theme into the registry, which keeps no times here; see `Witness.note_theme`."""
        self._records.see(theme)
