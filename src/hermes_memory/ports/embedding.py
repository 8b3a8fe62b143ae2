"""Turning text into vectors, and the bookkeeping of which rows still need one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from hermes_memory.domain.model import Kind, RowId, Subject, Theme

PartVectors: TypeAlias = Sequence[Sequence[float]]
"""The vectors of one row, one for each part of its text, in order; at least one."""


class Embedder(Protocol):
    """One embedding model. Vectors are finite, not all zero, and `dimension` long."""

    @property
    def model(self) -> str:
        """Name of the model, stable across processes: rows embedded under it compare with each other."""
        ...

    @property
    def dimension(self) -> int:
        """Length of every vector, from 1 to 4,000."""
        ...

    async def embed_query(self, text: str, *, timeout: float) -> Sequence[float]:
        """Embed a question.

        Raises:
            EmbedderUnavailable: No answer in `timeout` seconds, or the endpoint is down or busy (`EmbedderBusy`).
            EmbeddingRejected: The endpoint refuses the text or answers wrongly.
        """
        ...

    async def embed_documents(self, texts: Sequence[str], *, timeout: float) -> Sequence[Sequence[float]]:
        """Embed texts to store, in their order.

        Raises:
            EmbedderUnavailable: No answer in `timeout` seconds, or the endpoint is down or busy (`EmbedderBusy`).
            EmbeddingRejected: The endpoint refuses one of the texts or answers wrongly; which one is not known.
        """
        ...

    async def aclose(self) -> None:
        """Let go of connections and threads. Called again it does nothing."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Generation:
    """One embedding model as the store knows it.

    Attributes:
        number: From 1; the vectors of a generation live in tables of their own.
        part_tokens: The longest parts that texts are cut into for it, in estimated tokens, at least 16; None leaves it
            to each who embeds.
        unrelated: Mean cosine of unrelated texts under this model, None until measured.
        related: Mean cosine of texts that say the same, None until measured.
    """

    number: int
    model: str
    dimension: int
    part_tokens: int | None = None
    unrelated: float | None = None
    related: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingJob:
    """A stored row that waits for its vector.

    Attributes:
        text: The row's content.
        context: For a turn, the end of the one before it; the two are embedded together, as
            `hermes_memory.domain.embedded_text` says.
        content_hash: 32 bytes; the vector is stored only while the row still has this content.
        previous_hash: Content hash of the turn the context is of, 32 bytes; the vector is stored only while that turn
            is there. None when there is no context.
        attempts: How often embedding it failed before.
        generation: Number of the generation the vector is for.
    """

    row: RowId
    kind: Kind
    theme: Theme
    subject: Subject | None
    text: str
    content_hash: bytes
    attempts: int
    generation: int = 1
    context: str = ""
    previous_hash: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingBacklog:
    """How many rows wait for a vector, and how many are parked because the embedder refuses them."""

    waiting: int
    parked: int


class EmbeddingQueue(Protocol):
    """Rows that wait for a vector of the active generation.

    A job appears and goes with its row, in the same transaction: one for each new entry, each new turn that is to be
    embedded and each replaced content, whose old vector goes at once. A changed content has a job of its own, unclaimed
    and without failures; whatever is then said of the job of the old content is passed over.

    The turn before a turn is the one stored at the position before it, of the same theme, subject and session. When it
    is erased, the vector that holds words of it goes too, and the turn waits for a new one.

    Raises (all methods): StoreUnavailable, SchemaNotApplied.
    """

    async def active(self) -> Generation | None:
        """Return the generation that recall uses, None when none was made yet."""
        ...

    async def calibrate(self, generation: int, *, unrelated: float, related: float) -> None:
        """Store the measured cosine levels of a generation."""
        ...

    async def claim(self, limit: int, *, lease: float) -> Sequence[EmbeddingJob]:
        """Take up to `limit` jobs for `lease` seconds; no other worker gets them meanwhile.

        Jobs that failed before come after those that did not.
        """
        ...

    async def hold(self, jobs: Sequence[EmbeddingJob], seconds: float) -> None:
        """Keep claimed jobs for so many seconds from now, or give them back with 0. No attempt is counted."""
        ...

    async def complete(self, vectors: Mapping[EmbeddingJob, PartVectors]) -> None:
        """Store the vectors of claimed jobs and end the jobs. Rows changed or gone meanwhile are passed over.

        So are jobs without a vector. Vectors go by their job, since rows of two themes may have one id. The parts of a
        row come to stand together, and in the place of all it had before.
        Completing again changes nothing.
        """
        ...

    async def postpone(self, jobs: Sequence[EmbeddingJob], seconds: float) -> None:
        """Give jobs back, to be claimed again after a time, and count the attempt."""
        ...

    async def park(self, job: EmbeddingJob, reason: str) -> None:
        """Set a job aside that cannot succeed; it stays visible to operators and is not claimed again."""
        ...

    async def backlog(self) -> EmbeddingBacklog:
        """Count what waits, claimed and postponed jobs included, and what is parked."""
        ...
