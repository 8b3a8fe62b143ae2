"""A connection pooler in transaction mode, of the tests' own: to its clients it is what PgBouncer is.

A client has one of a few connections to the server from its first message until the server is ready for the next
transaction. Nothing is reset in between: what one client sets or prepares in the session, the next one meets. The
connection that was given back last is the next to be given, as with PgBouncer, so that leaks show at once.

It differs where no test looks: settings of a client's start (`application_name`) are taken and not carried to the
server, nobody is asked for a password, and nothing is encrypted.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, closing, contextmanager, suppress
from pathlib import Path
from typing import Final
from urllib.parse import quote

import anyio
from anyio.abc import TaskGroup
from anyio.from_thread import start_blocking_portal

from tests.support.fault_proxy import Place, connect, place_of
from tests.support.pooled_connections import Client, Pool, Refused, sent
from tests.support.wire import CANCEL, Messages, first_message, greeted, message, parameters, refusal

PORT: Final = 6432
"""Names the socket."""

_TOLD_AT_THE_START: Final = frozenset(
    ("user", "database", "client_encoding", "DateStyle", "TimeZone", "standard_conforming_strings", "application_name")
)
"""What a client may say of itself. Everything else would have to hold for the session, and is refused."""
_IGNORED_AT_THE_START: Final = "extra_float_digits"
_COPYING: Final = b"dcf"
"""What is left of a copy that failed. A server that copies nothing passes over it."""


class TransactionPooler:
    """Serves clients of any role and database of a server."""

    def __init__(self, place: Place, group: TaskGroup) -> None:
        self._place = place
        self._group = group
        self._pools: dict[tuple[str, str], Pool] = {}
        self._clients: dict[bytes, Client] = {}

    def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve whoever has connected."""
        self._group.start_soon(self._serve, reader, writer)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with closing(writer), suppress(asyncio.IncompleteReadError, OSError):
            code, body = await greeted(reader, writer)
            if code == CANCEL:
                await self._cancel(body)
                return
            try:
                await self._welcome(self._pool(parameters(body)), Messages(reader), writer)
            except Refused as error:
                writer.write(error.told)

    def _pool(self, told: Mapping[str, str]) -> Pool:
        if unknown := told.keys() - _TOLD_AT_THE_START - {_IGNORED_AT_THE_START}:
            raise Refused(refusal(f"unsupported startup parameter: {min(unknown)}"))
        role, database = told["user"], told.get("database", told["user"])
        made = Pool(place=self._place, role=role, database=database, group=self._group)
        return self._pools.setdefault((role, database), made)

    async def _welcome(self, pool: Pool, messages: Messages, writer: asyncio.StreamWriter) -> None:
        client = Client(writer=writer, pool=pool)
        first = await pool.take()
        pool.give(first)
        ready = message(b"K", client.key) + message(b"Z", b"I")
        writer.write(message(b"R", bytes(4)) + first.greeting + ready)
        self._clients[client.key] = client
        try:
            await self._relay(client, messages)
        finally:
            del self._clients[client.key]
            # With a transaction open, or an answer to come, nobody else can have it.
            if client.server is not None:
                client.server.client = None
                client.server.writer.close()

    async def _relay(self, client: Client, messages: Messages) -> None:
        while said := await messages.more():
            for each in said:
                if each.kind == b"X":
                    return
                if client.server is None:
                    if each.kind in _COPYING:
                        continue
                    client.server = await client.pool.take()
                    client.server.client = client
                client.send(each)
            if client.server is not None:
                await sent(client.server.writer)

    async def _cancel(self, key: bytes) -> None:
        """Have the server cancel what a client runs, if it runs anything."""
        client = self._clients.get(key)
        if client is None or (server := client.server) is None:
            return
        server.cancels += 1
        try:
            reader, writer = await connect(self._place)
            with closing(writer):
                writer.write(first_message(CANCEL, server.key))
                await reader.read()  # it closes when the signal is given
        finally:
            server.cancels -= 1
            client.pool.settle(server)


@asynccontextmanager
async def _listening(place: Place, socket: Path) -> AsyncIterator[None]:
    async with anyio.create_task_group() as group:
        listener = await asyncio.start_unix_server(TransactionPooler(place, group).accept, socket)
        yield
        listener.close()
        group.cancel_scope.cancel()


@contextmanager
def transaction_pooler(server_dsn: str) -> Iterator[Path]:
    """Run a pooler before a server while the block lasts, on a thread of its own; give the folder of its socket."""
    with (
        tempfile.TemporaryDirectory(prefix="hermes-memory-pooler-") as folder,
        start_blocking_portal(name="transaction-pooler") as portal,
        portal.wrap_async_context_manager(_listening(place_of(server_dsn), Path(folder) / f".s.PGSQL.{PORT}")),
    ):
        yield Path(folder)


def pooled_dsn(folder: Path, role: str, database: str) -> str:
    """Return the address of a database through a pooler whose socket is in a folder."""
    return f"postgresql://{quote(role)}@/{quote(database)}?host={quote(str(folder), safe='')}&port={PORT}"
