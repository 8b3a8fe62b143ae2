"""The proxy that spoils connections does what each of its faults says, and no more."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Final

import pytest

from tests.support.fault_proxy import FaultProxy, Place

GUARD: Final = 30.0
SILENCE: Final = 0.3
"""Seconds without an answer that count as none. Too short a time could only make a test pass wrongly, not fail."""
BIG: Final = b"x" * 300_000


class EchoServer:
    """Sends back what it gets, and keeps what that was."""

    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener
        self.got = bytearray()
        self._open: list[socket.socket] = []
        self._threads = [threading.Thread(target=self._accept, daemon=True)]

    def __enter__(self) -> EchoServer:
        self._listener.listen()
        self._threads[0].start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for each in (self._listener, *self._open):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()
        for thread in self._threads:
            thread.join(GUARD)

    @property
    def place(self) -> Place:
        name = self._listener.getsockname()
        return Path(name) if isinstance(name, str) else (str(name[0]), int(name[1]))

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                self._open.append(connection)
                self._threads.append(threading.Thread(target=self._echo, args=(connection,), daemon=True))
                self._threads[-1].start()

    def _echo(self, connection: socket.socket) -> None:
        with suppress(OSError):
            while chunk := connection.recv(65_536):
                self.got += chunk
                connection.sendall(chunk)
            connection.shutdown(socket.SHUT_WR)


@pytest.fixture
def echo() -> Iterator[EchoServer]:
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    with EchoServer(listener) as server:
        yield server


@pytest.fixture
def proxy(echo: EchoServer) -> Iterator[FaultProxy]:
    with FaultProxy(echo.place) as started:
        yield started


@pytest.fixture
def connect(proxy: FaultProxy) -> Iterator[Callable[[], socket.socket]]:
    opened: list[socket.socket] = []

    def connected() -> socket.socket:
        opened.append(socket.create_connection(("127.0.0.1", proxy.port), timeout=GUARD))
        return opened[-1]

    yield connected
    for each in opened:
        each.close()


def ask(connection: socket.socket, text: bytes = b"hello") -> bytes:
    """Send something and return as many bytes of answer."""
    connection.sendall(text)
    return read(connection, len(text))


def read(connection: socket.socket, count: int) -> bytes:
    """Read so many bytes, or fewer when the connection ends in peace."""
    got = bytearray()
    while len(got) < count and (chunk := connection.recv(count - len(got))):
        got += chunk
    return bytes(got)


def silent(connection: socket.socket) -> bool:
    """Whether nothing comes, neither bytes nor the end."""
    connection.settimeout(SILENCE)
    try:
        return connection.recv(1) is None
    except TimeoutError:
        return True
    finally:
        connection.settimeout(GUARD)


def until(check: Callable[[], bool]) -> None:
    deadline = time.monotonic() + GUARD
    while not check():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.01)


def test_what_is_not_spoilt_passes_both_ways_and_ends_in_peace(
    echo: EchoServer, connect: Callable[[], socket.socket]
) -> None:
    connection = connect()
    threading.Thread(target=connection.sendall, args=(BIG,), daemon=True).start()
    answer = read(connection, len(BIG))
    connection.shutdown(socket.SHUT_WR)

    assert answer == BIG == bytes(echo.got)
    assert connection.recv(1) == b""


def test_it_leads_to_a_unix_socket_too(tmp_path: Path) -> None:
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(tmp_path / "s"))
    with (
        EchoServer(listener) as server,
        FaultProxy(server.place) as proxy,
        socket.create_connection(("127.0.0.1", proxy.port), timeout=GUARD) as connection,
    ):
        assert ask(connection) == b"hello"


def test_a_refusing_proxy_cuts_and_refuses_and_keeps_its_port(
    proxy: FaultProxy, connect: Callable[[], socket.socket]
) -> None:
    connection = connect()
    ask(connection)
    proxy.refuse()

    with pytest.raises(ConnectionResetError):
        connection.recv(1)
    with pytest.raises(ConnectionRefusedError):
        connect()
    proxy.heal()
    assert ask(connect()) == b"hello"


def test_a_cut_resets_what_is_there_and_nothing_else(proxy: FaultProxy, connect: Callable[[], socket.socket]) -> None:
    first, second = connect(), connect()
    ask(first)
    ask(second)
    proxy.cut()

    for connection in (first, second):
        with pytest.raises(ConnectionResetError):
            connection.recv(1)
    assert ask(connect()) == b"hello"
    assert proxy.resets == 2


def test_what_is_stalled_arrives_after_the_stall(
    proxy: FaultProxy, echo: EchoServer, connect: Callable[[], socket.socket]
) -> None:
    old = connect()
    ask(old)
    proxy.stall()
    new = connect()
    for connection in (old, new):
        connection.sendall(b"later")

    assert silent(old)
    assert silent(new)
    assert bytes(echo.got) == b"hello"
    proxy.heal()
    assert [read(connection, 5) for connection in (old, new)] == [b"later", b"later"]


def test_what_is_swallowed_never_arrives_and_nobody_is_told(
    proxy: FaultProxy, echo: EchoServer, connect: Callable[[], socket.socket]
) -> None:
    old = connect()
    ask(old)
    proxy.swallow()
    new = connect()
    for connection in (old, new):
        connection.sendall(b"gone")

    assert silent(old)
    assert silent(new)
    proxy.heal()
    assert silent(old)
    assert ask(connect()) == b"hello"
    assert bytes(echo.got) == b"hellohello"


def test_a_slow_proxy_forwards_piece_by_piece_and_all_of_it(
    proxy: FaultProxy, connect: Callable[[], socket.socket]
) -> None:
    connection = connect()
    proxy.slow(delay=0.05, piece=2)
    started = time.monotonic()
    answer = ask(connection, b"abcdefgh")

    assert answer == b"abcdefgh"
    assert time.monotonic() - started >= 0.2


@pytest.mark.parametrize("toward", ["server", "client"])
def test_a_connection_is_reset_in_the_middle_of_a_message(
    proxy: FaultProxy, echo: EchoServer, connect: Callable[[], socket.socket], toward: str
) -> None:
    connection = connect()
    proxy.reset_after(3, toward="server" if toward == "server" else "client")
    connection.sendall(b"hello")

    with pytest.raises(ConnectionResetError):
        read(connection, 6)
    until(lambda: bytes(echo.got) == (b"hel" if toward == "server" else b"hello"))
    assert ask(connect()) == b"hello"


def test_an_answer_is_lost_after_the_server_has_done_what_it_was_asked(
    proxy: FaultProxy, echo: EchoServer, connect: Callable[[], socket.socket]
) -> None:
    connection = connect()
    proxy.lose_answer(b"commit")
    ask(connection, b"begin")
    connection.sendall(b"commit")

    with pytest.raises(ConnectionResetError):
        connection.recv(1)
    assert bytes(echo.got) == b"begincommit"
    assert ask(connect(), b"commit") == b"commit"


def test_a_half_open_connection_gets_no_answer_and_no_end(
    proxy: FaultProxy, echo: EchoServer, connect: Callable[[], socket.socket]
) -> None:
    connection = connect()
    ask(connection)
    proxy.half_open()
    connection.sendall(b"anybody there?")

    assert silent(connection)
    assert ask(connect()) == b"hello"
    assert bytes(echo.got) == b"hellohello"


def test_a_server_that_is_away_looks_like_a_cut_connection() -> None:
    def use(port: int) -> None:
        with socket.create_connection(("127.0.0.1", port), timeout=GUARD) as connection:
            connection.recv(1)

    with FaultProxy(("127.0.0.1", 1)) as nowhere, pytest.raises(ConnectionResetError):
        use(nowhere.port)
