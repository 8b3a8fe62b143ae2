"""What the store tells of itself in numbers, over all themes and naming none."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

from hermes_memory.domain.errors import DeadlineExceeded, HermesMemoryError
from hermes_memory.ports.embedding import EmbeddingQueue
from hermes_memory.ports.installation import StoreInspector
from hermes_memory.ports.metrics import Metric
from hermes_memory.ports.seals import Seals

logger = logging.getLogger(__name__)

COUNT_SECONDS: Final = 300.0
"""How often all rows are counted, which reads all of them, and how long a count that took too long is left alone."""
DOWN: Final[Mapping[Metric, float]] = {Metric.STORE_UP: 0.0}
_COUNTED: Final[Mapping[str, Metric]] = {
    "themes": Metric.THEMES,
    "entries": Metric.ENTRIES,
    "turns": Metric.TURNS,
    "vectors": Metric.VECTORS,
}


class StoreReadings:
    """Asks the store how much waits there.

    Args:
        inspector: Counts all rows as well, now and then.
    """

    def __init__(self, queue: EmbeddingQueue, seals: Seals, inspector: StoreInspector | None = None) -> None:
        self._queue = queue
        self._seals = seals
        self._inspector = inspector
        self._counts: Mapping[Metric, float] = {}
        self._count_at = 0.0

    async def read(self) -> Mapping[Metric, float]:
        """Return the numbers, or that the store did not answer: nothing is shown of it then, not what was before."""
        try:
            backlog, lag = await self._queue.backlog(), await self._seals.lag()
            counts = await self._counted()
        except HermesMemoryError as error:
            logger.debug("the store tells no numbers", extra={"action": "metrics.store", "cause": type(error).__name__})
            return DOWN
        waited = (datetime.now(UTC) - lag.oldest).total_seconds() if lag.oldest else 0.0
        return {
            Metric.STORE_UP: 1.0,
            Metric.UNEMBEDDED: backlog.waiting,
            Metric.UNEMBEDDABLE: backlog.parked,
            Metric.UNSEALED: lag.waiting,
            Metric.SEAL_LAG: max(waited, 0.0),
            **counts,
        }

    async def _counted(self) -> Mapping[Metric, float]:
        """Return how many rows there are, nothing where counting them takes too long: the store is no less up then."""
        if self._inspector is not None and time.monotonic() >= self._count_at:
            try:
                counts = await self._inspector.counts()
            except DeadlineExceeded:
                self._counts = {}
                logger.info("counting all rows takes too long", extra={"action": "metrics.uncounted"})
            else:
                self._counts = {metric: counts[name] for name, metric in _COUNTED.items()}
            self._count_at = time.monotonic() + COUNT_SECONDS
        return self._counts
