"""A connection of its own to a database, for work that is over soon and belongs to no pool."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final

import asyncpg

from hermes_memory.adapters.postgres.connecting import connect
from hermes_memory.adapters.postgres.errors import readable_address

if TYPE_CHECKING:
    from hermes_memory.adapters.postgres.rows import Record

CONNECT_SECONDS: Final = 10.0


@asynccontextmanager
async def lone_connection(purpose: str, *, timeout: float, **address: Any) -> AsyncIterator[asyncpg.Connection[Record]]:
    """Connect, and close at the end of the block. Errors of the driver are the caller's to translate.

    Args:
        purpose: What the server shows the connection by, after the library's name.
        timeout: Seconds that one statement may take.
        address: Where to, in the driver's words.

    Raises:
        ConfigurationError: The driver cannot read the address.
    """
    with readable_address():
        connection = await connect(
            **address,
            timeout=CONNECT_SECONDS,
            command_timeout=timeout,
            statement_cache_size=0,
            server_settings={"application_name": f"hermes_memory {purpose}"},
        )
    try:
        yield connection
    finally:
        await connection.close(timeout=CONNECT_SECONDS)
