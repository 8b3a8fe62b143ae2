"""The fold stage: keeps the text index in shape, in the background and at low cost."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Final

import anyio

from hermes_memory.application.faults import RepeatedFaults
from hermes_memory.domain.errors import HermesMemoryError
from hermes_memory.ports.text_index import Folding, TextIndex

logger = logging.getLogger(__name__)

FIRST_SECONDS: Final = 10.0
"""Before the first look: a command that runs for a moment leaves folding to those who stay."""
IDLE_SECONDS: Final = 60.0
BUSY_SECONDS: Final = 5.0
TROUBLE_SECONDS: Final = 60.0
SHARE: Final = 0.2
"""Share of the time that steps may take while there is work."""
SHORTEST_SECONDS: Final = 0.05
BEHIND_SECONDS: Final = 1.0
"""Between two steps while writes wait to be delivered."""


class FoldStage:
    """Folds step by step, with pauses in proportion. All methods belong to the event loop.

    Nothing depends on it: an index that is never folded gives the same answers, only more slowly.

    Args:
        index: What is folded.
        behind: Whether writes wait, which go before.
    """

    def __init__(self, index: TextIndex, *, behind: Callable[[], bool]) -> None:
        self._index = index
        self._behind = behind
        self._faults = RepeatedFaults(logger)
        self.folded = 0

    async def run(self) -> None:
        """Fold until cancelled."""
        pause = FIRST_SECONDS
        while True:
            await anyio.sleep(pause)
            pause = await self.step()

    async def step(self) -> float:
        """Do one step and return the seconds to wait until the next."""
        started = time.monotonic()
        try:
            done = await self._index.fold()
        except HermesMemoryError as error:
            logger.debug("folding waits", extra={"action": "fold.wait", "cause": type(error).__name__})
            return TROUBLE_SECONDS
        except Exception as error:  # noqa: BLE001 - unfolded blocks answer as well, only slower
            self._faults.tell("folding met an unexpected error", error, action="fold.fault")
            return TROUBLE_SECONDS
        self.folded += done.gone
        if done.state is Folding.MORE:
            return self._pause(time.monotonic() - started)
        return IDLE_SECONDS if done.state is Folding.IDLE else BUSY_SECONDS

    def _pause(self, taken: float) -> float:
        if self._behind():
            return BEHIND_SECONDS
        return max(taken * (1 - SHARE) / SHARE, SHORTEST_SECONDS)
