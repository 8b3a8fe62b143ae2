"""The embed stage: gives stored rows their vectors, in the background, as the normal path and after outages alike."""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import anyio
from anyio.abc import TaskGroup

from hermes_memory.application.breaker import Breaker, BreakerState
from hermes_memory.application.calibration import measure
from hermes_memory.application.doorbell import Doorbell
from hermes_memory.application.embed_batches import Batch, Sorted, packed, sort_out
from hermes_memory.application.embed_calls import PROBE, Answer, EmbedCalls
from hermes_memory.application.faults import RepeatedFaults
from hermes_memory.application.leases import DEFAULT_LEASE, Leases
from hermes_memory.application.telemetry import Telemetry
from hermes_memory.application.throttle import Throttle
from hermes_memory.domain.chunks import ChunkPolicy
from hermes_memory.domain.errors import (
    DeadlineExceeded,
    DeliveryRejected,
    EmbedderUnavailable,
    EmbeddingRejected,
    HermesMemoryError,
    SchemaNotApplied,
    StoreUnavailable,
)
from hermes_memory.ports.embedding import Embedder, EmbeddingJob, EmbeddingQueue, Generation, PartVectors

__all__ = ["PROBE", "EmbedCounts", "EmbedStage"]

logger = logging.getLogger(__name__)

IDLE_SECONDS: Final = 1.0
TROUBLE_SECONDS: Final = 2.0
PROBE_PAUSES: Final = (1.0, 2.0, 5.0)
"""Seconds between probes of an embedder that answers wrongly; the last one repeats."""
GENERATION_SECONDS: Final = 1.0
"""Seconds for which the generation in use is taken to be the same."""
MEASURE_SECONDS: Final = 30.0
"""Seconds until a model that could not be measured is measured again."""
BACKOFF: Final = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
"""Seconds until a row is tried again that the embedder failed on; after the last it is parked."""
STORE_PAUSES: Final = (0.2, 1.0)
"""Seconds between the tries to store vectors that are made already."""
STORES_AT_ONCE: Final = 2
"""Leaves connections of the pool to deliveries and questions."""
ASIDE_SECONDS: Final = 0.5
"""For so long after a call to make way batches come singly."""
SINGLE_SECONDS: Final = 2.0
"""Seconds between them. An embedder on a thread of this process holds up more than it takes."""
MOST_UNSTORED: Final = 8
"""Batches with vectors that wait for the store, beyond which no more are made."""
STORE_TROUBLE: Final = (StoreUnavailable, SchemaNotApplied, DeadlineExceeded, DeliveryRejected)


@dataclass(slots=True)
class EmbedCounts:
    """What this process embedded since it started."""

    embedded: int = 0
    parked: int = 0


