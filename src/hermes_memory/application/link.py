"""The way to the store: prepared in the background, tried for ever, and told apart from a store that only pauses."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Final

import anyio

from hermes_memory.application.breaker import Breaker, BreakerState
from hermes_memory.application.faults import RepeatedFaults
from hermes_memory.domain.errors import ConfigurationError, HermesMemoryError, SchemaNotApplied, StoreUnavailable

logger = logging.getLogger(__name__)

RETRY_SECONDS: Final = 1.0
WATCH_SECONDS: Final = 1.0


class StoreLink:
    """Makes the store usable and keeps it so. All methods belong to the event loop."""

    def __init__(
        self,
        prepare: Callable[[], Awaitable[None]],
        *,
        repair: Callable[[], Awaitable[None]] | None,
        breaker: Breaker,
        opened: Callable[[], None],
    ) -> None:
        """Watch over a store.

        Args:
            prepare: Starts what must be started and verifies the schema; raises while the store is not usable.
            repair: Starts again a server of our own that died; None for a server of somebody else.
            opened: Called once the store is usable.
        """
        self._prepare = prepare
        self._repair = repair
        self._breaker = breaker
        self._opened = opened
        self._ready = anyio.Event()
        self._faults = RepeatedFaults(logger)
        self.problem: HermesMemoryError | None = None

    async def run(self) -> None:
        """Prepare until it works, then watch, until cancelled."""
        while not await self._worked(self._prepare):  # noqa: ASYNC110 - a store tells nobody that it serves
            await anyio.sleep(RETRY_SECONDS)
        # Deliveries of what waited from before may have been turned away while the store was still starting.
        self._breaker.restore()
        self._ready.set()
        self._opened()
        while self._repair is not None:
            await anyio.sleep(WATCH_SECONDS)
            if self._breaker.state is not BreakerState.CLOSED:
                await self._worked(self._repair)

    @property
    def opened(self) -> bool:
        """Whether the store has become usable. Any thread may ask."""
        return self._ready.is_set()

    async def usable(self) -> None:
        """Wait until the store is usable, however long it takes."""
        await self._ready.wait()

    async def ready(self, *, timeout: float) -> None:
        """Wait until the store is usable.

        Raises:
            StoreUnavailable: It is not in `timeout` seconds.
            SchemaNotApplied, ConfigurationError: Only an operator can make it usable; raised without waiting longer.
        """
        with anyio.move_on_after(timeout):
            while not self._ready.is_set():
                if isinstance(self.problem, SchemaNotApplied | ConfigurationError):
                    raise self.problem
                with anyio.move_on_after(0.05):
                    await self._ready.wait()
            return
        raise self.problem or StoreUnavailable("the database is still starting")

    async def _worked(self, step: Callable[[], Awaitable[None]]) -> bool:
        """Prepare or repair the store; return whether that worked, having noted why not."""
        try:
            await step()
        except HermesMemoryError as error:
            self._note(error)
            return False
        except Exception as error:  # noqa: BLE001 - writes are accepted without a store, and it is tried again
            self._faults.tell("preparing or repairing the store met an unexpected error", error, action="link.fault")
            self._note(StoreUnavailable(f"the database cannot be made usable: {type(error).__name__}"))
            return False
        self.problem = None
        return True

    def _note(self, error: HermesMemoryError) -> None:
        if type(error) is not type(self.problem):
            logger.warning(
                "the database is not usable yet", extra={"action": "link.waits", "cause": type(error).__name__}
            )
        self.problem = error
