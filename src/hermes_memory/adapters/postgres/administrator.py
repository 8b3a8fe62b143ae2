"""The connection of an operator: acts as the owner of the memory's tables, past the wall."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final, Literal, LiteralString, TypeAlias

import asyncpg

from hermes_memory.adapters.postgres.errors import readable_address, translated
from hermes_memory.adapters.postgres.roles import OWNER, identifier
from hermes_memory.domain.errors import ConfigurationError, StoreUnavailable

if TYPE_CHECKING:
    from hermes_memory.adapters.postgres.pool import Connection

CONNECT_SECONDS: Final = 10.0
Isolation: TypeAlias = Literal["read_committed", "repeatable_read"]
_RIGHTS: Final = (
    f"this login may not act as {OWNER}: name one with --admin-dsn that is a member of that role, or a superuser"
)


class Administrator:
    """One connection with the owner's rights. Made by `administrator`."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    @asynccontextmanager
    async def transaction(
        self, *, isolation: Isolation = "read_committed", read_only: bool = False
    ) -> AsyncIterator[Connection]:
        """Open a transaction as the owner; commit it at the end, roll it back on any error.

        Raises:
            ConfigurationError: The login may not act as the owner.
        """
        async with self._connection.transaction(isolation=isolation, readonly=read_only):
            await self._become_owner("set local jit = off; set local role")
            yield self._connection

    @asynccontextmanager
    async def session(self) -> AsyncIterator[Connection]:
        """Act as the owner without a transaction, for what cannot run in one.

        Raises:
            ConfigurationError: The login may not act as the owner.
        """
        await self._become_owner("set role")
        yield self._connection

    async def value(self, statement: LiteralString, *arguments: object) -> Any:
        """Return the first value of a statement that runs by itself, as the login."""
        return await self._connection.fetchval(statement, *arguments)

    async def _become_owner(self, act: LiteralString) -> None:
        try:
            await self._connection.execute(f"{act} {identifier(OWNER)}")
        except (
            asyncpg.InsufficientPrivilegeError,
            asyncpg.InvalidParameterValueError,
            asyncpg.UndefinedObjectError,
        ):
            raise ConfigurationError(_RIGHTS) from None


@asynccontextmanager
async def administrator(dsn: str, *, timeout: float = 300.0) -> AsyncIterator[Administrator]:
    """Connect as an operator.

    Args:
        dsn: Address with a login that may act as the owner.
        timeout: Seconds that one statement may take.

    Raises:
        StoreUnavailable: The database cannot be reached, or breaks off.
        SchemaNotApplied: It has no schema, or an older one.
        ConfigurationError: The address or the login is not fit.
    """
    with translated(StoreUnavailable):
        with readable_address():
            connection = await asyncpg.connect(
                dsn,
                timeout=CONNECT_SECONDS,
                command_timeout=timeout,
                statement_cache_size=0,
                server_settings={"application_name": "hermes_memory operator"},
            )
        try:
            yield Administrator(connection)
        finally:
            await connection.close(timeout=CONNECT_SECONDS)
