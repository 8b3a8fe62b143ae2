"""What an in-memory store says about itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

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
        parked = sum(job.parked_reason is not None for job in records.jobs.values())
        return {
            "themes": len(records.themes),
            "entries": len(records.entries),
            "turns": len(records.turns),
            "vectors": len(records.vectors),
            "waiting": len(records.jobs) - parked,
            "parked": parked,
        }

    async def generations(self) -> Sequence[GenerationStanding]:
        """Tell how things stand with the one generation there is; see `StoreInspector.generations`."""
        records = self._records
        one = records.generation
        if one is None:
            return []
        counts = await self.counts()
        return [
            GenerationStanding(
                generation=one.number,
                model=one.model,
                dimension=one.dimension,
                part_tokens=one.part_tokens,
                active=True,
                fed=True,
                measured=one.unrelated is not None,
                embeddable=len(records.entries) + len(records.turns.keys() - records.unembedded),
                embedded=counts["vectors"],
                waiting=counts["waiting"],
                parked=counts["parked"],
                bytes=0,
                activated_at=None,
            )
        ]
