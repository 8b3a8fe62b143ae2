"""For which generation vectors are made, whether the embedder is the one they come from, and how texts are cut."""

from __future__ import annotations

import logging
import time
from typing import Final

from hermes_memory.domain.chunks import ChunkPolicy
from hermes_memory.ports.embedding import Embedder, EmbeddingQueue, Generation

logger = logging.getLogger(__name__)

GENERATION_SECONDS: Final = 1.0
"""Seconds for which the generation in use is taken to be the same."""


class GenerationInUse:
    """The generation that the store uses, held against the configured embedder.

    Attributes:
        mismatch: Why vectors of this embedder are not the stored ones, None when they are.
        chunk: How texts are cut into parts.
    """

    def __init__(self, queue: EmbeddingQueue, embedder: Embedder, *, chunk: ChunkPolicy) -> None:
        """Ask `queue` for the generation; where that does not say how texts are cut, `chunk` does."""
        self._queue = queue
        self._embedder = embedder
        self._configured = chunk
        self._found: Generation | None = None
        self._ask_again_at = 0.0
        self.chunk = chunk
        self.mismatch: str | None = None

    async def fitting(self) -> Generation | None:
        """Return the generation in use if its vectors are this embedder's, None when there is nothing to do.

        Raises:
            StoreUnavailable, SchemaNotApplied: As for `EmbeddingQueue.active`.
        """
        if self._found is None or time.monotonic() >= self._ask_again_at:
            found = await self._queue.active()
            self._found = found if found is not None and self._fits(found) else None
            if self._found is not None:
                self.chunk = self._configured.of_length(self._found.part_tokens)
            self._ask_again_at = time.monotonic() + GENERATION_SECONDS
        return self._found

    def ask_again(self) -> None:
        """Take nothing for granted the next time: another generation has come into use."""
        self._found = None

    def mismatch_with(self, generation: Generation) -> str | None:
        """Say how a generation's vectors are not this embedder's, and what to do; None when they are."""
        configured = (self._embedder.model, self._embedder.dimension)
        if configured == (generation.model, generation.dimension):
            return None
        return (
            f"configured embedder {configured[0]} ({configured[1]} dimensions), stored vectors {generation.model} "
            f"({generation.dimension}): recall works by text until they agree. Configure the stored one and restart "
            "the agents; or run `hermes-memory reembed`, which changes to the configured one"
        )

    def other_parts(self, generation: Generation) -> str | None:
        """Say how the configured length of parts is not the one that a generation keeps to; None when it is."""
        kept, wanted = generation.part_tokens, self._configured.tokens
        if kept is None or kept == wanted:
            return None
        return (
            f"texts are embedded in parts of {kept} tokens, as the stored vectors are, and not of the configured "
            f"{wanted}: set embed_part_tokens to {kept}, or run `hermes-memory reembed` to make the vectors anew"
        )

    def _fits(self, generation: Generation) -> bool:
        found = self.mismatch_with(generation)
        if found is not None and self.mismatch is None:
            logger.error("the configured embedder is not the stored one", extra={"action": "embed.mismatch"})
        self.mismatch = found
        return found is None
