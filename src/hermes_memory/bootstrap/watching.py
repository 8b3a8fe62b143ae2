"""Watching a home and its database from outside: what their numbers are, without being one of the home's agents.

Nothing is delivered, embedded or started for it. An embedded database that no agent uses is not running, which is
told as any other database that does not answer.
"""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Final

import anyio

from hermes_memory.adapters.embedded_postgres.onlooking import running_server
from hermes_memory.adapters.postgres.embedding_queue import PostgresEmbeddingQueue
from hermes_memory.adapters.postgres.inspector import PostgresInspector
from hermes_memory.adapters.postgres.pool import Pool
from hermes_memory.adapters.postgres.seals import PostgresSeals
from hermes_memory.adapters.secret_tally import FileSecretTally
from hermes_memory.application.faults import RepeatedFaults
from hermes_memory.application.lasting import lasting
from hermes_memory.application.monitor import secret_readings, spool_readings
from hermes_memory.application.store_readings import StoreReadings
from hermes_memory.application.worker import call_aside
from hermes_memory.bootstrap.exposing import new_endpoint
from hermes_memory.bootstrap.home import database_folder, state_folder
from hermes_memory.bootstrap.spools import other_reports, report
from hermes_memory.bootstrap.store import DATABASE
from hermes_memory.domain.errors import HermesMemoryError
from hermes_memory.domain.listening import Listening
from hermes_memory.ports.metrics import Metric
from hermes_memory.settings import Settings

logger = logging.getLogger(__name__)

STORE_SECONDS: Final = 10.0
"""For each question to the database; the count of all rows may take it."""


class Watch:
    """Reads the numbers of one home and its database. Belongs to the event loop.

    Raises:
        ConfigurationError: There is no such home.
    """

    def __init__(self, settings: Settings) -> None:
        report(settings)
        self._settings = settings
        self._unreadable = False
        self._tally = FileSecretTally(state_folder(settings))
        self._pool = Pool(
            self._dsn,
            max_size=1,
            connect_timeout=settings.connect_timeout,
            command_timeout=STORE_SECONDS,
            statement_cache_size=100 if settings.statement_cache else 0,
            application_name="hermes_memory metrics",
        )
        self._store = StoreReadings(
            PostgresEmbeddingQueue(self._pool, timeout=STORE_SECONDS),
            PostgresSeals(self._pool, timeout=STORE_SECONDS),
            PostgresInspector(self._pool, timeout=STORE_SECONDS),
        )

    async def read(self) -> Mapping[Metric, float]:
        """Return the numbers as they are now. What cannot be read is left out, and that it cannot is a number."""
        of_home = await call_aside(self._home_readings)
        of_store = await self._store.read()
        if not of_store[Metric.STORE_UP]:
            # The next look asks for the address again: an embedded server has another one after each start.
            await self._pool.close()
        return {**of_home, **of_store, Metric.READ_AT: time.time()}

    async def aclose(self) -> None:
        """Close the connection."""
        await self._pool.close()

    def _home_readings(self) -> Mapping[Metric, float]:
        try:
            readings = self._readings_of_home()
        except (HermesMemoryError, OSError) as error:
            if not self._unreadable:
                facts = {"action": "metrics.home", "cause": type(error).__name__}
                logger.warning("the home cannot be read for now", extra=facts)
            self._unreadable = True
            return {Metric.SPOOL_READABLE: 0.0}
        self._unreadable = False
        return readings

    def _readings_of_home(self) -> Mapping[Metric, float]:
        spool = report(self._settings)
        waiting = [other.status for other in other_reports(self._settings) if other.status]
        return {
            **(spool_readings(spool.status) if spool.status else {Metric.SPOOL_READABLE: 0.0}),
            **secret_readings(self._tally.totals()),
            Metric.STRANDED: sum(status.depth + status.dead for status in waiting),
            Metric.LED: float(spool.leader is not None),
        }

    def _dsn(self) -> str:
        if self._settings.dsn is not None:
            return self._settings.dsn.get_secret_value()
        server = running_server(database_folder(self._settings.home))
        return server.dsn(user=self._settings.runtime_role, database=DATABASE)


@asynccontextmanager
async def served(settings: Settings, where: Listening, *, every: float) -> AsyncIterator[int]:
    """Serve the numbers of a home and its database for the length of the block, read anew `every` so many seconds.

    Yields:
        The port, once there are numbers to be fetched.

    Raises:
        ConfigurationError: There is no such home, the client library is missing, or the address cannot be used.
        PortsTaken: Somebody else listens there.
    """
    watch = await call_aside(lambda: Watch(settings))
    metrics, endpoint = new_endpoint(where, events=False)
    try:
        metrics.publish(await watch.read())
        async with anyio.create_task_group() as tasks:

            async def again_and_again() -> None:
                while True:
                    await anyio.sleep(every)
                    metrics.publish(await watch.read())

            tasks.start_soon(lasting, again_and_again, RepeatedFaults(logger), "metrics.fault")
            yield endpoint.port
            tasks.cancel_scope.cancel()
    finally:
        with anyio.CancelScope(shield=True):
            await call_aside(endpoint.close)
            await watch.aclose()
