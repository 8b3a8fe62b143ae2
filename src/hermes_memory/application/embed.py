"""The embed stage: gives stored rows their vectors, in the background, as the normal path and after outages alike.

It decides when what is done. How each step is done is told elsewhere: `embed_generation` knows for which model,
`embed_stock` claims rows, `embed_batches` cuts and packs their texts, `embed_calls` asks the embedder, `embed_storing`
settles with the store, and `embed_measuring` calibrates.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from typing import Final

import anyio
from anyio.abc import TaskGroup

from hermes_memory.application.breaker import Breaker, BreakerState
from hermes_memory.application.doorbell import Doorbell
from hermes_memory.application.embed_batches import Batch, sort_out
from hermes_memory.application.embed_calls import PROBE, Answer, EmbedCalls
from hermes_memory.application.embed_generation import GenerationInUse
from hermes_memory.application.embed_measuring import Measuring
from hermes_memory.application.embed_stock import Stock
from hermes_memory.application.embed_storing import STORE_TROUBLE, EmbedCounts, Storing, note_waiting
from hermes_memory.application.faults import RepeatedFaults
from hermes_memory.application.leases import DEFAULT_LEASE, Leases
from hermes_memory.application.telemetry import Telemetry
from hermes_memory.application.throttle import Throttle
from hermes_memory.domain.chunks import ChunkPolicy
from hermes_memory.ports.embedding import Embedder, EmbeddingQueue, Generation

__all__ = ["PROBE", "EmbedCounts", "EmbedStage"]

logger = logging.getLogger(__name__)

IDLE_SECONDS: Final = 1.0
TROUBLE_SECONDS: Final = 2.0
PROBE_PAUSES: Final = (1.0, 2.0, 5.0)
"""Seconds between probes of an embedder that answers wrongly; the last one repeats."""
ASIDE_SECONDS: Final = 0.5
"""For so long after a call to make way batches come singly."""
SINGLE_SECONDS: Final = 2.0
"""Seconds between them. An embedder on a thread of this process holds up more than it takes."""


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
        self._breaker = breaker
        self._throttle = Throttle(most=parallel, size=batch)
        self._leases = Leases(queue, lease)
        self._in_use = GenerationInUse(queue, embedder, chunk=chunk or ChunkPolicy())
        self._stock = Stock(queue, self._leases, self._in_use, self._throttle)
        self._calls = EmbedCalls(
            embedder, breaker=breaker, throttle=self._throttle, timeout=timeout, telemetry=telemetry
        )
        self._storing = Storing(queue, self._leases)
        self._measuring = Measuring(queue, embedder, breaker=breaker, timeout=timeout)
        self._faults = RepeatedFaults(logger)
        self._flying = 0
        self._probes = 0
        self._probe_at = 0.0
        self._trouble = False
        self._aside_until = 0.0
        self._next_aside = 0.0
        self.doorbell = Doorbell()

    @property
    def counts(self) -> EmbedCounts:
        """What this process embedded since it started."""
        return self._storing.counts

    @property
    def mismatch(self) -> str | None:
        """Why vectors of the configured embedder are not the stored ones, None when they are."""
        return self._in_use.mismatch

    @property
    def problem(self) -> str | None:
        """Why no vectors are made, None when they are."""
        return self.mismatch or self._calls.problem

    def mismatch_with(self, generation: Generation) -> str | None:
        """Say how a generation's vectors are not this embedder's, and what to do; None when they are."""
        return self._in_use.mismatch_with(generation)

    def other_parts(self, generation: Generation) -> str | None:
        """Say how the configured length of parts is not the one that a generation keeps to; None when it is."""
        return self._in_use.other_parts(generation)

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
            self._stock.clear()
            await self._leases.give_all_back()

    async def _safely(self, work: TaskGroup) -> float:
        try:
            return await self._round(work)
        except STORE_TROUBLE as error:
            note_waiting(error)
        except Exception as error:  # noqa: BLE001 - a fault of our own may not end embedding: the jobs stay in the store
            self._faults.tell("embedding met an unexpected error", error, action="embed.fault")
        return TROUBLE_SECONDS

    async def _round(self, work: TaskGroup) -> float:
        """See that there is work in stock and that as much is under way as may be; return the seconds to wait."""
        if self._trouble:
            self._trouble = False
            return TROUBLE_SECONDS
        generation = await self._in_use.fitting()
        if generation is None:
            return TROUBLE_SECONDS
        if pause := await self._embedder_pause(work, generation):
            await self._stock.give_back()
            return pause
        self._measuring.begin(work, generation)
        if self._stock.low:
            await self._stock.fill(generation)
        return 0.0 if self._launch(work) else IDLE_SECONDS

    def _launch(self, work: TaskGroup) -> int:
        """Start what is in stock, as far as the embedder and the store keep up; return how many batches it was.

        A small batch waits for company while others are under way: rows that come one by one would else cost a call and
        two transactions each.
        """
        started = 0
        while self._stock and self._flying < self._at_once() and not self._storing.behind:
            if self._flying and self._stock.meagre:
                break
            self._flying += 1
            started += 1
            work.start_soon(self._fly, self._stock.take(), work)
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
        if not self._stock:
            await self._stock.fill(generation)
        if self._flying or not self._stock:
            return await self._calls.probe()
        self._flying += 1
        await self._fly(self._stock.take(), work)
        return self._calls.problem is None

    async def _fly(self, batch: Batch, work: TaskGroup) -> None:
        """Embed a batch and store it; trouble is noted and does not end the batches beside it."""
        try:
            await self._storing.settle(sort_out(batch, await self._embedded(batch, work)))
        except STORE_TROUBLE as error:
            note_waiting(error)
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
