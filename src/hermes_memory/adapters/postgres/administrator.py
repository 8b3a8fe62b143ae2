"""The connection of an operator: acts as the owner of the memory's tables, past the wall."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final, Literal, LiteralString, TypeAlias, TypeVar

import anyio
import asyncpg

from hermes_memory.adapters.postgres.errors import ADMIN_DSN, COLLISIONS, translated
from hermes_memory.adapters.postgres.lone_connection import lone_connection
from hermes_memory.adapters.postgres.roles import OWNER
from hermes_memory.adapters.postgres.statements import composed, identifier
from hermes_memory.domain.errors import ConfigurationError, StoreBusy, StoreUnavailable

if TYPE_CHECKING:
    from hermes_memory.adapters.postgres.statements import Connection

Answer = TypeVar("Answer")
Isolation: TypeAlias = Literal["read_committed", "repeatable_read"]

ATTEMPTS: Final = 20
PAUSE_SECONDS: Final = 0.1
"""Longest pause between two of them."""
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

    async def repeatedly(
        self, work: Callable[[Connection], Awaitable[Answer]], *, isolation: Isolation = "read_committed"
    ) -> Answer:
        """Work in a transaction as the owner, again when it meets another one; see `transaction`.

        Raises:
            StoreBusy: It met others each time.
        """
        for attempt in range(ATTEMPTS):
            try:
                async with self.transaction(isolation=isolation) as connection:
                    return await work(connection)
            except COLLISIONS as error:
                if attempt == ATTEMPTS - 1:
                    raise StoreBusy("others change the same all the time: run it again later") from error
                await anyio.sleep(random.uniform(0, PAUSE_SECONDS))  # noqa: S311 - lets one of two pass, guards nothing
        raise AssertionError("the last attempt either returns or raises")

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
            await self._connection.execute(composed(act + " {owner}", owner=identifier(OWNER)))
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
    with translated(StoreUnavailable, ADMIN_DSN):
        async with lone_connection("operator", timeout=timeout, dsn=dsn) as connection:
            yield Administrator(connection)
