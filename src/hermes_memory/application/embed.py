"""The embed stage: gives stored rows their vectors, in the background, as the normal path and after outages alike."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import anyio

from hermes_memory.application.breaker import Breaker
from hermes_memory.application.calibration import measure
from hermes_memory.application.doorbell import Doorbell
from hermes_memory.domain.errors import (
    DeadlineExceeded,
    DeliveryRejected,
    EmbedderUnavailable,
    EmbeddingRejected,
    HermesMemoryError,
    SchemaNotApplied,
    StoreUnavailable,
)
from hermes_memory.domain.model import RowId
from hermes_memory.ports.embedding import Embedder, EmbeddingJob, EmbeddingQueue, Generation, PartVectors

logger = logging.getLogger(__name__)

IDLE_SECONDS: Final = 1.0
TROUBLE_SECONDS: Final = 2.0
POSTPONE_SECONDS: Final = 1.0
STORE_PAUSES: Final = (0.2, 1.0)
"""Seconds between the tries to store vectors that are made already."""
STORE_TROUBLE: Final = (StoreUnavailable, SchemaNotApplied, DeadlineExceeded, DeliveryRejected)
PROBE: Final = "The meeting is on Tuesday."


@dataclass(slots=True)
class EmbedCounts:
    """What this process embedded since it started."""

    embedded: int = 0
    parked: int = 0


class EmbedStage:
    """Works through the queue of rows without a vector. All methods belong to the event loop."""

    def __init__(
        self,
        queue: EmbeddingQueue,
        embedder: Embedder,
        *,
        breaker: Breaker,
        batch: int = 32,
        parallel: int = 4,
        timeout: float = 30.0,
        lease: float | None = None,
    ) -> None:
        """Embed `parallel` batches of `batch` texts at a time, each within `timeout` seconds.

        Args:
            lease: Seconds for which claimed rows are this worker's: no longer than a claim takes to be worked off,
                because the rows of a worker that dies wait for that long. Default: enough for one repeated batch.
        """
        self._queue = queue
        self._embedder = embedder
        self._breaker = breaker
        self._batch = batch
        self._parallel = parallel
        self._timeout = timeout
        self._lease = timeout * 2 + 10 if lease is None else lease
        self.doorbell = Doorbell()
        self.counts = EmbedCounts()
        self.mismatch: str | None = None

    async def run(self) -> None:
        """Embed until cancelled."""
        while True:
            try:
                pause = await self._round()
            except STORE_TROUBLE as error:
                _note(error)
                pause = TROUBLE_SECONDS
            except Exception:
                logger.exception("embedding met an unexpected error", extra={"action": "embed.fault"})
                pause = TROUBLE_SECONDS
            if pause:
                await self.doorbell.wait(pause)

    async def _round(self) -> float:
        generation = await self._queue.active()
        if generation is None or not self._fits(generation):
            return TROUBLE_SECONDS
        if not self._breaker.allows():
            return IDLE_SECONDS
        if generation.unrelated is None:
            await self._calibrate(generation)
        jobs = await self._queue.claim(self._batch * self._parallel, lease=self._lease)
        if not jobs:
            return IDLE_SECONDS
        troubles: list[HermesMemoryError] = []
        async with anyio.create_task_group() as group:
            for start in range(0, len(jobs), self._batch):
                group.start_soon(self._embed_apart, jobs[start : start + self._batch], troubles)
        if troubles:
            return TROUBLE_SECONDS
        return 0.0 if self._breaker.allows() else IDLE_SECONDS

    def _fits(self, generation: Generation) -> bool:
        configured = (self._embedder.model, self._embedder.dimension)
        if configured == (generation.model, generation.dimension):
            self.mismatch = None
            return True
        if self.mismatch is None:
            logger.error("the configured embedder is not the stored one", extra={"action": "embed.mismatch"})
        self.mismatch = (
            f"configured embedder {configured[0]} ({configured[1]} dimensions), "
            f"stored vectors {generation.model} ({generation.dimension}): recall works by text until they agree"
        )
        return False

    async def _calibrate(self, generation: Generation) -> None:
        try:
            with self._breaker.guard():
                unrelated, related = await measure(self._embedder, timeout=self._timeout)
        except (EmbedderUnavailable, EmbeddingRejected) as error:
            logger.info("calibration waits", extra={"action": "embed.calibrate", "cause": type(error).__name__})
            return
        await self._queue.calibrate(generation.number, unrelated=unrelated, related=related)

    async def _embed_apart(self, jobs: Sequence[EmbeddingJob], troubles: list[HermesMemoryError]) -> None:
        """Embed a batch; trouble with the store is noted and does not end the batches beside it."""
        try:
            await self._embed(jobs)
        except STORE_TROUBLE as error:
            _note(error)
            troubles.append(error)

    async def _embed(self, jobs: Sequence[EmbeddingJob]) -> None:
        try:
            with self._breaker.guard():
                vectors = await self._embedder.embed_documents([job.text for job in jobs], timeout=self._timeout)
        except EmbedderUnavailable as error:
            await self._queue.postpone(jobs, error.retry_after or POSTPONE_SECONDS)
            return
        except EmbeddingRejected as error:
            if await self._probe():
                await self._part(jobs, str(error))
            else:
                await self._queue.postpone(jobs, POSTPONE_SECONDS)
            return
        await self._complete({job.row: [vector] for job, vector in zip(jobs, vectors, strict=True)}, jobs)
        self.counts.embedded += len(jobs)

    async def _complete(self, vectors: Mapping[RowId, PartVectors], jobs: Sequence[EmbeddingJob]) -> None:
        """Store vectors; they are tried again before they are given up, since making them costs more."""
        for pause in STORE_PAUSES:
            try:
                return await self._queue.complete(vectors, jobs)
            except StoreUnavailable as error:
                _note(error)
                await anyio.sleep(pause)
        return await self._queue.complete(vectors, jobs)

    async def _probe(self) -> bool:
        """Tell whether the embedder embeds a harmless text: if not, the fault is its own and no job is parked."""
        try:
            with self._breaker.guard():
                await self._embedder.embed_documents([PROBE], timeout=self._timeout)
        except (EmbedderUnavailable, EmbeddingRejected):
            return False
        return True

    async def _part(self, jobs: Sequence[EmbeddingJob], reason: str) -> None:
        """Find the text the embedder refuses by halving, park it, and embed the rest."""
        if len(jobs) == 1:
            await self._queue.park(jobs[0], reason)
            self.counts.parked += 1
            return
        half = len(jobs) // 2
        await self._embed(jobs[:half])
        await self._embed(jobs[half:])


def _note(error: HermesMemoryError) -> None:
    logger.debug("embedding waits", extra={"action": "embed.wait", "cause": type(error).__name__})
