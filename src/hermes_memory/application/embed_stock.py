"""The rows that are claimed and wait for the embedder, packed into batches."""

from __future__ import annotations

from collections import deque

from hermes_memory.application.embed_batches import Batch, packed
from hermes_memory.application.embed_generation import GenerationInUse
from hermes_memory.application.leases import Leases
from hermes_memory.application.throttle import Throttle
from hermes_memory.ports.embedding import EmbeddingQueue, Generation


class Stock:
    """Claims ahead of what is embedded, so that the next call need not wait for the store."""

    def __init__(self, queue: EmbeddingQueue, leases: Leases, in_use: GenerationInUse, throttle: Throttle) -> None:
        """Claim from `queue` as much as `throttle` lets through at a time; `leases` notes what is held."""
        self._queue = queue
        self._leases = leases
        self._in_use = in_use
        self._throttle = throttle
        self._batches: deque[Batch] = deque()

    def __len__(self) -> int:
        """Count the batches."""
        return len(self._batches)

    @property
    def low(self) -> bool:
        """Whether it is time to claim more."""
        return len(self._batches) * 2 < self._throttle.limit

    @property
    def meagre(self) -> bool:
        """Whether all there is is a batch with room for as much again."""
        return len(self._batches) == 1 and self._has_room(self._batches[0])

    async def fill(self, generation: Generation) -> None:
        """Claim rows that wait for a vector of a generation. Those of another one are given back.

        Raises:
            StoreUnavailable, SchemaNotApplied: As for `EmbeddingQueue.claim`.
        """
        wanted = self._throttle.limit * self._throttle.size
        jobs = await self._queue.claim(wanted, lease=self._leases.seconds)
        self._leases.take(jobs)
        own = [job for job in jobs if job.generation == generation.number]
        waiting = self._batches.pop().jobs if self._batches and self._has_room(self._batches[-1]) else ()
        self._batches.extend(packed([*waiting, *own], self._in_use.chunk, self._throttle.size))
        if len(own) < len(jobs):  # the generation was switched a moment ago
            self._in_use.ask_again()
            await self._leases.give_back([job for job in jobs if job.generation != generation.number])

    def take(self) -> Batch:
        """Return the batch that is next.

        Raises:
            IndexError: There is none.
        """
        return self._batches.popleft()

    async def give_back(self) -> None:
        """Let other workers have what waits here for an embedder that does not work.

        Raises:
            StoreUnavailable, SchemaNotApplied: As for `EmbeddingQueue.hold`.
        """
        jobs = [job for batch in self._batches for job in batch.jobs]
        self.clear()
        if jobs:
            await self._leases.give_back(jobs)

    def clear(self) -> None:
        """Have none in stock any more; the rows stay claimed."""
        self._batches.clear()

    def _has_room(self, batch: Batch) -> bool:
        return len(batch.texts) * 2 < self._throttle.size
