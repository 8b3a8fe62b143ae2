"""Making the store usable: an embedded server that is started and migrated here, or a database of the operator's."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Final, LiteralString, Protocol

import anyio
import asyncpg

from hermes_memory.adapters.embedded_postgres import EmbeddedPostgres, ServerAddress
from hermes_memory.adapters.postgres.connecting import connect
from hermes_memory.adapters.postgres.errors import translated
from hermes_memory.adapters.postgres.migrator import migrate
from hermes_memory.adapters.postgres.pool import Pool
from hermes_memory.application.worker import Worker, call_aside
from hermes_memory.domain.errors import StoreUnavailable
from hermes_memory.domain.model import ReadPolicy
from hermes_memory.ports.installation import StoreInspector

logger = logging.getLogger(__name__)

DATABASE: Final = "hermes_memory"
EMBEDDED_PARTITIONS: Final = 8
ADMIN_SECONDS: Final = 30.0
_EXISTS: Final[LiteralString] = "select 1 from pg_database where datname = $1"
_CREATE: Final[LiteralString] = 'create database "hermes_memory"'


class StoreHost(Protocol):
    """Where the database comes from."""

    @property
    def repairs(self) -> bool:
        """Whether `repair` can do anything."""
        ...

    def dsn(self) -> str:
        """Return the address of the runtime role.

        Raises:
            StoreUnavailable: It is not known yet.
        """
        ...

    async def prepare(self) -> None:
        """Start what must be started. Called again it makes sure that it runs."""
        ...

    async def repair(self) -> None:
        """Start again what died."""
        ...

    async def aclose(self) -> None:
        """Let go of what was started."""
        ...


class FleetStore:
    """A database that an operator runs and migrates."""

    repairs = False

    def __init__(self, dsn: Callable[[], str]) -> None:
        """Use the address that `dsn` returns; it is kept nowhere else."""
        self._dsn = dsn

    def dsn(self) -> str:
        """Return the configured address."""
        return self._dsn()

    async def prepare(self) -> None:
        """Nothing is ours to start."""

    async def repair(self) -> None:
        """Nothing is ours to start."""

    async def aclose(self) -> None:
        """Nothing is ours to stop."""


class EmbeddedStore:
    """The server of a home: started, provisioned and migrated by whoever needs it first."""

    repairs = True

    def __init__(
        self,
        folder: Path,
        worker: Worker,
        *,
        state_directory: Path,
        runtime_role: str,
        partitions: int,
        read_policy: ReadPolicy,
        forgotten_days: float,
        generation: tuple[str, int] | None,
        part_tokens: int | None = None,
    ) -> None:
        """Serve from `folder`, or from `state_directory` where root must; the rest is for the first migration."""
        self._server = EmbeddedPostgres(folder, state_directory=state_directory)
        self._worker = worker
        self._runtime_role = runtime_role
        self._partitions = partitions
        self._read_policy = read_policy
        self._forgotten_days = forgotten_days
        self._generation = generation
        self._part_tokens = part_tokens
        self._address: ServerAddress | None = None
        self._closing = False

    def dsn(self) -> str:
        """Return the address of the runtime role on the running server."""
        if self._address is None:
            raise StoreUnavailable("the embedded database is still starting")
        return self._address.dsn(user=self._runtime_role, database=DATABASE)

    def owner_dsn(self) -> str:
        """Return the address of the running server's own superuser, who may act as the owner of all."""
        if self._address is None:
            raise StoreUnavailable("the embedded database is still starting")
        return self._address.dsn(database=DATABASE)

    async def prepare(self) -> None:
        """Start or join the server, and bring its database to the schema of this version."""
        address = await self._worker.call(self._server.acquire, abandon=True)
        await _ensure_database(address.dsn())
        await migrate(
            address.dsn(database=DATABASE),
            runtime_role=self._runtime_role,
            partitions=self._partitions,
            read_policy=self._read_policy,
            forgotten_days=self._forgotten_days,
            generation=self._generation,
            part_tokens=self._part_tokens,
            timeout=ADMIN_SECONDS,
        )
        self._address = address

    async def repair(self) -> None:
        """Start the server again when it has died."""
        if not self._closing:
            self._address = await self._worker.call(self._server.ensure_running, abandon=True)

    async def aclose(self) -> None:
        """Stop being a user of the server; the last one stops it."""
        self._closing = True
        with anyio.CancelScope(shield=True):
            await call_aside(self._server.release)


class StorePreparation:
    """Prepares a store host and verifies what it serves."""

    def __init__(self, host: StoreHost, pool: Pool, inspector: StoreInspector) -> None:
        self._host = host
        self._pool = pool
        self._inspector = inspector

    async def prepare(self) -> None:
        """Prepare and verify; raises while the store is not usable."""
        await self._host.prepare()
        installation = await self._inspector.verify()
        for problem in installation.problems:
            logger.warning(
                "the database serves, but not as it should", extra={"action": "store.problem", "reason": problem}
            )

    async def repair(self) -> None:
        """Start again a server that died, and forget connections to the dead one."""
        before = self._host.dsn()
        await self._host.repair()
        if self._host.dsn() != before:
            await self._pool.close()


async def _ensure_database(superuser_dsn: str) -> None:
    with translated(StoreUnavailable):
        connection = await connect(superuser_dsn, timeout=ADMIN_SECONDS, command_timeout=ADMIN_SECONDS)
        try:
            if not await connection.fetchval(_EXISTS, DATABASE):
                await connection.execute(_CREATE)
        except (asyncpg.DuplicateDatabaseError, asyncpg.UniqueViolationError):
            logger.debug("another process made the database", extra={"action": "store.rival"})
        finally:
            await connection.close(timeout=ADMIN_SECONDS)