class EmbedStage:
    """Works through the queue of rows without a vector. All methods belong to the event loop.

    Calls to the embedder overlap, so that its latency costs little, and `Throttle` says how many and how large. An
    embedder that fails on everything is left alone and probed; no row is claimed meanwhile.
    """

    def __init__(
        self,
        queue: EmbeddingQueue,
        embedder: Embedder,
        *,
        breaker: Breaker,
        batch: int = 64,
        parallel: int = 8,
        timeout: float = 30.0,
        lease: float = DEFAULT_LEASE,
        chunk: ChunkPolicy | None = None,
        telemetry: Telemetry | None = None,
    ) -> None:
        """Embed up to `parallel` batches of up to `batch` texts at a time, each within `timeout` seconds.

        Args:
            lease: Seconds for which claimed rows are this worker's unless it says that it still works on them.
            chunk: How long texts are cut where the generation does not say it.
        """
        self._queue = queue
        self._embedder = embedder
        self._breaker = breaker
        self._timeout = timeout
        self._chunk = self._configured = chunk or ChunkPolicy()
        self._throttle = Throttle(most=parallel, size=batch)
        self._calls = EmbedCalls(
            embedder, breaker=breaker, throttle=self._throttle, timeout=timeout, telemetry=telemetry
        )
        self._leases = Leases(queue, lease)
        self._faults = RepeatedFaults(logger)
        self._storing = anyio.Semaphore(STORES_AT_ONCE)
        self._ready: deque[Batch] = deque()
        self._flying = 0
        self._unstored = 0
        self._probes = 0
        self._probe_at = 0.0
        self._measure_at = 0.0
        self._generation: Generation | None = None
        self._ask_again_at = 0.0
        self._trouble = False
        self._aside_until = 0.0
        self._next_aside = 0.0
        self.doorbell = Doorbell()
        self.counts = EmbedCounts()
        self.mismatch: str | None = None

    @property
    def problem(self) -> str | None:
        """Why no vectors are made, None when they are."""
        return self.mismatch or self._calls.problem

    def make_way(self) -> None:
        """Leave processor and store to deliveries for a moment: a text is found without its vector, but not unstored.

        Some vectors are made even so, or there would be none while writes keep coming.
        """
        self._aside_until = time.monotonic() + ASIDE_SECONDS

    async def run(self) -> None:
        """Embed until cancelled; what was claimed is then given back."""
        try:
            async with anyio.create_task_group() as work:
                work.start_soon(self._leases.renew)
                while True:
                    pause = await self._safely(work)
                    if pause:
                        await self.doorbell.wait(pause)
        finally:
            self._ready.clear()
            await self._leases.give_all_back()

    async def _safely(self, work: TaskGroup) -> float:
        try:
            return await self._round(work)
        except STORE_TROUBLE as error:
            _note(error)
        except Exception as error:  # noqa: BLE001 - a fault of our own may not end embedding: the jobs stay in the store
            self._faults.tell("embedding met an unexpected error", error, action="embed.fault")
        return TROUBLE_SECONDS

    async def _round(self, work: TaskGroup) -> float:
        """See that there is work in stock and that as much is under way as may be; return the seconds to wait."""
        if self._trouble:
            self._trouble = False
            return TROUBLE_SECONDS
        generation = await self._fitting()
        if generation is None:
            return TROUBLE_SECONDS
        if pause := await self._embedder_pause(work, generation):
            await self._give_ready_back()
            return pause
        self._calibrate_beside(work, generation)
        if len(self._ready) * 2 < self._throttle.limit:
            await self._claim(generation)
        return 0.0 if self._launch(work) else IDLE_SECONDS

    def _launch(self, work: TaskGroup) -> int:
        """Start what is in stock, as far as the embedder and the store keep up; return how many batches it was.

        A small batch waits for company while others are under way: rows that come one by one would else cost a call and
        two transactions each.
        """
        started = 0
        while self._ready and self._flying < self._at_once() and self._unstored < MOST_UNSTORED:
            if self._flying and len(self._ready) == 1 and self._is_small(self._ready[0]):
                break
            self._flying += 1
            started += 1
            work.start_soon(self._fly, self._ready.popleft(), work)
        return started

    def _at_once(self) -> int:
        """Return how many batches may be under way now."""
        now = time.monotonic()
        if now >= self._aside_until:
            return self._throttle.limit
        if now < self._next_aside:
            return 0
        self._next_aside = now + SINGLE_SECONDS
        return 1

    async def _fitting(self) -> Generation | None:
        """Return the generation in use if its vectors are this embedder's, None when there is nothing to do."""
        if self._generation is None or time.monotonic() >= self._ask_again_at:
            found = await self._queue.active()
            self._generation = found if found is not None and self._fits(found) else None
            if self._generation is not None:
                self._chunk = self._configured.of_length(self._generation.part_tokens)
            self._ask_again_at = time.monotonic() + GENERATION_SECONDS
        return self._generation

    def _fits(self, generation: Generation) -> bool:
        found = self.mismatch_with(generation)
        if found is not None and self.mismatch is None:
            logger.error("the configured embedder is not the stored one", extra={"action": "embed.mismatch"})
        self.mismatch = found
        return found is None

    def mismatch_with(self, generation: Generation) -> str | None:
        """Say how a generation's vectors are not this embedder's, and what to do; None when they are."""
        configured = (self._embedder.model, self._embedder.dimension)
        if configured == (generation.model, generation.dimension):
            return None
        return (
            f"configured embedder {configured[0]} ({configured[1]} dimensions), stored vectors {generation.model} "
            f"({generation.dimension}): recall works by text until they agree. Run `hermes-memory reembed` to change "
            "to the configured one; if the stored one is right, configure it and restart the agents"
        )

    def other_parts(self, generation: Generation) -> str | None:
        """Say how the configured length of parts is not the one that a generation keeps to; None when it is."""
        kept, wanted = generation.part_tokens, self._configured.tokens
        if kept is None or kept == wanted:
            return None
        return (
            f"texts are embedded in parts of {kept} tokens, as the stored vectors are, and not of the configured "
            f"{wanted}: run `hermes-memory reembed` to make the vectors anew"
        )

    async def _embedder_pause(self, work: TaskGroup, generation: Generation) -> float:
        """Return how long to leave the embedder alone, 0 when it works. Probes it when it is time to.

        The probe is sent whether rows wait or not: recall asks the embedder only while the breaker lets it.
        """
        if self._calls.problem is None and self._breaker.state is BreakerState.CLOSED:
            if not self._calls.unproven:
                self._probes = 0
            return min(self._throttle.pause, IDLE_SECONDS)
        wait = self._breaker.retry_after
        wait = IDLE_SECONDS if wait is None else max(wait, self._probe_at - time.monotonic())
        if wait > 0:
            return min(wait, IDLE_SECONDS)
        works = await (self._tried(work, generation) if self._calls.relapsed else self._calls.probe())
        self._probe_at = time.monotonic() + PROBE_PAUSES[min(self._probes, len(PROBE_PAUSES) - 1)]
        self._probes += 1
        return 0.0 if works else min(PROBE_PAUSES[0], IDLE_SECONDS)

    async def _tried(self, work: TaskGroup, generation: Generation) -> bool:
        """Let a batch be the probe, and tell whether the embedder works.

        One that answers every third call, as behind a balancer with two dead servers, may answer the probes alone.
        """
        if not self._ready:
            await self._claim(generation)
        if self._flying or not self._ready:
            return await self._calls.probe()
        self._flying += 1
        await self._fly(self._ready.popleft(), work)
        return self._calls.problem is None

    def _calibrate_beside(self, work: TaskGroup, generation: Generation) -> None:
        if generation.unrelated is None and time.monotonic() >= self._measure_at:
            self._measure_at = time.monotonic() + MEASURE_SECONDS
            work.start_soon(self._calibrate, generation)

    async def _calibrate(self, generation: Generation) -> None:
        try:
            with self._breaker.guard():
                unrelated, related = await measure(self._embedder, timeout=self._timeout)
            await self._queue.calibrate(generation.number, unrelated=unrelated, related=related)
        except (EmbedderUnavailable, EmbeddingRejected, *STORE_TROUBLE) as error:
            logger.info("calibration waits", extra={"action": "embed.calibrate", "cause": type(error).__name__})
        except Exception as error:  # noqa: BLE001 - embedding goes on uncalibrated, and it is measured again later
            self._faults.tell("measuring the model met an unexpected error", error, action="embed.fault")

    async def _claim(self, generation: Generation) -> None:
        """Fill the stock, so that the next call need not wait for the store."""
        wanted = self._throttle.limit * self._throttle.size
        jobs = await self._queue.claim(wanted, lease=self._leases.seconds)
        self._leases.take(jobs)
        own = [job for job in jobs if job.generation == generation.number]
        waiting = self._ready.pop().jobs if self._ready and self._is_small(self._ready[-1]) else ()
        self._ready.extend(packed([*waiting, *own], self._chunk, self._throttle.size))
        if len(own) < len(jobs):  # the generation was switched a moment ago
            self._generation = None
            await self._leases.give_back([job for job in jobs if job.generation != generation.number])

    def _is_small(self, batch: Batch) -> bool:
        return len(batch.texts) * 2 < self._throttle.size

    async def _fly(self, batch: Batch, work: TaskGroup) -> None:
        """Embed a batch and store it; trouble is noted and does not end the batches beside it."""
        try:
            found = sort_out(batch, await self._embedded(batch, work))
            await self._settle(found, batch)
        except STORE_TROUBLE as error:
            _note(error)
            self._trouble = True
        except Exception as error:  # noqa: BLE001 - the batches beside it go on, and its own jobs stay in the store
            self._faults.tell("embedding met an unexpected error", error, action="embed.fault")
            self._trouble = True
        self._leases.forget(batch.jobs)  # not when cancelled: what is held then is given back
        self.doorbell.ring()

    async def _embedded(self, batch: Batch, work: TaskGroup) -> Sequence[Answer]:
        try:
            answers = await self._calls.vectors(batch.texts)
        finally:
            self._flying -= 1
        if self._calls.problem is None and not self._throttle.pause:
            self._launch(work)
        self.doorbell.ring()
        return answers

    async def _settle(self, found: Sorted, batch: Batch) -> None:
        if found.done:
            await self._complete(found.done)
        for job, reason in found.refused:
            await self._park(job, reason)
        for job, reason in found.suspect:
            await self._try_later(job, reason)
        if found.untried:
            await self._leases.give_back(found.untried)

    async def _give_ready_back(self) -> None:
        """Let other workers have what waits here for an embedder that does not work."""
        jobs = [job for batch in self._ready for job in batch.jobs]
        self._ready.clear()
        if jobs:
            await self._leases.give_back(jobs)

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
                async with self._storing:
                    return await self._queue.complete(vectors)
            except StoreUnavailable as error:
                _note(error)
                await anyio.sleep(pause)
        async with self._storing:
            return await self._queue.complete(vectors)

    async def _try_later(self, job: EmbeddingJob, reason: str) -> None:
        if job.attempts >= len(BACKOFF):
            await self._park(job, f"the embedder fails on this text again and again: {reason}")
        else:
            await self._queue.postpone([job], BACKOFF[job.attempts])

    async def _park(self, job: EmbeddingJob, reason: str) -> None:
        await self._queue.park(job, reason)
        self.counts.parked += 1


def _note(error: HermesMemoryError) -> None:
    logger.debug("embedding waits", extra={"action": "embed.wait", "cause": type(error).__name__})
