"""What the store tells of itself in numbers, over all themes and naming none."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

from hermes_memory.domain.errors import HermesMemoryError
from hermes_memory.ports.embedding import EmbeddingQueue
from hermes_memory.ports.installation import StoreInspector
from hermes_memory.ports.metrics import Metric
from hermes_memory.ports.seals import Seals

logger = logging.getLogger(__name__)

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
        inspector: Counts all rows as well. That reads all of them: it is for who asks seldom.
    """

    def __init__(self, queue: EmbeddingQueue, seals: Seals, inspector: StoreInspector | None = None) -> None:
        self._queue = queue
        self._seals = seals
        self._inspector = inspector

    async def read(self) -> Mapping[Metric, float]:
        """Return the numbers, or that the store did not answer: nothing is shown of it then, not what was before."""
        try:
            backlog, lag = await self._queue.backlog(), await self._seals.lag()
            counts = await self._inspector.counts() if self._inspector else {}
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
            **{metric: counts[name] for name, metric in _COUNTED.items() if name in counts},
        }
