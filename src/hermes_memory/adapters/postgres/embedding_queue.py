"""Hands out the rows that wait for a vector, over all themes, and stores what comes back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from itertools import chain, groupby
from typing import TYPE_CHECKING, Final, LiteralString

from hermes_memory.adapters.postgres.pool import Pool, Transaction
from hermes_memory.adapters.postgres.rows import columns, subject_of
from hermes_memory.adapters.postgres.statements import composed, identifier
from hermes_memory.domain.embedded_text import CONTEXT_CHARACTERS
from hermes_memory.domain.errors import InvalidInput
from hermes_memory.domain.model import Kind, RowId, Theme
from hermes_memory.ports.embedding import EmbeddingBacklog, EmbeddingJob, Generation, PartVectors

if TYPE_CHECKING:
    from hermes_memory.adapters.postgres.rows import Record

# $1 the generation of this queue, null for the one in use.
ACTIVE: Final[LiteralString] = """
select m.generation, m.model, m.dimension, m.part_tokens, m.unrelated_cosine, m.related_cosine
  from hermes_memory.installation i
  join hermes_memory.embedding_models m on m.generation = coalesce($1::int, i.active_generation)"""
CALIBRATE: Final[LiteralString] = "select hermes_memory.calibrate_generation($1, $2, $3)"
CLAIM: Final[LiteralString] = "select * from hermes_memory.claim_embedding_jobs($1, $2, $3, $4)"
DIMENSION: Final[LiteralString] = "select dimension from hermes_memory.embedding_models where generation = $1"
STORE: Final[LiteralString] = "select hermes_memory.store_vectors($1, $2, $3, $4, $5, $6, $7, $8, $9)"
END: Final[LiteralString] = "select hermes_memory.end_embedding_jobs($1, $2, $3, $4)"
HOLD: Final[LiteralString] = "select hermes_memory.hold_embedding_jobs($1, $2, $3, $4, $5)"
POSTPONE: Final[LiteralString] = "select hermes_memory.postpone_embedding_jobs($1, $2, $3, $4, $5)"
PARK: Final[LiteralString] = "select hermes_memory.park_embedding_job($1, $2, $3, $4, $5)"
BACKLOG: Final[LiteralString] = "select waiting, parked from hermes_memory.embedding_backlog($1)"

UNHURRIED: Final[tuple[LiteralString, ...]] = ("synchronous_commit = off",)
"""No commit waits for the disk: vectors and the end of their jobs are one transaction, so what a crash of the server
undoes in the last moments is a job again and done again."""


class PostgresEmbeddingQueue:
    """`EmbeddingQueue` on Postgres. Workers of any number of processes share it.

    Args:
        pool: Connections of the runtime role, or of whoever may act as `role`.
        timeout: Seconds a call may take.
        generation: Work for this generation, whichever is in use.
        role: Act as this role, a safe name.
    """

    def __init__(
        self, pool: Pool, *, timeout: float = 30.0, generation: int | None = None, role: str | None = None
    ) -> None:
        self._pool = pool
        self._timeout = timeout
        self._generation = generation
        self._settings = UNHURRIED if role is None else (*UNHURRIED, composed("role = {role}", role=identifier(role)))

    async def active(self) -> Generation | None:
        """Return the generation that recall uses; see `EmbeddingQueue.active`."""
        async with self._transaction() as transaction:
            record = await transaction.fetch_row(ACTIVE, self._generation)
        return _generation(record) if record else None

    async def calibrate(self, generation: int, *, unrelated: float, related: float) -> None:
        """Store measured cosine levels; see `EmbeddingQueue.calibrate`."""
        async with self._transaction() as transaction:
            await transaction.execute(CALIBRATE, generation, unrelated, related)

    async def claim(self, limit: int, *, lease: float) -> Sequence[EmbeddingJob]:
        """Take jobs, longest due first among those that failed equally often; see `EmbeddingQueue.claim`."""
        async with self._transaction() as transaction:
            taken = await transaction.fetch(CLAIM, limit, lease, CONTEXT_CHARACTERS, self._generation)
            orphans = [record for record in taken if record["content"] is None]
            if orphans:
                generation = orphans[0]["generation"]
                keys = columns((o["agent_identity"], o["row_id"], o["content_hash"]) for o in orphans)
                await transaction.execute(END, generation, *keys)
        return [_job(record) for record in taken if record["content"] is not None]

    async def complete(self, vectors: Mapping[EmbeddingJob, PartVectors]) -> None:
        """Store vectors and end their jobs; see `EmbeddingQueue.complete`.

        Raises:
            InvalidInput: A vector has not the dimension of its generation; none was stored.
        """
        done = sorted((job for job, parts in vectors.items() if parts), key=_place)
        if not done:
            return
        async with self._transaction() as transaction:
            for generation, group in groupby(done, key=lambda job: job.generation):
                await _store(transaction, generation, vectors, list(group))

    async def hold(self, jobs: Sequence[EmbeddingJob], seconds: float) -> None:
        """Keep claimed jobs, or give them back; see `EmbeddingQueue.hold`."""
        await self._defer(HOLD, jobs, seconds)

    async def postpone(self, jobs: Sequence[EmbeddingJob], seconds: float) -> None:
        """Give jobs back for a time; see `EmbeddingQueue.postpone`."""
        await self._defer(POSTPONE, jobs, seconds)

    async def park(self, job: EmbeddingJob, reason: str) -> None:
        """Set a job aside; see `EmbeddingQueue.park`."""
        async with self._transaction() as transaction:
            await transaction.execute(PARK, job.generation, job.theme, job.row, job.content_hash, reason)

    async def backlog(self) -> EmbeddingBacklog:
        """Count what waits; see `EmbeddingQueue.backlog`."""
        async with self._transaction() as transaction:
            record = await transaction.fetch_row(BACKLOG, self._generation)
        return (
            EmbeddingBacklog(waiting=record["waiting"], parked=record["parked"])
            if record
            else EmbeddingBacklog(waiting=0, parked=0)
        )

    async def _defer(self, statement: LiteralString, jobs: Sequence[EmbeddingJob], seconds: float) -> None:
        ordered = sorted(jobs, key=_place)
        if not ordered:
            return
        async with self._transaction() as transaction:
            for generation, group in groupby(ordered, key=lambda job: job.generation):
                await transaction.execute(statement, generation, *_keys(group), seconds)

    def _transaction(self) -> AbstractAsyncContextManager[Transaction]:
        return self._pool.transaction(None, timeout=self._timeout, settings=self._settings)


async def _store(
    transaction: Transaction, generation: int, vectors: Mapping[EmbeddingJob, PartVectors], jobs: Sequence[EmbeddingJob]
) -> None:
    dimension = await transaction.fetch_value(DIMENSION, generation)
    if dimension is None:  # the generation was dropped, and its jobs with it
        return
    if any(len(part) != dimension for job in jobs for part in vectors[job]):
        raise InvalidInput("a vector has not the dimension of its embedding generation", field="vectors")
    themes, rows, hashes = _keys(jobs)
    kinds = [str(job.kind) for job in jobs]
    counts = [len(vectors[job]) for job in jobs]
    numbers = list(chain.from_iterable(part for job in jobs for part in vectors[job]))
    previous = [job.previous_hash for job in jobs]
    await transaction.execute(STORE, generation, themes, rows, kinds, hashes, previous, counts, dimension, numbers)


def _place(job: EmbeddingJob) -> tuple[int, RowId, Theme]:
    return job.generation, job.row, job.theme


def _keys(jobs: Iterable[EmbeddingJob]) -> list[list[object]]:
    return columns((job.theme, job.row, job.content_hash) for job in jobs)


def _generation(record: Record) -> Generation:
    return Generation(
        number=record["generation"],
        model=record["model"],
        dimension=record["dimension"],
        part_tokens=record["part_tokens"],
        unrelated=record["unrelated_cosine"],
        related=record["related_cosine"],
    )


def _job(record: Record) -> EmbeddingJob:
    return EmbeddingJob(
        row=RowId(record["row_id"]),
        kind=Kind(record["kind"]),
        theme=Theme(record["agent_identity"]),
        subject=subject_of(record),
        text=record["content"],
        content_hash=record["content_hash"],
        attempts=record["attempts"],
        generation=record["generation"],
        context=record["previous"] or "",
        previous_hash=record["previous_hash"],
    )
