"""The vectors of an in-memory store and the rows that wait for one, by embedding generation."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from hermes_memory.domain.model import RowId
from hermes_memory.ports.embedding import Generation


@dataclass(slots=True, kw_only=True)
class Job:
    """A row that waits for its vector."""

    content_hash: bytes
    not_before: datetime
    attempts: int = 0
    parked_reason: str | None = None


@dataclass(slots=True, kw_only=True)
class KeptGeneration:
    """An embedding generation with what there is of it.

    Attributes:
        indexed: Whether it may be taken into use as far as its index goes.
        activated_at: When it was last taken into use, None when it never was.
    """

    generation: Generation
    indexed: bool = False
    activated_at: datetime | None = None
    vectors: dict[RowId, tuple[tuple[float, ...], ...]] = field(default_factory=dict)
    jobs: dict[RowId, Job] = field(default_factory=dict)

    @property
    def parked(self) -> int:
        """How many rows the embedder refuses."""
        return sum(job.parked_reason is not None for job in self.jobs.values())

    @property
    def waiting(self) -> int:
        """How many rows wait and are not refused."""
        return len(self.jobs) - self.parked

    def lacks(self, row: RowId) -> bool:
        """Tell whether a row has neither a vector nor a job."""
        return row not in self.vectors and row not in self.jobs

    def forget(self, row: RowId) -> None:
        """Let go of all that is there of a row."""
        self.vectors.pop(row, None)
        self.jobs.pop(row, None)
