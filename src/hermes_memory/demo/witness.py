"""A witness from outside: asks Postgres itself, as its superuser, and not the library that is on trial."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Final, LiteralString
from uuid import UUID

import asyncpg

from hermes_memory.adapters.embedded_postgres import ServerAddress
from hermes_memory.adapters.postgres.errors import translated
from hermes_memory.bootstrap.store import DATABASE
from hermes_memory.domain.errors import StoreUnavailable

SECONDS: Final = 30.0
_TURNS: Final[LiteralString] = (
    "select operation, content from hermes_memory.conversations where session_id = $1 order by position"
)
_COUNT: Final[LiteralString] = "select count(*) from hermes_memory.conversations where session_id = $1"
_HOLDING: Final[LiteralString] = """
select (select count(*) from hermes_memory.memory_entries row where strpos(row::text, $1) > 0)
     + (select count(*) from hermes_memory.conversations row where strpos(row::text, $1) > 0)
     + (select count(*) from hermes_memory.sessions row where strpos(row::text, $1) > 0)
     + (select count(*) from hermes_memory.history row where strpos(row::text, $1) > 0)
     + (select count(*) from hermes_memory.inbox row where strpos(row::text, $1) > 0)
"""


class Witness:
    """Looks into the tables. Its methods raise StoreUnavailable when the server does not answer. See `witness`."""

    def __init__(self, connection: asyncpg.Connection[asyncpg.Record]) -> None:
        self._connection = connection

    async def turns(self, session: str) -> Sequence[tuple[UUID, str]]:
        """Return operation and content of every stored turn of a session, in order."""
        with translated(StoreUnavailable):
            return [(row["operation"], row["content"]) for row in await self._connection.fetch(_TURNS, session)]

    async def count(self, session: str) -> int:
        """Count the stored turns of a session."""
        with translated(StoreUnavailable):
            count: int = await self._connection.fetchval(_COUNT, session)
            return count

    async def holding(self, text: str) -> int:
        """Count the rows of any kind that hold a text anywhere."""
        with translated(StoreUnavailable):
            count: int = await self._connection.fetchval(_HOLDING, text)
            return count


@asynccontextmanager
async def witness(address: ServerAddress) -> AsyncIterator[Witness]:
    """Let a witness look at the memory on a server.

    Raises:
        StoreUnavailable: The server does not answer, or has no memory on it.
    """
    with translated(StoreUnavailable):
        connection = await asyncpg.connect(address.dsn(database=DATABASE), timeout=SECONDS, command_timeout=SECONDS)
    try:
        yield Witness(connection)
    finally:
        connection.terminate()
