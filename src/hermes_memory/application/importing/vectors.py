"""Taking vectors over, which spares the embedder the work."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from hermes_memory.application.importing.converting import Converted
from hermes_memory.domain.chunks import ChunkPolicy, chunks
from hermes_memory.domain.model import Kind
from hermes_memory.domain.operations import AddEntry, row_id
from hermes_memory.domain.vectors import indexable
from hermes_memory.ports.embedding import EmbeddingJob, EmbeddingQueue, Generation


class VectorPassage:
    """Takes over vectors of the generation in use."""

    def __init__(self, queue: EmbeddingQueue, generation: Generation) -> None:
        """Store them in `generation`.

        A text longer than its parts gets a vector for each of them, instead of one that tells little of any.
        """
        self._queue = queue
        self._generation = generation
        self._policy = ChunkPolicy().of_length(generation.part_tokens)

    async def take(self, stored: Sequence[Converted]) -> int:
        """Take over the vectors of rows that were just stored, and return how many; the others are made later."""
        vectors = {}
        for each in stored:
            if each.vector is None or each.text is None or not self._usable(each.vector, each.text):
                continue
            vectors[self._job(each, each.text)] = [each.vector]
        await self._queue.complete(vectors)
        return len(vectors)

    def _usable(self, vector: Sequence[float], text: str) -> bool:
        return indexable(vector, self._generation.dimension) and len(chunks(text, self._policy)) == 1

    def _job(self, each: Converted, text: str) -> EmbeddingJob:
        stamp = each.operation.stamp
        return EmbeddingJob(
            row=row_id(stamp.operation),
            kind=Kind.ENTRY if isinstance(each.operation, AddEntry) else Kind.TURN,
            theme=stamp.caller.theme,
            subject=stamp.caller.subject,
            text=text,
            content_hash=hashlib.sha256(text.encode()).digest(),
            attempts=0,
            generation=self._generation.number,
        )
