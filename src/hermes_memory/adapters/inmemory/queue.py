"""The embedding queue of an in-memory store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta

from hermes_memory.adapters.inmemory.records import Records, content_hash
from hermes_memory.adapters.inmemory.vectors import Job, KeptGeneration
from hermes_memory.domain.embedded_text import CONTEXT_CHARACTERS
from hermes_memory.domain.errors import InvalidInput
from hermes_memory.domain.model import Row, RowId, kind_of
from hermes_memory.ports.embedding import EmbeddingBacklog, EmbeddingJob, Generation, PartVectors


class InMemoryEmbeddingQueue:
    """`EmbeddingQueue` over rows in memory.

    Args:
        generation: Work for this generation, whichever is in use.
    """

    def __init__(self, records: Records, generation: int | None = None) -> None:
        self._records = records
        self._generation = generation

    async def active(self) -> Generation | None:
        """Return the generation that recall uses; see `EmbeddingQueue.active`."""
        kept = self._kept()
        return kept.generation if kept else None

    async def calibrate(self, generation: int, *, unrelated: float, related: float) -> None:
        """Keep measured cosine levels; see `EmbeddingQueue.calibrate`."""
        if kept := self._records.kept.get(generation):
            kept.generation = replace(kept.generation, unrelated=unrelated, related=related)

    async def claim(self, limit: int, *, lease: float) -> Sequence[EmbeddingJob]:
        """Take jobs, longest due first among those that failed equally often; see `EmbeddingQueue.claim`."""
        kept, now = self._kept(), self._records.now()
        if kept is None:
            return []
        due = [(row, job) for row, job in kept.jobs.items() if job.parked_reason is None and job.not_before <= now]
        due.sort(key=lambda item: (item[1].attempts, item[1].not_before))
        for _, job in due[:limit]:
            job.not_before = now + timedelta(seconds=lease)
        return [self._described(kept.generation.number, row, job) for row, job in due[:limit]]

    async def complete(self, vectors: Mapping[EmbeddingJob, PartVectors]) -> None:
        """Keep vectors and end their jobs; see `EmbeddingQueue.complete`.

        Raises:
            InvalidInput: A vector has not the dimension of its generation; none was kept.
        """
        for claimed, parts in vectors.items():
            self._require_dimension(claimed, parts)
        for claimed, parts in vectors.items():
            kept = self._records.kept.get(claimed.generation)
            if kept is None:  # it was dropped, and its jobs with it
                continue
            row = self._records.row(claimed.row)
            if not parts or row is None or content_hash(row.content) != claimed.content_hash:
                continue
            if claimed.previous_hash is not None and self._previous_hash(row) != claimed.previous_hash:
                continue
            kept.vectors[claimed.row] = tuple(tuple(part) for part in parts)
            kept.jobs.pop(claimed.row, None)

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
        kept = self._kept()
        return (
            EmbeddingBacklog(waiting=kept.waiting, parked=kept.parked)
            if kept
            else EmbeddingBacklog(waiting=0, parked=0)
        )

    def _kept(self) -> KeptGeneration | None:
        return self._records.in_use if self._generation is None else self._records.kept.get(self._generation)

    def _described(self, generation: int, row: RowId, job: Job) -> EmbeddingJob:
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
            generation=generation,
            context=previous.content[-CONTEXT_CHARACTERS:] if previous else "",
            previous_hash=self._previous_hash(found),
        )

    def _previous_hash(self, row: Row) -> bytes | None:
        previous = self._records.previous(row)
        return content_hash(previous.content) if previous else None

    def _unchanged(self, claimed: EmbeddingJob) -> Job | None:
        kept = self._records.kept.get(claimed.generation)
        job = kept.jobs.get(claimed.row) if kept else None
        return job if job is not None and job.content_hash == claimed.content_hash else None

    def _require_dimension(self, job: EmbeddingJob, parts: PartVectors) -> None:
        kept = self._records.kept.get(job.generation)
        if kept is not None and any(len(part) != kept.generation.dimension for part in parts):
            raise InvalidInput("a vector has not the dimension of its embedding generation", field="vectors")
