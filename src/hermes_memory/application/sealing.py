"""The seal stage: binds history into its chain soon after it was made, and lets forgotten texts go in their time."""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

import anyio

from hermes_memory.application.doorbell import Doorbell
from hermes_memory.application.faults import RepeatedFaults
from hermes_memory.application.telemetry import Telemetry
from hermes_memory.domain.errors import ConfigurationError, HermesMemoryError
from hermes_memory.ports.metrics import Timing
from hermes_memory.ports.seals import HeadsWait, Sealed, Seals

logger = logging.getLogger(__name__)

GATHER_SECONDS: Final = 1.0
"""After a delivery, so that a burst of small ones shares a seal."""
IDLE_SECONDS: Final = 600.0
"""Between two looks without a delivery: for what others left unsealed, and for what was forgotten long enough ago."""
FIRST_SECONDS: Final = 10.0
"""Before the first look: a command that runs for a moment leaves it to those who stay."""
TROUBLE_SECONDS: Final = 30.0
MOST_CHANGES: Final = 1_000
MOST_FORGOTTEN: Final = 200
MOST_UNPUBLISHED: Final = 10_000
"""Heads kept here while nobody can take them. The newest vouch for those before them."""


class SealStage:
    """Seals step by step. All methods belong to the event loop.

    Nothing waits for it. Until a change is sealed, which takes seconds, nothing binds it: only what it did tells of it.

    Attributes:
        sealed: Changes that this process has sealed.
    """

    def __init__(
        self,
        seals: Seals,
        *,
        publish: Callable[[Sequence[Sealed]], Awaitable[None]],
        telemetry: Telemetry | None = None,
    ) -> None:
        """Seal with `seals`, publish each head, and let go of what was forgotten long enough ago."""
        self._seals = seals
        self._telemetry = telemetry or Telemetry()
        self._publish = publish
        self._faults = RepeatedFaults(logger)
        self._expire_at = 0.0
        self._unpublished: deque[Sealed] = deque(maxlen=MOST_UNPUBLISHED)
        self._others_wait = True  # a process before this one may have left some
        self._obstacle = ""
        self.doorbell = Doorbell()
        self.sealed = 0

    async def run(self) -> None:
        """Seal until cancelled."""
        pause = FIRST_SECONDS
        while True:
            if await self.doorbell.wait(pause):
                await anyio.sleep(GATHER_SECONDS)
            pause = await self._safely()

    async def seal(self) -> int:
        """Seal all that waits, and publish; return the number of changes.

        The store gives a seal once. Heads that cannot be published now are kept for the next time, by whoever publishes
        if that is possible and else here, and a warning tells the reason.

        Raises:
            StoreUnavailable, DeadlineExceeded, SchemaNotApplied: The store cannot be asked now; the rest waits.
        """
        await self._publish_kept()
        total = 0
        while True:
            with self._telemetry.timed(Timing.SEALING):
                made = await self._seals.seal(MOST_CHANGES)
            changes = sum(each.changes for each in made)
            total += changes
            self.sealed += changes
            for each in made:
                head = each.head
                facts = {"theme": head.theme, "seal": head.seal, "chained": head.chained.hex()}
                logger.info("history was sealed", extra={"action": "history.sealed", **facts})
            if made:
                self._unpublished.extend(made)
                await self._publish_kept()
            if changes < MOST_CHANGES:
                return total

    async def _publish_kept(self) -> None:
        if not (self._unpublished or self._others_wait):
            return
        try:
            await self._publish(tuple(self._unpublished))
        except HeadsWait as error:
            self._tell(str(error))
            self._unpublished.clear()
            self._others_wait = True
        except ConfigurationError as error:
            self._tell(str(error))
        else:
            self._unpublished.clear()
            self._others_wait, self._obstacle = False, ""

    def _tell(self, obstacle: str) -> None:
        """Tell of an obstacle once."""
        if obstacle != self._obstacle:
            facts = {"reason": obstacle, "heads": len(self._unpublished)}
            logger.warning("heads of history cannot be published", extra={"action": "history.unpublished", **facts})
        self._obstacle = obstacle

    async def _safely(self) -> float:
        try:
            await self.seal()
            pause = await self._expire()
            return min(pause, TROUBLE_SECONDS) if self._unpublished or self._others_wait else pause
        except HermesMemoryError as error:
            logger.info("sealing waits", extra={"action": "history.wait", "cause": type(error).__name__})
        except Exception as error:  # noqa: BLE001 - what is not sealed waits in the store for the next round
            self._faults.tell("sealing met an unexpected error", error, action="history.fault")
        return TROUBLE_SECONDS

    async def _expire(self) -> float:
        """Erase what was forgotten long enough ago, a little at a time; return the seconds until the next look."""
        if time.monotonic() < self._expire_at:
            return IDLE_SECONDS
        erased = await self._seals.expire(MOST_FORGOTTEN)
        if erased:
            logger.info("forgotten texts were erased", extra={"action": "history.expired", "changes": erased})
            return GATHER_SECONDS
        self._expire_at = time.monotonic() + IDLE_SECONDS
        return IDLE_SECONDS
