"""Measures what a cosine is worth under a new model, beside the embedding, which does not wait for it."""

from __future__ import annotations

import logging
import time
from typing import Final

from anyio.abc import TaskGroup

from hermes_memory.application.breaker import Breaker
from hermes_memory.application.calibration import measure
from hermes_memory.application.embed_storing import STORE_TROUBLE
from hermes_memory.application.faults import RepeatedFaults
from hermes_memory.domain.errors import EmbedderUnavailable, EmbeddingRejected
from hermes_memory.ports.embedding import Embedder, EmbeddingQueue, Generation

logger = logging.getLogger(__name__)

MEASURE_SECONDS: Final = 30.0
"""Seconds until a model that could not be measured is measured again."""
AWAY_SECONDS: Final = 2.0
"""Likewise of one that was out of reach: until it is measured, answers are worth less than they are."""


class Measuring:
    """Sees that a generation is measured, once."""

    def __init__(self, queue: EmbeddingQueue, embedder: Embedder, *, breaker: Breaker, timeout: float) -> None:
        """Measure `embedder`, whose calls may take `timeout` seconds each, and store what was found in `queue`."""
        self._queue = queue
        self._embedder = embedder
        self._breaker = breaker
        self._timeout = timeout
        self._measure_at = 0.0
        self._faults = RepeatedFaults(logger)

    def begin(self, work: TaskGroup, generation: Generation) -> None:
        """Have a generation measured that was not yet, unless that was tried a moment ago."""
        if generation.unrelated is None and time.monotonic() >= self._measure_at:
            self._measure_at = time.monotonic() + MEASURE_SECONDS
            work.start_soon(self._calibrate, generation)

    async def _calibrate(self, generation: Generation) -> None:
        try:
            with self._breaker.guard():
                unrelated, related = await measure(self._embedder, timeout=self._timeout)
            await self._queue.calibrate(generation.number, unrelated=unrelated, related=related)
        except (EmbedderUnavailable, EmbeddingRejected, *STORE_TROUBLE) as error:
            if isinstance(error, EmbedderUnavailable):
                self._measure_at = time.monotonic() + AWAY_SECONDS
            logger.info("calibration waits", extra={"action": "embed.calibrate", "cause": type(error).__name__})
        except Exception as error:  # noqa: BLE001 - embedding goes on uncalibrated, and it is measured again later
            self._faults.tell("measuring the model met an unexpected error", error, action="embed.fault")
