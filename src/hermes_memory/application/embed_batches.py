"""Cuts the texts of rows into parts, and packs the parts of several rows into one call."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from hermes_memory.application.embed_calls import Answer, Refused, Unanswered
from hermes_memory.domain.chunks import ChunkPolicy, tokens
from hermes_memory.domain.embedded_text import embedded_parts
from hermes_memory.ports.embedding import EmbeddingJob, PartVectors

CALL_TOKENS: Final = 16_384
"""Estimated tokens of a call: what common servers take at once."""
SUSPECT: Final = 2
"""Failures after which a row travels alone, so that it takes no other with it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Rows that are embedded together, and the parts of their texts, one tuple a row."""

    jobs: tuple[EmbeddingJob, ...]
    parts: tuple[tuple[str, ...], ...]

    @property
    def texts(self) -> list[str]:
        """All parts, row by row."""
        return [part for parts in self.parts for part in parts]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sorted:
    """What became of the rows of a batch.

    Attributes:
        done: Rows with the vectors of all their parts.
        refused: Rows with a part that the embedder refuses, and its reason.
        suspect: Rows with a part that the embedder fails on while it answers others, and how.
        untried: Rows that nothing is known about.
    """

    done: Mapping[EmbeddingJob, PartVectors]
    refused: Sequence[tuple[EmbeddingJob, str]]
    suspect: Sequence[tuple[EmbeddingJob, str]]
    untried: Sequence[EmbeddingJob]


def packed(jobs: Sequence[EmbeddingJob], policy: ChunkPolicy, size: int) -> Iterator[Batch]:
    """Yield batches of at most `size` parts and `CALL_TOKENS` tokens, in the order of the jobs.

    A row's parts stay together, so a long text is a batch of its own, and so is a row that failed repeatedly.
    """
    waiting: list[tuple[EmbeddingJob, tuple[str, ...]]] = []
    count = cost = 0
    for job in jobs:
        parts = embedded_parts(job.text, policy, job.context)
        weight = sum(map(tokens, parts))
        alone = job.attempts >= SUSPECT or (waiting and waiting[-1][0].attempts >= SUSPECT)
        if waiting and (alone or count + len(parts) > size or cost + weight > CALL_TOKENS):
            yield _batch(waiting)
            waiting, count, cost = [], 0, 0
        waiting.append((job, parts))
        count, cost = count + len(parts), cost + weight
    if waiting:
        yield _batch(waiting)


def sort_out(batch: Batch, answers: Sequence[Answer]) -> Sorted:
    """Judge each row by the answers to its parts: one part refused is a row refused."""
    done: dict[EmbeddingJob, PartVectors] = {}
    refused: list[tuple[EmbeddingJob, str]] = []
    suspect: list[tuple[EmbeddingJob, str]] = []
    untried: list[EmbeddingJob] = []
    rest = iter(answers)
    for job, parts in zip(batch.jobs, batch.parts, strict=True):
        own = [next(rest) for _ in parts]
        if reasons := [answer.reason for answer in own if isinstance(answer, Refused)]:
            refused.append((job, reasons[0]))
        elif reasons := [answer.reason for answer in own if isinstance(answer, Unanswered) and answer.suspect]:
            suspect.append((job, reasons[0]))
        elif any(isinstance(answer, Unanswered) for answer in own):
            untried.append(job)
        else:
            done[job] = [answer for answer in own if not isinstance(answer, Refused | Unanswered)]
    return Sorted(done=done, refused=refused, suspect=suspect, untried=untried)


def _batch(waiting: Sequence[tuple[EmbeddingJob, tuple[str, ...]]]) -> Batch:
    return Batch(jobs=tuple(job for job, _ in waiting), parts=tuple(parts for _, parts in waiting))
