"""Watching a memory from inside: numbers for whoever measures, and one log line for each change of state."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Final

import anyio

from hermes_memory.application.breaker import Breaker, BreakerState
from hermes_memory.application.deliver import Deliverer
from hermes_memory.application.embed import EmbedStage
from hermes_memory.application.faults import RepeatedFaults
from hermes_memory.application.health import Health, Trouble
from hermes_memory.application.lasting import lasting
from hermes_memory.application.sealing import SealStage
from hermes_memory.application.spool_access import SpoolAccess
from hermes_memory.application.store_readings import StoreReadings
from hermes_memory.application.telemetry import Telemetry
from hermes_memory.domain.errors import HermesMemoryError
from hermes_memory.ports.metrics import Metric
from hermes_memory.ports.secrets import SecretTally, SecretTotals
from hermes_memory.ports.spool import SpoolStatus

logger = logging.getLogger(__name__)

WATCH_SECONDS: Final = 0.5
PUBLISH_EVERY: Final = 10
"""How many looks at the state come to one reading of the numbers, which opens the spool's file."""
ASK_SECONDS: Final = 30.0
"""How often the leader of a home asks the store how much waits there."""
TROUBLE_METRICS: Final[Mapping[Trouble, Metric]] = {
    Trouble.SPOOL_FULL: Metric.DEGRADED_SPOOL_FULL,
    Trouble.SETUP: Metric.DEGRADED_SETUP,
    Trouble.STORE: Metric.DEGRADED_STORE,
    Trouble.EMBEDDER: Metric.DEGRADED_EMBEDDER,
}


