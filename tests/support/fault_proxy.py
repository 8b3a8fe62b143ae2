"""A TCP proxy on loopback that spoils what passes through it, as networks and dying servers do."""

from __future__ import annotations

import asyncio
import socket
import struct
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Final, Literal, TypeAlias
from urllib.parse import parse_qs, urlsplit

Place: TypeAlias = "tuple[str, int] | Path"
Side: TypeAlias = Literal["server", "client"]

_CHUNK: Final = 65_536
_SECONDS: Final = 30.0
"""A guard against hanging, no measure of speed."""
_RESET: Final = struct.pack("ii", 1, 0)
"""Linger for no time: closing sends a reset, and what was not sent yet is dropped."""


@dataclass(slots=True, eq=False)
class _Link:
    """One connection and its way on.

    Attributes:
        deaf: What comes in on either side goes nowhere, and neither side is told.
        doomed: It is reset as soon as the server answers.
    """

    client: asyncio.StreamWriter
    server: asyncio.StreamWriter | None = None
    deaf: bool = False
    doomed: bool = False

    def reset(self) -> None:
        for writer in (self.client, self.server):
            if writer is not None:
                _abort(writer)


class FaultProxy:
    """Forwards connections to `destination`, and spoils them on demand. Use it as a context manager.

    It runs on a thread of its own. Its methods may be called from any other thread and return when the fault is in
    place. Faults add up; `heal` ends those that last.

    Attributes:
        port: Where it listens on 127.0.0.1, the same throughout.
        connections: How many were accepted.
        resets: How many links were cut on purpose.
    """

    def __init__(self, destination: Place) -> None:
        self._destination = destination
        # Bound and never listening: the port stays ours, and who connects while nobody listens is refused.
        self._reserved = _bound(0)
        self.port = int(self._reserved.getsockname()[1])
        self.connections = 0
        self.resets = 0
        self._links: set[_Link] = set()
        self._delay = 0.0
        self._piece = _CHUNK
        self._swallows = False
        self._marker: bytes | None = None
        self._left: dict[Side, int] = {}
        self._listener: socket.socket | None = None
        self._serving: set[asyncio.Task[None]] = set()
        self._started = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._main()), name="fault-proxy", daemon=True)

    def __enter__(self) -> FaultProxy:
        self._thread.start()
        assert self._started.wait(_SECONDS), "the proxy did not start"
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._ending.set)
        self._thread.join(_SECONDS)
        self._reserved.close()
        assert not self._thread.is_alive(), "the proxy did not stop"

    # --- faults

    def heal(self) -> None:
        """End every lasting fault. Connections that were made deaf stay so, as those through a dead path do."""
        self._do(self._heal)

    def refuse(self) -> None:
        """Cut all connections, and refuse new ones until healed."""
        self._do(self._refuse)

    def cut(self) -> None:
        """Reset all connections there are. New ones are served."""
        self._do(self._cut)

    def stall(self) -> None:
        """Hold everything back until healed; then it arrives."""
        self._do(self._flowing.clear)

    def swallow(self) -> None:
        """Let everything vanish, on connections there are and on new ones until healed, and say nothing."""
        self._do(self._swallow)

    def slow(self, *, delay: float, piece: int = _CHUNK) -> None:
        """Forward at most `piece` bytes every `delay` seconds, each way, until healed."""
        self._do(lambda: self._drag(delay, piece))

    def reset_after(self, count: int, *, toward: Side) -> None:
        """Forward `count` more bytes to one side, over all connections, and reset the one that carries the last."""
        self._do(lambda: self._left.update({toward: count}))

    def lose_answer(self, to: bytes) -> None:
        """Reset the next connection that sends the server something with `to` in it, once the server has answered.

        The server has done what it was asked for, and nobody is told.
        """
        self._do(lambda: self._mark(to))

    def half_open(self) -> None:
        """Close the server's half of all connections there are; the clients' halves stay open and get no answer."""
        self._do(self._half_open)

    # --- on the proxy's loop

    async def _main(self) -> None:
        self._loop, self._ending, self._flowing = asyncio.get_running_loop(), asyncio.Event(), asyncio.Event()
        self._flowing.set()
        self._listen()
        self._started.set()
        await self._ending.wait()
        self._stop_listening()
        self._flowing.set()
        while self._serving:
            self._cut()
            await asyncio.wait(self._serving, timeout=0.01)

    def _listen(self) -> None:
        if self._listener is None:
            self._listener = _bound(self.port)
            self._listener.setblocking(False)
            self._listener.listen(64)
            self._loop.add_reader(self._listener, self._accept, self._listener)

    def _accept(self, listener: socket.socket) -> None:
        # By hand, because a server of asyncio that is closed just then loses the connection it has accepted.
        with suppress(BlockingIOError, ConnectionAbortedError):
            client, _ = listener.accept()
            task = self._loop.create_task(self._serve(client))
            self._serving.add(task)
            task.add_done_callback(self._serving.discard)

    def _stop_listening(self) -> None:
        if self._listener is not None:
            self._loop.remove_reader(self._listener)
            self._listener.close()
            self._listener = None

    def _heal(self) -> None:
        self._delay, self._piece, self._swallows, self._marker = 0.0, _CHUNK, False, None
        self._left.clear()
        self._flowing.set()
        self._listen()

    def _refuse(self) -> None:
        self._stop_listening()
        self._cut()

    def _cut(self) -> None:
        for link in list(self._links):
            self._break(link)

    def _swallow(self) -> None:
        self._swallows = True
        for link in self._links:
            link.deaf = True

    def _drag(self, delay: float, piece: int) -> None:
        self._delay, self._piece = delay, piece

    def _mark(self, marker: bytes) -> None:
        self._marker = marker

    def _half_open(self) -> None:
        for link in self._links:
            link.deaf = True
            if link.server is not None:
                _abort(link.server)

    async def _serve(self, client: socket.socket) -> None:
        client.setblocking(False)
        try:
            reader, writer = await asyncio.open_connection(sock=client)
        except OSError:
            client.close()  # it is gone already
            return
        self.connections += 1
        link = _Link(client=writer, deaf=self._swallows)
        self._links.add(link)
        try:
            beyond, link.server = await connect(self._destination)
            await asyncio.gather(
                self._pump(link, reader, link.server, "server"), self._pump(link, beyond, writer, "client")
            )
        except OSError:
            link.reset()  # the server beyond refuses, or one side is gone: so is the other
        finally:
            self._links.discard(link)
            link.reset()

    async def _pump(
        self, link: _Link, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, toward: Side
    ) -> None:
        while chunk := await reader.read(_CHUNK):
            while chunk:
                await self._flowing.wait()
                if self._delay:
                    await asyncio.sleep(self._delay)
                piece, chunk = chunk[: self._piece], chunk[self._piece :]
                if not link.deaf and not await self._forward(link, piece, writer, toward):
                    self._break(link)
                    return
        if not link.deaf and writer.can_write_eof():
            writer.write_eof()

    async def _forward(self, link: _Link, piece: bytes, writer: asyncio.StreamWriter, toward: Side) -> bool:
        """Forward a piece; False when the link is to be reset now."""
        if toward == "client" and link.doomed:
            return False
        if toward == "server" and self._marker is not None and self._marker in piece:
            link.doomed, self._marker = True, None
        left = self._left.get(toward)
        writer.write(piece[:left])
        await writer.drain()
        if left is None:
            return True
        self._left[toward] = left - len(piece)
        if left > len(piece):
            return True
        del self._left[toward]
        await _until_sent(writer)
        return False

    def _break(self, link: _Link) -> None:
        self.resets += 1
        link.reset()

    def _do(self, work: Callable[[], None]) -> None:
        async def done() -> None:
            work()

        asyncio.run_coroutine_threadsafe(done(), self._loop).result(_SECONDS)


def place_of(dsn: str) -> Place:
    """Return where a DSN leads: to a Unix socket, or to a host and port."""
    parts = urlsplit(dsn)
    told = parse_qs(parts.query)
    host, port = told.get("host", [parts.hostname or "127.0.0.1"])[0], told.get("port", [str(parts.port or 5432)])[0]
    return Path(host) / f".s.PGSQL.{port}" if host.startswith("/") else (host, int(port))


async def connect(place: Place) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Connect to a place."""
    if isinstance(place, Path):
        return await asyncio.open_unix_connection(str(place))
    return await asyncio.open_connection(*place)


async def _until_sent(writer: asyncio.StreamWriter) -> None:
    """Wait until the kernel has what was written, so that a reset comes after it."""
    while writer.transport.get_write_buffer_size() and not writer.is_closing():
        await asyncio.sleep(0.001)


def _abort(writer: asyncio.StreamWriter) -> None:
    known: socket.socket | None = writer.get_extra_info("socket")
    if known is not None and known.family == socket.AF_INET:
        with suppress(OSError):
            known.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
    writer.transport.abort()


def _bound(port: int) -> socket.socket:
    bound = socket.socket()
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    bound.bind(("127.0.0.1", port))
    return bound
