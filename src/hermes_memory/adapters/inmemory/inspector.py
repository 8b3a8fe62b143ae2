"""What an in-memory store says about itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hermes_memory.adapters.inmemory.generations import standing_of
from hermes_memory.adapters.inmemory.records import Records
from hermes_memory.ports.generations import GenerationStanding
from hermes_memory.ports.installation import Installation


class InMemoryInspector:
    """`StoreInspector` over rows in memory."""

    def __init__(self, records: Records) -> None:
        self._records = records

    async def verify(self) -> Installation:
        """Describe the store, which has no schema that could be missing; see `StoreInspector.verify`."""
        return Installation(migrations=(), partitions=1, read_policy=self._records.policy, server="in memory")

    async def counts(self) -> Mapping[str, int]:
        """Count rows; see `StoreInspector.counts`."""
        records = self._records
        kept = records.in_use
        return {
            "themes": len(records.themes),
            "entries": len(records.entries),
            "turns": len(records.turns),
            "vectors": len(kept.vectors) if kept else 0,
            "waiting": kept.waiting if kept else 0,
            "parked": kept.parked if kept else 0,
        }

    async def generations(self) -> Sequence[GenerationStanding]:
        """Tell how things stand with each generation; see `StoreInspector.generations`."""
        return standing_of(self._records)
