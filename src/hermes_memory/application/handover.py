"""Handing operations over to the store: what fails is told apart, and only what has to wait is held back."""

from __future__ import annotations

import logging
import random
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from hermes_memory.application.batch_size import BatchSize
from hermes_memory.application.breaker import Breaker
from hermes_memory.application.faults import RepeatedFaults
from hermes_memory.application.setbacks import Busy, Faulty, Problem, Refused, Stopped
from hermes_memory.application.spool_access import SpoolAccess
from hermes_memory.application.telemetry import Telemetry
from hermes_memory.domain.errors import (
    ConfigurationError,
    DeliveryRejected,
    HermesMemoryError,
    SchemaNotApplied,
    StoreBusy,
    StoreFault,
    StoreUnavailable,
)
from hermes_memory.domain.model import OperationId
from hermes_memory.domain.operations import Operation, Outcome, lane_of
from hermes_memory.ports.delivery import DeliveryStore
from hermes_memory.ports.metrics import Timing
from hermes_memory.ports.spool import Spooled

logger = logging.getLogger(__name__)

AWAY_SECONDS: Final = 0.25
SETUP_RETRY_SECONDS: Final = 2.0
SPOOL_RETRY_SECONDS: Final = 1.0
FAULT_RETRY_SECONDS: Final = 5.0
FIRST_HOLD_SECONDS: Final = 0.25
LONGEST_HOLD_SECONDS: Final = 60.0

FAULTS_BEFORE_BURIAL: Final = 8
"""How often an operation alone has to fail for no known reason, while others are delivered, to be set aside."""
SUSPECTS: Final = 3
"""So many operations that fail alone, and none that does not: it is not they who are at fault."""
TRIED_LANES_A_ROUND: Final = 4
"""Lanes that failed before and are due again; each is tried alone, so they are not to take all the time."""


@dataclass(slots=True)
class DeliveryCounts:
    """What this process delivered since it started. An operation counts as postponed each time it is."""

    delivered: int = 0
    buried: int = 0
    postponed: int = 0


def spread(seconds: float) -> float:
    """Return a time of half to all of `seconds`, so that what failed together is not tried together again."""
    return seconds * random.uniform(0.5, 1.0)  # noqa: S311 - spreads load, guards no secret