class Monitor:
    """Looks at the state every moment. Belongs to the event loop.

    What is told elsewhere is not told again: the spool tells when it is full, the deliverer what stops it, the link
    why a store is not usable yet.
    """

    def __init__(
        self,
        spool: SpoolAccess,
        deliverer: Deliverer,
        stage: EmbedStage | None,
        health: Health,
        *,
        sealing: SealStage,
        store: StoreReadings,
        pool: Callable[[], Mapping[Metric, float]],
        tally: SecretTally,
        store_breaker: Breaker,
        embed_breaker: Breaker,
        telemetry: Telemetry,
    ) -> None:
        """Watch these parts and tell `telemetry`; `pool` returns the numbers of the connections."""
        self._spool = spool
        self._deliverer = deliverer
        self._stage = stage
        self._health = health
        self._sealing = sealing
        self._store = store
        self._pool = pool
        self._tally = tally
        self._store_breaker = store_breaker
        self._embed_breaker = embed_breaker
        self._telemetry = telemetry
        self._faults = RepeatedFaults(logger)
        self._of_store: Mapping[Metric, float] = {}
        self._ask_at = 0.0
        self._leads = False
        self._served = False
        self._store_away = False
        self._embedder_away = False

    async def run(self) -> None:
        """Watch until cancelled, and read the numbers while anybody takes them."""
        async with anyio.create_task_group() as beside:
            # The store may take long over its numbers, and just then its troubles are to be told.
            beside.start_soon(lasting, self._keep_publishing, self._faults, "metrics.fault")
            await lasting(self._keep_looking, self._faults, "monitor.fault")

    async def _keep_looking(self) -> None:
        while True:
            self.look()
            await anyio.sleep(WATCH_SECONDS)

    async def _keep_publishing(self) -> None:
        while True:
            if self._telemetry.measured:
                await self._publish()
            await anyio.sleep(PUBLISH_EVERY * WATCH_SECONDS)

    def look(self) -> None:
        """Tell what has changed since the last look."""
        troubles = self._health.troubles()
        self._note_store(served=self._health.served, away=Trouble.STORE in troubles)
        self._note_embedder(away=Trouble.EMBEDDER in troubles)
        self._note_leader(leads=self._deliverer.leads)

    async def readings(self) -> Mapping[Metric, float]:
        """Return the numbers as they are now.

        Raises:
            StoreUnavailable: The spool cannot be read for now.
        """
        status = await self._spool.status()
        secrets = await self._spool.call(self._tally.totals)
        return {
            **spool_readings(status),
            **secret_readings(secrets),
            **self._own_readings(),
            **self._pool(),
            **await self._store_readings(),
            **self._troubles(),
            Metric.READ_AT: time.time(),
        }

    def _own_readings(self) -> Mapping[Metric, float]:
        embedding = self._stage.counts if self._stage else None
        return {
            Metric.LEADER: float(self._deliverer.leads),
            Metric.DELIVERED: self._deliverer.counts.delivered,
            Metric.POSTPONED: self._deliverer.counts.postponed,
            Metric.BATCH: self._deliverer.batch,
            Metric.EMBEDDED: embedding.embedded if embedding else 0,
            Metric.PARKED: embedding.parked if embedding else 0,
            Metric.SEALED: self._sealing.sealed,
            Metric.STORE_BREAKER_OPEN: float(self._store_breaker.state is not BreakerState.CLOSED),
            Metric.EMBED_BREAKER_OPEN: float(self._embed_breaker.state is not BreakerState.CLOSED),
        }

    def _troubles(self) -> Mapping[Metric, float]:
        troubles = self._health.troubles()
        named = {metric: float(trouble in troubles) for trouble, metric in TROUBLE_METRICS.items()}
        return {Metric.DEGRADED: float(bool(troubles)), **named}

    async def _store_readings(self) -> Mapping[Metric, float]:
        """Ask the store now and then, if this process leads: all processes of a home would be told the same."""
        if self._store_breaker.state is not BreakerState.CLOSED or not self._health.served:
            self._of_store = {}
        elif not self._deliverer.leads:
            self._of_store = {Metric.STORE_UP: 1.0}
        elif time.monotonic() >= self._ask_at:
            self._of_store = await self._store.read()
            self._ask_at = time.monotonic() + ASK_SECONDS
        return self._of_store or {Metric.STORE_UP: 0.0}

    async def _publish(self) -> None:
        try:
            self._telemetry.publish(await self.readings())
        except HermesMemoryError as error:
            # The deliverer reads the same file and tells what is wrong with it.
            logger.debug(
                "there are no numbers for now", extra={"action": "metrics.wait", "cause": type(error).__name__}
            )

    def _note_store(self, *, served: bool, away: bool) -> None:
        if not served:
            return
        if not self._served:
            logger.info("the database is usable", extra={"action": "store.usable"})
        elif away and not self._store_away:
            logger.warning(
                "the database is out of reach: writes wait in the spool, and recall finds nothing",
                extra={"action": "store.away"},
            )
        elif self._store_away and not away:
            logger.info("the database answers again", extra={"action": "store.back"})
        self._served, self._store_away = True, away

    def _note_embedder(self, *, away: bool) -> None:
        if away and not self._embedder_away:
            logger.warning("the embedder is of no use now: recall works by words", extra={"action": "embedder.away"})
        elif self._embedder_away and not away:
            logger.info("the embedder is of use again", extra={"action": "embedder.back"})
        self._embedder_away = away

    def _note_leader(self, *, leads: bool) -> None:
        if leads and not self._leads:
            logger.info("this process delivers for its home now", extra={"action": "leader.gained"})
        elif self._leads and not leads:
            logger.info("this process delivers for its home no more", extra={"action": "leader.lost"})
        self._leads = leads


def secret_readings(totals: SecretTotals) -> Mapping[Metric, float]:
    """Return the numbers of the secrets that a home kept out."""
    return {
        Metric.SECRETS_REDACTED: sum(totals.redacted.values()),
        Metric.SECRETS_REFUSED: sum(totals.refused.values()),
    }


def spool_readings(status: SpoolStatus) -> Mapping[Metric, float]:
    """Return the numbers of a spool that could be read."""
    return {
        Metric.SPOOL_READABLE: 1.0,
        Metric.SPOOL_ACCEPTED: status.accepted,
        Metric.SPOOL_DELIVERED: status.delivered,
        Metric.SPOOL_BURIED: status.buried,
        Metric.SPOOL_DISCARDED: status.discarded,
        Metric.SPOOL_REFUSED: status.refused,
        Metric.SPOOL_DEPTH: status.depth,
        Metric.SPOOL_DEAD: status.dead,
        Metric.SPOOL_BYTES: status.stored_bytes,
        Metric.SPOOL_FILL: status.fill,
        Metric.SPOOL_OLDEST_AGE: status.longest_wait(datetime.now(UTC)),
        Metric.SPOOL_QUARANTINED: status.quarantined,
    }
