"""The pool of connections, and the transaction as the store's modules know it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, Final, LiteralString, TypeAlias

import anyio
import asyncpg

from hermes_memory.adapters.postgres.connecting import connect
from hermes_memory.adapters.postgres.context import caller_settings, locally, opening, statement_limit
from hermes_memory.adapters.postgres.errors import DRIVER_ERRORS, readable_address, translated
from hermes_memory.adapters.postgres.hosts import rotated
from hermes_memory.adapters.postgres.statements import Composed, Connection, Statement, joined
from hermes_memory.domain.errors import ConfigurationError, DeadlineExceeded, StoreUnavailable
from hermes_memory.domain.model import Caller
from hermes_memory.ports.metrics import Metric

if TYPE_CHECKING:
    DriverConnection: TypeAlias = (
        "asyncpg.Connection[asyncpg.Record] | asyncpg.pool.PoolConnectionProxy[asyncpg.Record]"
    )

ROLLBACK_SECONDS: Final = 0.5
CLIENT_GRACE_SECONDS: Final = 0.1
"""How much longer than the server the client waits, so that it is the server that ends a slow statement."""
PLANNED_ONCE: Final[tuple[LiteralString, ...]] = ("plan_cache_mode = force_generic_plan", "enable_seqscan = off")
"""Planning the statements of the two legs takes several times as long as running them in a theme of some thousand rows,
and no value changes the plan: each step leads by an index into the next, or every distance is computed. So a connection
plans each once, at its first use, the same whatever the tables hold then: sequential scans are off for that."""


class Transaction:
    """An open transaction on behalf of a caller; every statement ends with the transaction's time, or its own limit.

    The server's own limit was set when it began, and anew with each message that sets something anyway: it ends what a
    client that is gone has left behind. What is left of the time, the driver holds each statement to, which costs no
    message, and cancels it on the server when that is over.

    Statements are literals, which the type checker proves: nothing that comes from outside becomes SQL.

    Its methods raise what the driver raises: `Pool.transaction` translates it.
    """

    __slots__ = ("_connection", "_context", "_deadline", "_longest")

    def __init__(self, connection: Connection, deadline: float, longest: float, caller: Caller | None) -> None:
        self._connection = connection
        self._deadline = deadline
        self._longest = longest
        self._context = caller_settings(caller)

    def remaining(self) -> float:
        """Return the seconds that the next statement may take.

        Raises:
            TimeoutError: There are none.
        """
        left = self._deadline - asyncio.get_running_loop().time()
        if left <= 0:
            raise TimeoutError
        return min(left, self._longest) + CLIENT_GRACE_SECONDS

    async def fetch(self, statement: LiteralString, *arguments: object) -> list[asyncpg.Record]:
        """Run a statement and return its rows."""
        return await self._connection.fetch(statement, *arguments, timeout=self.remaining())

    async def fetch_row(self, statement: LiteralString, *arguments: object) -> asyncpg.Record | None:
        """Run a statement and return its first row, None when there is none."""
        return await self._connection.fetchrow(statement, *arguments, timeout=self.remaining())

    async def fetch_value(self, statement: LiteralString, *arguments: object) -> Any:
        """Run a statement and return the first value of its first row, None when there is none."""
        return await self._connection.fetchval(statement, *arguments, timeout=self.remaining())

    async def execute(self, statement: LiteralString, *arguments: object) -> None:
        """Run a statement whose rows do not matter."""
        await self._connection.execute(statement, *arguments, timeout=self.remaining())

    async def act_for(self, caller: Caller) -> None:
        """Make another caller the one who is asking, for the rest of the transaction, and limit it to what is left."""
        if (context := caller_settings(caller)) != self._context:
            await self._say(joined(context, self._limit()))
            self._context = context

    async def set_local(self, *settings: Statement) -> None:
        """Make settings (`name = value`) for the rest of the transaction, and limit it to what is left."""
        await self._say(joined(*map(locally, settings), self._limit()))

    async def open(
        self, *, read_only: bool, timeout: float, caller: Caller | None, settings: Iterable[Statement]
    ) -> None:
        """Begin, and say who is asking. Several statements without arguments travel as one message: one round trip."""
        await self._say(opening(caller, read_only=read_only, timeout=timeout, settings=settings))

    def _limit(self) -> Composed:
        return locally(statement_limit(self.remaining() - CLIENT_GRACE_SECONDS))

    async def _say(self, settings: Composed) -> None:
        await self._connection.execute(settings, timeout=self.remaining())


class Pool:
    """Connections of the runtime role, made when first needed and closed when idle.

    Making one does nothing: no connection, no task, no look at the address. All methods belong to one event loop.

    Args:
        dsn: Address of the database, or what returns it when the first connection is needed.
        max_size: Connections at most.
        connect_timeout: Seconds to wait for a connection.
        command_timeout: Seconds to wait for one statement of a transaction that writes.
        statement_cache_size: Prepared statements a connection keeps; 0 behind a transaction pooler.
        idle_seconds: Seconds after which an unused connection is closed.
        application_name: What the server's activity view shows.
        waited: Is told, in seconds, how long a transaction waited for its connection, in vain too.
    """

    def __init__(
        self,
        dsn: str | Callable[[], str],
        *,
        max_size: int = 4,
        connect_timeout: float = 3.0,
        command_timeout: float = 10.0,
        statement_cache_size: int = 100,
        idle_seconds: float = 30.0,
        application_name: str = "hermes_memory",
        waited: Callable[[float], None] = lambda _: None,
    ) -> None:
        self._dsn = dsn
        self._max_size = max_size
        self._connect_timeout = connect_timeout
        self._command_timeout = command_timeout
        self._statement_cache_size = statement_cache_size
        self._idle_seconds = idle_seconds
        self._application_name = application_name
        self._waited = waited
        self._failures = 0
        self._opened: asyncpg.Pool[asyncpg.Record] | None = None
        self._opening = asyncio.Lock()
        self._claims = 0
        """Connections in use, being made, or waited for."""

    def readings(self) -> Mapping[Metric, float]:
        """Return how many connections are in use and how many transactions wait for one, for whoever watches."""
        return {
            Metric.POOL_SIZE: self._max_size,
            Metric.POOL_CONNECTIONS: min(self._claims, self._max_size),
            Metric.POOL_WAITING: max(self._claims - self._max_size, 0),
        }

    @property
    def planned_once(self) -> tuple[LiteralString, ...]:
        """Settings for statements whose plan no value changes. Where none is kept, a plan for its values is cheaper."""
        return PLANNED_ONCE if self._statement_cache_size > 0 else ()

    @asynccontextmanager
    async def transaction(
        self,
        caller: Caller | None,
        *,
        timeout: float,
        read_only: bool = False,
        settings: Iterable[Statement] = (),
    ) -> AsyncIterator[Transaction]:
        """Open a transaction on behalf of a caller, or of nobody; commit it at the end, roll it back on any error.

        Args:
            caller: Whose context the wall sees.
            timeout: Seconds for everything: connection, statements and commit.
            read_only: Whether the transaction only reads. A time limit then is the caller's deadline, not a fault of
                the store.
            settings: Further `name = value` settings for the transaction.

        Raises:
            StoreUnavailable: No connection in time, or it broke; a write may or may not have been committed.
            DeadlineExceeded: A reading transaction took longer than `timeout`, or waited for a busy connection.
            SchemaNotApplied: Tables, functions or grants are missing.
            DeliveryRejected: The database refuses what a statement holds.
        """
        deadline = asyncio.get_running_loop().time() + timeout
        with translated(DeadlineExceeded if read_only else StoreUnavailable):
            async with self._connection(timeout, read_only=read_only) as connection:
                longest = timeout if read_only else min(timeout, self._command_timeout)
                transaction = Transaction(connection, deadline, longest, caller)
                try:
                    await transaction.open(caller=caller, read_only=read_only, timeout=longest, settings=settings)
                    yield transaction
                    await transaction.execute("commit")
                except BaseException as error:
                    await _roll_back(connection)
                    if isinstance(error, asyncpg.ReadOnlySQLTransactionError):
                        await self._leave()
                    raise

    async def close(self, timeout: float = 1.0) -> None:
        """Close all connections, those in use too once `timeout` seconds have passed. Called again it does nothing."""
        opened, self._opened = self._opened, None
        if opened is None:
            return
        try:
            with anyio.move_on_after(timeout):
                await opened.close()
        except DRIVER_ERRORS:
            pass
        finally:
            opened.terminate()

    @asynccontextmanager
    async def _connection(self, timeout: float, *, read_only: bool) -> AsyncIterator[DriverConnection]:
        # Who waits in vain behind others has learnt nothing of the database. Taken for an outage, a burst of questions
        # would turn away every other one, and hold up what is delivered.
        waits = read_only and self._claims >= self._max_size
        self._claims += 1
        opened, connection = None, None
        try:
            began = time.perf_counter()
            try:
                with translated(DeadlineExceeded if waits else StoreUnavailable), readable_address():
                    opened = await self._open()
                    connection = await opened.acquire(timeout=timeout)
            finally:
                self._waited(time.perf_counter() - began)
            yield connection
        finally:
            try:
                if opened is not None and connection is not None:
                    await opened.release(connection, timeout=ROLLBACK_SECONDS)
            finally:
                self._claims -= 1

    async def _leave(self) -> None:
        """Forget connections to a server that has become a standby; an address of several hosts leads to another."""
        if self._opened is not None:
            await self._opened.expire_connections()

    async def _connect(self, dsn: str | None = None, **options: Any) -> asyncpg.Connection[asyncpg.Record]:
        """Connect, beginning with the host after the one that failed last."""
        try:
            return await connect(dsn and rotated(dsn, self._failures), **options)
        except BaseException:
            self._failures += 1
            raise

    async def _open(self) -> asyncpg.Pool[asyncpg.Record]:
        async with self._opening:
            if self._opened is None:
                self._opened = await asyncpg.create_pool(
                    self._dsn() if callable(self._dsn) else self._dsn,
                    min_size=0,
                    max_size=self._max_size,
                    timeout=self._connect_timeout,
                    command_timeout=self._command_timeout,
                    statement_cache_size=self._statement_cache_size,
                    max_inactive_connection_lifetime=self._idle_seconds,
                    server_settings={"application_name": self._application_name},
                    connect=self._connect,
                    init=_check_connection,
                    reset=_nothing_to_reset,
                )
            return self._opened


async def _check_connection(connection: DriverConnection) -> None:
    settings: Any = connection.get_settings()
    if settings.standard_conforming_strings != "on":
        raise ConfigurationError(
            "the database has standard_conforming_strings off, which makes names unsafe to quote: turn it on for "
            "the runtime role"
        )


async def _nothing_to_reset(connection: DriverConnection) -> None:
    """Spare the usual RESET ALL round trip: every setting of ours ends with its transaction."""


async def _roll_back(connection: DriverConnection) -> None:
    """End a failed transaction within a bounded time, or else the connection with it. Runs on when cancelled."""
    with anyio.move_on_after(ROLLBACK_SECONDS, shield=True):
        try:
            await connection.execute("rollback", timeout=ROLLBACK_SECONDS)
        except DRIVER_ERRORS:
            pass
        else:
            return
    with suppress(asyncpg.InterfaceError):  # the driver has let go of it already
        connection.terminate()
