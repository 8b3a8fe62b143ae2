"""Which subjects are one person."""

from __future__ import annotations

from typing import Protocol

from hermes_memory.domain.model import Subject


class People(Protocol):
    """Tells which other subjects an operator has said to be the same person."""

    async def others(self, subject: Subject, *, timeout: float) -> frozenset[Subject]:
        """Return the other subjects of the same person; none for most.

        Raises:
            StoreUnavailable: The database cannot be reached.
            DeadlineExceeded: The answer did not come within `timeout` seconds.
            SchemaNotApplied: The database has no schema, or an older one.
        """
        ...
