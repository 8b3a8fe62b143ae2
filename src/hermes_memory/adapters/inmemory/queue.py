"""The embedding queue of an in-memory store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta

from hermes_memory.adapters.inmemory.records import Job, Records, content_hash
from hermes_memory.domain.embedded_text import CONTEXT_CHARACTERS
from hermes_memory.domain.errors import InvalidInput
from hermes_memory.domain.model import Row, RowId, kind_of
from hermes_memory.ports.embedding import EmbeddingBacklog, EmbeddingJob, Generation, PartVectors


class InMemoryEmbeddingQueue:
    """`EmbeddingQueue` over rows in memory."""

    def __init__(self, records: Records) -> None:
        self._records = records

    async def active(self) -> Generation | None:
        """Return the generation that recall uses; see `EmbeddingQueue.active`."""
        return self._records.generation

    async def calibrate(self, generation: int, *, unrelated: float, related: float) -> None:
        """Keep measured cosine levels; see `EmbeddingQueue.calibrate`."""
        active = self._records.generation
        if active is not None and active.number == generation:
            self._records.generation = replace(active, unrelated=unrelated, related=related)

    async def claim(self, limit: int, *, lease: float) -> Sequence[EmbeddingJob]:
        """Take jobs, longest due first among those that failed equally often; see `EmbeddingQueue.claim`."""
        now = self._records.now()
        due = [
            (row, job) for row, job in self._records.jobs.items() if job.parked_reason is None and job.not_before <= now
        ]
        due.sort(key=lambda item: (item[1].attempts, item[1].not_before))
        for _, job in due[:limit]:
            job.not_before = now + timedelta(seconds=lease)
        return [self._described(row, job) for row, job in due[:limit]]

    async def complete(self, vectors: Mapping[RowId, PartVectors], jobs: Sequence[EmbeddingJob]) -> None:
        """Keep vectors and end their jobs; see `EmbeddingQueue.complete`.

        Raises:
            InvalidInput: A vector has not the dimension of the active generation; none was kept.
        """
        for parts in vectors.values():
            for part in parts:
                self._require_dimension(part)
        for claimed in jobs:
            row = self._records.row(claimed.row)
            if not vectors.get(claimed.row) or row is None or content_hash(row.content) != claimed.content_hash:
                continue
            if claimed.previous_hash is not None and self._previous_hash(row) != claimed.previous_hash:
                continue
            self._records.vectors[claimed.row] = tuple(tuple(part) for part in vectors[claimed.row])
            self._records.jobs.pop(claimed.row, None)

    async def hold(self, jobs: Sequence[EmbeddingJob], seconds: float) -> None:
        """Keep claimed jobs, or give them back; see `EmbeddingQueue.hold`."""
        for claimed in jobs:
            if (job := self._unchanged(claimed)) and job.parked_reason is None:
                job.not_before = self._records.now() + timedelta(seconds=seconds)

    async def postpone(self, jobs: Sequence[EmbeddingJob], seconds: float) -> None:
        """Give jobs back for a time; see `EmbeddingQueue.postpone`."""
        for claimed in jobs:
            if job := self._unchanged(claimed):
                job.attempts += 1
                job.not_before = self._records.now() + timedelta(seconds=seconds)

    async def park(self, job: EmbeddingJob, reason: str) -> None:
        """Set a job aside; see `EmbeddingQueue.park`."""
        if kept := self._unchanged(job):
            kept.attempts += 1
            kept.parked_reason = reason

    async def backlog(self) -> EmbeddingBacklog:
        """Count what waits; see `EmbeddingQueue.backlog`."""
        parked = sum(job.parked_reason is not None for job in self._records.jobs.values())
        return EmbeddingBacklog(waiting=len(self._records.jobs) - parked, parked=parked)

    def _described(self, row: RowId, job: Job) -> EmbeddingJob:
        found = self._records.entries.get(row) or self._records.turns[row]
        previous = self._records.previous(found)
        return EmbeddingJob(
            row=row,
            kind=kind_of(found),
            theme=found.theme,
            subject=found.subject,
            text=found.content,
            content_hash=job.content_hash,
            attempts=job.attempts,
            context=previous.content[-CONTEXT_CHARACTERS:] if previous else "",
            previous_hash=self._previous_hash(found),
        )

    def _previous_hash(self, row: Row) -> bytes | None:
        previous = self._records.previous(row)
        return content_hash(previous.content) if previous else None

    def _unchanged(self, claimed: EmbeddingJob) -> Job | None:
        job = self._records.jobs.get(claimed.row)
        return job if job is not None and job.content_hash == claimed.content_hash else None

    def _require_dimension(self, vector: Sequence[float]) -> None:
        active = self._records.generation
        if active is None or len(vector) != active.dimension:
            raise InvalidInput("the vector has not the dimension of the active generation", field="vectors")
