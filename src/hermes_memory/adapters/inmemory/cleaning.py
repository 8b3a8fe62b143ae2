"""Cleaning up an in-memory store."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeVar
from uuid import UUID

from hermes_memory.adapters.inmemory.records import GrantKey, Records
from hermes_memory.adapters.inmemory.upkeep import Noting
from hermes_memory.domain.maintenance import Cleanup
from hermes_memory.domain.model import OperationId
from hermes_memory.ports.maintenance import Step

Key = TypeVar("Key")

NEVER_LEFT: Final[Mapping[str, int]] = {"vectors": 0, "jobs": 0, "postings": 0, "statistics": 0}
"""What goes with its row here, so that there never is any without one."""


class InMemoryCleanup(Noting):
    """`Upkeep` that removes what nothing refers to any more, all at once."""

    def __init__(self, records: Records, cleanup: Cleanup) -> None:
        super().__init__(records, "cleanup")
        self._cleanup = cleanup

    async def count(self) -> Mapping[str, int]:
        """Count what goes; see `Upkeep.count`."""
        records = self._records
        return {
            **NEVER_LEFT,
            "operations": len(self._operations()),
            "grants": len(self._grants()),
            "forgotten": len(records.told_of(frozenset(records.forgotten()))),
            "log": len(self._log()),
        }

    async def step(self) -> Step:
        """Remove it; see `Upkeep.step`."""
        counts = await self.count()
        records = self._records
        records.expire(records.forgotten())
        _drop(records.delivered, self._operations())
        _drop(records.grants, self._grants())
        _drop(records.maintenance, self._log())
        return self._note(counts, more=False)

    def _operations(self) -> list[OperationId]:
        before = self._cleanup.operations_before
        return [operation for operation, done in self._records.delivered.items() if done.at < before]

    def _grants(self) -> list[GrantKey]:
        now = self._records.now()
        return [key for key, standing in self._records.grants.items() if standing.expired(now)]

    def _log(self) -> list[UUID]:
        before = self._cleanup.log_before
        return [log for log, noted in self._records.maintenance.items() if before is not None and noted.at < before]


def _drop(kept: dict[Key, Any], gone: Iterable[Key]) -> None:
    for key in gone:
        del kept[key]
