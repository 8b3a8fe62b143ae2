"""The connections that a transaction pooler has, and those who share them. See `tests.support.transaction_pooler`."""

from __future__ import annotations

import asyncio
import secrets
from collections import deque
from contextlib import closing, suppress
from dataclasses import dataclass, field
from typing import Final

from anyio.abc import TaskGroup

from tests.support.fault_proxy import Place, connect
from tests.support.wire import Message, Messages, login

SERVER_CONNECTIONS: Final = 3

_AWAIT_READINESS: Final = b"QSF"
"""Query, Sync and FunctionCall: the server says once for each that it is ready for the next."""


class Refused(Exception):
    """Somebody is not let in.

    Attributes:
        told: What they are to be told.
    """

    def __init__(self, told: bytes) -> None:
        super().__init__(told)
        self.told = told


@dataclass(slots=True, kw_only=True, eq=False)
class Client:
    """Somebody who is connected.

    Attributes:
        key: By which its statements can be cancelled, 8 bytes.
        server: The connection it has for now.
    """

    writer: asyncio.StreamWriter
    pool: Pool
    key: bytes = field(default_factory=lambda: secrets.token_bytes(8))
    server: Server | None = None

    def send(self, sent: Message) -> None:
        """Pass a message on to the server."""
        server = self.server
        assert server is not None
        server.awaited += sent.kind in _AWAIT_READINESS
        server.is_busy = True
        server.writer.write(sent.whole)


@dataclass(slots=True, kw_only=True, eq=False)
class Server:
    """A connection to the server.

    Attributes:
        key: By which what it runs can be cancelled.
        greeting: What the server told of itself, as it told it.
        client: Who has it.
        awaited: How many times it is still to say that it is ready.
        is_busy: Something was sent and is not done, or a transaction is open.
        cancels: How many requests to cancel what it runs are on their way. The next client must not be hit by them.
    """

    messages: Messages
    writer: asyncio.StreamWriter
    key: bytes
    greeting: bytes
    client: Client | None = None
    awaited: int = 0
    is_busy: bool = False
    cancels: int = 0

    def hear(self, heard: Message) -> None:
        """Pass a message on to whoever has it."""
        if heard.kind == b"Z":
            self.awaited -= 1
            self.is_busy = self.awaited > 0 or heard.body != b"I"
        if self.client is not None:
            self.client.writer.write(heard.whole)


async def logged_in(place: Place, role: str, database: str) -> Server:
    """Connect to the server as a role that needs no password.

    Raises:
        Refused: The server says no.
        ConnectionError: It says nothing.
    """
    reader, writer = await connect(place)
    writer.write(login(role, database))
    messages, greeting, key = Messages(reader), b"", b""
    while told := await messages.more():
        for each in told:
            if each.kind == b"E":
                writer.close()
                raise Refused(each.whole)
            greeting += each.whole if each.kind == b"S" else b""
            key = each.body if each.kind == b"K" else key
        if told[-1].kind == b"Z":
            return Server(messages=messages, writer=writer, key=key, greeting=greeting)
    writer.close()
    raise ConnectionResetError("the server ended a login")


@dataclass(slots=True, kw_only=True, eq=False)
class Pool:
    """The connections of one role to one database.

    Attributes:
        free: Those that nobody has, the one given back last at the end.
        waiting: Who is to get the next one, in the order in which they came.
        opened: How many there are, or are being made.
    """

    place: Place
    role: str
    database: str
    group: TaskGroup
    free: list[Server] = field(default_factory=list)
    waiting: deque[asyncio.Future[Server]] = field(default_factory=deque)
    opened: int = 0

    async def take(self) -> Server:
        """Return a connection when there is one.

        Raises:
            Refused, OSError: None can be made.
        """
        while True:
            server = self.free.pop() if self.free else await self._next_free()
            if not server.writer.is_closing():
                return server

    def settle(self, server: Server) -> None:
        """Take a connection back from its client if all is done."""
        if server.client is not None and not server.is_busy and not server.cancels:
            server.client.server = None
            server.client = None
            self.give(server)

    def give(self, server: Server) -> None:
        """Give a connection to whoever waits; one that is lost is nobody's."""
        if server.writer.is_closing():
            return
        if ready := self._next():
            ready.set_result(server)
        else:
            self.free.append(server)

    async def _next_free(self) -> Server:
        ready: asyncio.Future[Server] = asyncio.get_running_loop().create_future()
        self.waiting.append(ready)
        self._grow()
        return await ready

    def _next(self) -> asyncio.Future[Server] | None:
        while self.waiting:
            if not (ready := self.waiting.popleft()).done():
                return ready
        return None

    def _grow(self) -> None:
        if self.waiting and self.opened < SERVER_CONNECTIONS:
            self.opened += 1
            self.group.start_soon(self._serve)

    async def _serve(self) -> None:
        """Make a connection, and pass on what the server says, as long as it lasts."""
        try:
            server = await logged_in(self.place, self.role, self.database)
        except (Refused, OSError) as error:
            self.opened -= 1
            if ready := self._next():
                ready.set_exception(error)
            return
        with closing(server.writer):
            self.give(server)
            await self._listen(server)
        self.opened -= 1
        if server in self.free:
            self.free.remove(server)
        if server.client is not None:
            server.client.writer.close()
        self._grow()

    async def _listen(self, server: Server) -> None:
        while heard := await server.messages.more():
            for each in heard:
                server.hear(each)
            # At once: a client that has its answer may ask anew, or another one, and finds the connection free.
            self.settle(server)
            if server.client is not None:
                await sent(server.client.writer)


async def sent(writer: asyncio.StreamWriter) -> None:
    """Wait until little is left to be sent. Whoever is gone is noticed by whoever reads from it."""
    with suppress(ConnectionError):
        await writer.drain()
