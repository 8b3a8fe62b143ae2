"""What becomes of rows once the embedder has answered: their vectors are stored, or they are tried again, or parked."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import anyio

from hermes_memory.application.embed_batches import Sorted
from hermes_memory.application.leases import Leases
from hermes_memory.domain.errors import (
    ConfigurationError,
    DeadlineExceeded,
    DeliveryRejected,
    HermesMemoryError,
    SchemaNotApplied,
    StoreUnavailable,
)
from hermes_memory.ports.embedding import EmbeddingJob, EmbeddingQueue, PartVectors

logger = logging.getLogger(__name__)

BACKOFF: Final = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
"""Seconds until a row is tried again that the embedder failed on; after the last it is parked."""
STORE_PAUSES: Final = (0.2, 1.0)
"""Seconds between the tries to store vectors that are made already."""
STORES_AT_ONCE: Final = 2
"""Leaves connections of the pool to deliveries and questions."""
MOST_UNSTORED: Final = 8
"""Batches with vectors that wait for the store, beyond which no more are made."""
STORE_TROUBLE: Final = (
    StoreUnavailable,
    SchemaNotApplied,
    ConfigurationError,
    DeadlineExceeded,
    DeliveryRejected,
)


@dataclass(slots=True)
class EmbedCounts:
    """What this process embedded since it started."""

    embedded: int = 0
    parked: int = 0


class Storing:
    """Settles what is known of rows with the store, and counts it."""

    def __init__(self, queue: EmbeddingQueue, leases: Leases) -> None:
        self._queue = queue
        self._leases = leases
        self._at_once = anyio.Semaphore(STORES_AT_ONCE)
        self._unstored = 0
        self.counts = EmbedCounts()

    @property
    def behind(self) -> bool:
        """Whether so many vectors wait for the store that no more should be made."""
        return self._unstored >= MOST_UNSTORED

    async def settle(self, found: Sorted) -> None:
        """Tell the store what became of the rows of a batch.

        Raises:
            StoreUnavailable, SchemaNotApplied, DeadlineExceeded, DeliveryRejected: It could not be told of all; the
                rows it was not told of are claimed again by and by.
        """
        if found.done:
            await self._complete(found.done)
        for job, reason in found.refused:
            await self._park(job, reason)
        for job, reason in found.suspect:
            await self._try_later(job, reason)
        if found.untried:
            await self._leases.give_back(found.untried)

    async def _complete(self, vectors: Mapping[EmbeddingJob, PartVectors]) -> None:
        """Store vectors; they are tried again before they are given up, since making them costs more."""
        self._unstored += 1
        try:
            await self._store(vectors)
        finally:
            self._unstored -= 1
        self.counts.embedded += len(vectors)

    async def _store(self, vectors: Mapping[EmbeddingJob, PartVectors]) -> None:
        for pause in STORE_PAUSES:
            try:
                async with self._at_once:
                    return await self._queue.complete(vectors)
            except StoreUnavailable as error:
                note_waiting(error)
                await anyio.sleep(pause)
        async with self._at_once:
            return await self._queue.complete(vectors)

    async def _try_later(self, job: EmbeddingJob, reason: str) -> None:
        if job.attempts >= len(BACKOFF):
            await self._park(job, f"the embedder fails on this text again and again: {reason}")
        else:
            await self._queue.postpone([job], BACKOFF[job.attempts])

    async def _park(self, job: EmbeddingJob, reason: str) -> None:
        await self._queue.park(job, reason)
        self.counts.parked += 1


def note_waiting(error: HermesMemoryError) -> None:
    """Note that embedding waits for the store: an outage is told of elsewhere."""
    logger.debug("embedding waits", extra={"action": "embed.wait", "cause": type(error).__name__})
