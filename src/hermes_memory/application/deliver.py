"""Delivering: one process of a home takes accepted operations to the store, in order, until each had its effect."""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import suppress
from typing import Final

import anyio

from hermes_memory.application.batch_size import BatchSize
from hermes_memory.application.breaker import Breaker, BreakerState
from hermes_memory.application.doorbell import Doorbell
from hermes_memory.application.faults import RepeatedFaults
from hermes_memory.application.handover import SPOOL_RETRY_SECONDS, DeliveryCounts, Handover
from hermes_memory.application.lasting import lasting
from hermes_memory.application.setbacks import Stopped
from hermes_memory.application.spool_access import SpoolAccess
from hermes_memory.application.telemetry import Telemetry
from hermes_memory.domain.errors import DeadlineExceeded, DeliveryRejected, HermesMemoryError, StoreUnavailable
from hermes_memory.domain.model import OperationId
from hermes_memory.domain.operations import Effect, Operation, Outcome
from hermes_memory.ports.delivery import DeliveryStore
from hermes_memory.ports.spool import Leadership

logger = logging.getLogger(__name__)

POLL_SECONDS: Final = 0.1
"""How often to ask whether another process has accepted something, which costs next to nothing."""
LOOK_SECONDS: Final = 0.5
"""How often to look what is due, for lanes that were held back come due with nobody changing anything."""
ELECTION_SECONDS: Final = 0.5
WAIT_TICK_SECONDS: Final = 0.05
LARGEST_BATCH: Final = 1_000