class Handover:
    """Applies batches, each operation once and each lane in order. Belongs to the event loop.

    Args:
        size: Learns from how long batches take.
        applied: Hears of the outcomes of each batch, once the spool has let go of it.
        set_aside: Hears of each operation that was buried.
        jitter: Spreads the time for which a lane is held back.
        telemetry: Is told how long batches take, and how long after its acceptance a write arrived.
    """

    def __init__(
        self,
        spool: SpoolAccess,
        store: DeliveryStore,
        *,
        breaker: Breaker,
        size: BatchSize,
        applied: Callable[[Sequence[Outcome]], Awaitable[None]],
        set_aside: Callable[[], None],
        jitter: Callable[[float], float] = spread,
        telemetry: Telemetry | None = None,
    ) -> None:
        self._spool = spool
        self._store = store
        self._breaker = breaker
        self._size = size
        self._applied = applied
        self._set_aside = set_aside
        self._jitter = jitter
        self._telemetry = telemetry or Telemetry()
        self._held: set[str] = set()
        self._suspects = 0
        self._delivered_of: Counter[type[Operation]] = Counter()
        self._at_start = self._delivered_of.copy()
        self._faults = RepeatedFaults(logger)
        self._first_fault: dict[OperationId, int] = {}
        self.counts = DeliveryCounts()

    async def deliver(self, batch: Sequence[Spooled]) -> None:
        """Deal with a batch: each operation is delivered, set aside, or waits for its lane's next try.

        Args:
            batch: A prefix of every lane in it, oldest first.

        Raises:
            Stopped: It makes no sense to go on now. What was not delivered waits in the spool.
        """
        self._held.clear()
        self._at_start = self._delivered_of.copy()
        self._suspects = 0
        tried = {lane_of(item.operation) for item in batch if item.attempts}
        # What failed before is tried alone, or it would take the others down with it each time.
        await self._apply_or_part([item for item in batch if lane_of(item.operation) not in tried])
        for lane in sorted(tried)[:TRIED_LANES_A_ROUND]:
            await self._take([item for item in batch if lane_of(item.operation) == lane])

    async def _take(self, items: Sequence[Spooled]) -> None:
        """Deal with a part of the batch, but for what is held back since it was read."""
        await self._apply_or_part([item for item in items if lane_of(item.operation) not in self._held])

    async def _apply_or_part(self, items: Sequence[Spooled]) -> None:
        if not items:
            return
        try:
            outcomes = await self._apply([item.operation for item in items])
        except Problem as problem:
            await self._part(items, problem)
        else:
            await self._finish(items, outcomes)

    async def _apply(self, operations: Sequence[Operation]) -> Sequence[Outcome]:
        """Apply a batch.

        Raises:
            Stopped, Problem: It was not applied, or it is not known whether it was.
        """
        started = time.monotonic()
        try:
            with self._telemetry.timed(Timing.DELIVERY):
                outcomes = await self._ask(operations)
        except (Busy, StoreUnavailable) as error:
            self._size.failed(time.monotonic() - started, len(operations))
            if isinstance(error, Busy):
                raise
            logger.debug(
                "delivery waits for the database", extra={"action": "deliver.wait", "cause": type(error).__name__}
            )
            raise Stopped(AWAY_SECONDS) from None
        except (SchemaNotApplied, ConfigurationError) as error:
            # An operator's to mend: no operation is at fault, so none is set aside.
            raise Stopped(SETUP_RETRY_SECONDS, str(error)) from None
        except DeliveryRejected as error:
            raise Refused(error.reason) from None
        self._size.took(time.monotonic() - started, len(operations))
        return outcomes

    async def _ask(self, operations: Sequence[Operation]) -> Sequence[Outcome]:
        problem: Problem
        with self._breaker.guard():
            try:
                return await self._store.apply(operations, wanted=self._wanted)
            except StoreBusy as error:
                problem = Busy(str(error))
            except StoreFault as error:
                problem = Faulty(str(error))
                logger.error(
                    "the database met a fault",
                    extra={"action": "deliver.fault", "cause": type(error).__name__, "reason": str(error)},
                )
            except (Stopped, StoreUnavailable, SchemaNotApplied, ConfigurationError, DeliveryRejected):
                raise
            except Exception as error:  # noqa: BLE001 - a fault of our own may neither end delivery nor bury a write
                problem = Faulty(f"unexpected {type(error).__name__}")
                self._faults.tell(
                    "delivery met an unexpected error; what was accepted is kept", error, action="deliver.fault"
                )
        raise problem  # to the breaker it was an answer

    async def _wanted(self, operations: Sequence[OperationId]) -> frozenset[OperationId]:
        """Tell what still waits: what an operator discarded or erased since the batch was read is not to be stored.

        Raises:
            Stopped: The spool cannot be asked, which says nothing of the store.
        """
        try:
            return await self._spool.still_pending(operations)
        except HermesMemoryError as error:
            raise Stopped(SPOOL_RETRY_SECONDS, str(error)) from error

    async def _part(self, items: Sequence[Spooled], problem: Problem) -> None:
        """Find what cannot be applied by halving, deal with it, and deliver the rest."""
        if isinstance(problem, Busy):
            await self._part_lanes(items, problem)
        elif len(items) > 1:
            half = len(items) // 2
            await self._take(items[:half])
            await self._take(items[half:])
        elif isinstance(problem, Refused):
            await self._bury(items[0], problem.reason)
        else:
            await self._suspect(items[0], problem)

    async def _part_lanes(self, items: Sequence[Spooled], problem: Problem) -> None:
        lanes = list(dict.fromkeys(lane_of(item.operation) for item in items))
        if len(lanes) == 1:
            await self._hold(items[0], problem)
            return
        for chosen in _halves(lanes):
            await self._take([item for item in items if lane_of(item.operation) in chosen])

    async def _hold(self, item: Spooled, problem: Problem) -> None:
        """Hold a lane back, which is done by its head."""
        seconds = min(LONGEST_HOLD_SECONDS, FIRST_HOLD_SECONDS * 2.0 ** min(item.attempts, 16))
        self._held.add(lane_of(item.operation))
        await self._spool.postpone([item.operation.stamp.operation], self._jitter(seconds))
        self.counts.postponed += 1
        logger.log(
            logging.DEBUG if item.attempts else logging.WARNING,
            "a write waits, and what follows it; others go on",
            extra={"action": "deliver.postponed", "cause": type(problem).__name__, "reason": problem.reason},
        )

    async def _suspect(self, item: Spooled, problem: Problem) -> None:
        """Deal with an operation that failed alone, for no known reason.

        It is held back, and set aside only if that happens again and again while others of its kind are delivered: a
        fault of our own, or of the store's, would meet all of them.
        """
        delivered = self._delivered_of[type(item.operation)]
        before = self._first_fault.setdefault(item.operation.stamp.operation, self._at_start[type(item.operation)])
        if item.attempts + 1 >= FAULTS_BEFORE_BURIAL and delivered > before:
            await self._bury(item, problem.reason)
            return
        await self._hold(item, problem)
        self._suspects += 1
        if self._suspects >= SUSPECTS:
            raise Stopped(FAULT_RETRY_SECONDS, f"every write fails ({problem.reason}); see the log")

    async def _bury(self, item: Spooled, reason: str) -> None:
        operation = item.operation.stamp.operation
        await self._spool.bury(operation, reason)
        self._first_fault.pop(operation, None)
        self.counts.buried += 1
        logger.error(
            "a write was set aside: it cannot be stored",
            extra={"action": "deliver.buried", "operation": str(operation), "reason": reason},
        )
        self._set_aside()

    async def _finish(self, items: Sequence[Spooled], outcomes: Sequence[Outcome]) -> None:
        applied = {outcome.operation for outcome in outcomes}
        items = [item for item in items if item.operation.stamp.operation in applied]
        await self._spool.done([outcome.operation for outcome in outcomes])
        self._suspects = 0
        self.counts.delivered += len(outcomes)
        self._delivered_of.update(type(item.operation) for item in items)
        if self._first_fault:
            for outcome in outcomes:
                self._first_fault.pop(outcome.operation, None)
        if self._telemetry.measured:
            self._tell_lag(items)
        await self._applied(outcomes)

    def _tell_lag(self, items: Sequence[Spooled]) -> None:
        now = datetime.now(UTC)
        for item in items:
            lag = (now - item.operation.stamp.accepted_at).total_seconds()
            self._telemetry.took(Timing.DELIVERY_LAG, max(lag, 0.0))


def _halves(lanes: Sequence[str]) -> Iterator[set[str]]:
    half = len(lanes) // 2
    yield set(lanes[:half])
    yield set(lanes[half:])
