"""The seal stage: binds history into its chain soon after it was made, and lets forgotten texts go in their time."""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

import anyio

from hermes_memory.application.doorbell import Doorbell
from hermes_memory.domain.errors import HermesMemoryError
from hermes_memory.ports.seals import Sealed, Seals

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


class SealStage:
    """Seals step by step. All methods belong to the event loop.

    Nothing waits for it. Until a change is sealed, which takes seconds, nothing tells that it was altered.

    Attributes:
        sealed: Changes that this process has sealed.
    """

    def __init__(
        self, seals: Seals, *, publish: Callable[[Sequence[Sealed]], Awaitable[None]], keep_days: float
    ) -> None:
        """Seal with `seals`, publish each head, and keep what is forgotten for so many days."""
        self._seals = seals
        self._publish = publish
        self._keep_days = keep_days
        self._expire_at = 0.0
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

        Raises:
            StoreUnavailable, DeadlineExceeded, SchemaNotApplied: The store cannot be asked now; the rest waits.
            ConfigurationError: The heads cannot be published; the seals are made even so.
        """
        total = 0
        while True:
            made = await self._seals.seal(MOST_CHANGES)
            changes = sum(each.changes for each in made)
            total += changes
            self.sealed += changes
            for each in made:
                head = each.head
                facts = {"theme": head.theme, "seal": head.seal, "chained": head.chained.hex()}
                logger.info("history was sealed", extra={"action": "history.sealed", **facts})
            if made:
                await self._publish(made)
            if changes < MOST_CHANGES:
                return total

    async def _safely(self) -> float:
        try:
            await self.seal()
            return await self._expire()
        except HermesMemoryError as error:
            logger.info("sealing waits", extra={"action": "history.wait", "cause": type(error).__name__})
        except Exception:
            logger.exception("sealing met an unexpected error", extra={"action": "history.fault"})
        return TROUBLE_SECONDS

    async def _expire(self) -> float:
        """Erase what was forgotten long enough ago, a little at a time; return the seconds until the next look."""
        if time.monotonic() < self._expire_at:
            return IDLE_SECONDS
        erased = await self._seals.expire(self._keep_days, MOST_FORGOTTEN)
        if erased:
            logger.info("forgotten texts were erased", extra={"action": "history.expired", "changes": erased})
            return GATHER_SECONDS
        self._expire_at = time.monotonic() + IDLE_SECONDS
        return IDLE_SECONDS