class Deliverer:
    """Empties the spool while this process leads its home. All methods belong to the event loop.

    Attributes:
        leads: Whether this process is the one that delivers.
        behind: Whether more waits than a transaction takes.
        obstacle: What stops delivery until it is mended, None when nothing does.
    """

    def __init__(
        self,
        spool: SpoolAccess,
        leadership: Leadership,
        store: DeliveryStore,
        *,
        breaker: Breaker,
        batch: int = 200,
        delivered: Callable[[Sequence[Outcome]], Awaitable[None]] | None = None,
        telemetry: Telemetry | None = None,
    ) -> None:
        """Deliver `batch` operations a transaction at first; `delivered` hears of each batch's outcomes."""
        self._spool = spool
        self._leadership = leadership
        self._store = store
        self._breaker = breaker
        self._faults = RepeatedFaults(logger)
        self._size = BatchSize(batch, most=LARGEST_BATCH)
        self._handover = Handover(
            spool,
            store,
            breaker=breaker,
            size=self._size,
            applied=self._hear,
            set_aside=self._announce,
            telemetry=telemetry,
        )
        self._delivered = delivered
        self._watched: dict[OperationId, Outcome | None] = {}
        self._progress = anyio.Event()
        self._look_at = 0.0
        self.doorbell = Doorbell()
        self.leads = False
        self.behind = False
        self.obstacle: str | None = None

    @property
    def counts(self) -> DeliveryCounts:
        """What was delivered, buried and postponed."""
        return self._handover.counts

    @property
    def batch(self) -> int:
        """Operations that the next transaction may take: it grows while the store is quick, and shrinks when not."""
        return self._size.limit

    async def run(self) -> None:
        """Deliver until cancelled. A spool that cannot be used for now is tried again."""
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(lasting, self._keep_seat, self._faults, "deliver.fault")
                while True:
                    pause = await self._round_or_pause()
                    if await self.doorbell.wait(pause):
                        self._look_at = 0.0
        finally:
            self._leadership.release()

    async def wait(self, operation: Operation, *, timeout: float, patient: bool = True) -> Outcome:
        """Wait until an accepted operation had its effect, whichever process delivers it.

        Args:
            patient: Wait for a store that is out of reach too; otherwise give up on it at once.

        Raises:
            DeadlineExceeded: It did not happen in `timeout` seconds; it stays accepted and happens later.
            DeliveryRejected: The store refuses it for good; it is kept among the dead letters.
            StoreUnavailable: The local spool cannot be asked for now; it stays accepted and happens later.
        """
        key = operation.stamp.operation
        self._watched[key] = None
        self.doorbell.ring()
        try:
            with anyio.fail_after(timeout):
                return await self._outcome(operation, patient=patient)
        except TimeoutError:
            raise DeadlineExceeded(
                "the write is accepted and will be stored once the database answers; it is not lost"
            ) from None
        finally:
            self._watched.pop(key, None)

    async def drained(self, *, timeout: float, patient: bool = True) -> bool:
        """Wait until everything accepted before this call was delivered; False when time ran out first.

        Args:
            patient: Wait for a store that is out of reach too; otherwise give up on it at once.
        """
        target = await self._spool.last_sequence()
        with anyio.move_on_after(timeout):
            while await self._spool.pending_before(target):
                if not patient and self._breaker.away:
                    return False
                self.doorbell.ring()
                await self._tick()
            return True
        return False

    async def delivered(self, operations: Collection[OperationId], *, timeout: float) -> bool:
        """Wait until none of these operations waits any more; False when time ran out first, or the store is away."""
        with anyio.move_on_after(timeout):
            for operation in operations:
                while await self._spool.pending(operation):
                    if self._breaker.away:
                        return False
                    self.doorbell.ring()
                    await self._tick()
            return True
        return False

    async def _keep_seat(self) -> None:
        """Show that this process still leads, while a batch takes long too: whoever does not loses the seat."""
        while True:
            await anyio.sleep(ELECTION_SECONDS)
            if self.leads:
                with suppress(HermesMemoryError):  # the next round meets it too, and tells
                    self.leads = self._leadership.try_acquire()

    async def _round_or_pause(self) -> float:
        try:
            return await self._round()
        except Stopped as stop:
            if stop.obstacle is not None:
                self._note_obstacle(stop.obstacle)
            return stop.seconds
        except HermesMemoryError as error:
            # What the store says is dealt with where it is asked: this is the spool, or the seat of the leader.
            self._note_obstacle(str(error))
            return SPOOL_RETRY_SECONDS
        except Exception as error:  # noqa: BLE001 - what was accepted is kept, and the memory of the process goes on
            self._faults.tell("delivery met an unexpected error", error, action="deliver.fault")
            self._note_obstacle(f"unexpected {type(error).__name__}")
            return SPOOL_RETRY_SECONDS

    async def _round(self) -> float:
        """Do what can be done now; return the seconds until it makes sense to look again unasked."""
        while True:
            self.leads = self._leadership.try_acquire()
            if not self.leads:
                self._look_at = 0.0
                return ELECTION_SECONDS
            # Asked first, or each write would have all that waits read, and wait for that, while the store is away.
            if not self._breaker.allows():
                return POLL_SECONDS
            if time.monotonic() < self._look_at and not await self._spool.changed():
                return POLL_SECONDS
            limit = self._size.limit
            batch = await self._spool.due(limit)
            self.behind = len(batch) >= limit
            self._look_at = 0.0 if batch else time.monotonic() + LOOK_SECONDS
            if not batch:
                return POLL_SECONDS
            # A probe is one write: whoever asks meanwhile waits for its outcome.
            await self._handover.deliver(batch if self._breaker.state is BreakerState.CLOSED else batch[:1])
            if self.doorbell.ringing and not self.behind:
                return POLL_SECONDS  # what is being accepted now comes together in the next round

    async def _hear(self, outcomes: Sequence[Outcome]) -> None:
        self._note_obstacle(None)
        for outcome in outcomes:
            if outcome.operation in self._watched:
                self._watched[outcome.operation] = outcome
        self._announce()
        if self._delivered:
            await self._delivered(outcomes)

    async def _outcome(self, operation: Operation, *, patient: bool) -> Outcome:
        key = operation.stamp.operation
        while True:
            if outcome := self._watched.get(key):
                return outcome
            if not await self._spool.pending(key):
                return self._watched.get(key) or await self._recorded(operation)
            if not patient and self._breaker.away:
                raise TimeoutError
            await self._tick()

    async def _recorded(self, operation: Operation) -> Outcome:
        key = operation.stamp.operation
        if reason := await self._spool.dead_reason(key):
            raise DeliveryRejected("the database refuses this write; it is kept among the dead letters", reason=reason)
        while True:
            try:
                outcome = await self._store.outcome(operation.stamp.caller, key)
            except StoreUnavailable:
                await self._tick()
                continue
            return outcome or Outcome(operation=key, effect=Effect.UNCHANGED)

    async def _tick(self) -> None:
        """Wait for progress here, or a moment, since another process may be the one that delivers."""
        with anyio.move_on_after(WAIT_TICK_SECONDS):
            await self._progress.wait()

    def _announce(self) -> None:
        self._progress.set()
        self._progress = anyio.Event()

    def _note_obstacle(self, problem: str | None) -> None:
        """Tell of a new obstacle, and of its end, once each."""
        if problem and problem != self.obstacle:
            logger.error(
                "delivery stops until this is mended; what was accepted is kept",
                extra={"action": "deliver.stopped", "reason": problem},
            )
        elif problem is None and self.obstacle is not None:
            logger.info("delivery goes on", extra={"action": "deliver.resumed"})
        self.obstacle = problem
