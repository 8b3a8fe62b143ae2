"""Which subjects are one person, in this process's memory."""

from __future__ import annotations

from hermes_memory.adapters.inmemory.records import Records
from hermes_memory.domain.model import Subject


class InMemoryPeople:
    """`People` over what `InMemoryStore.merge` was told."""

    def __init__(self, records: Records) -> None:
        self._records = records

    async def others(self, subject: Subject, *, timeout: float) -> frozenset[Subject]:
        """Return the other subjects of the same person; see `People.others`."""
        return self._records.persons.get(subject, frozenset()) - {subject}
