"""A TCP port on loopback that refuses, swallows or forwards connections, as the test wants."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import TypeAlias

Place: TypeAlias = "tuple[str, int] | Path"
_ACCEPT_SECONDS = 0.1


class Gate:
    """Forwards to `destination` while open, takes connections and says nothing while silent, refuses while closed.

    Use it as a context manager. It begins closed, on a port that stays its own.
    """

    def __init__(self, destination: Place | None = None) -> None:
        self._destination = destination
        # Bound but not listening: nobody else gets the port, and whoever connects is refused.
        self._listener = _bound(0)
        self.port = int(self._listener.getsockname()[1])
        self._silent = True
        self._ending = threading.Event()
        self._thread: threading.Thread | None = None
        self._held: list[socket.socket] = []

    def __enter__(self) -> Gate:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ending.set()
        self._listener.close()
        for connection in self._held:
            # Closing alone does not wake a thread that reads.
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
            connection.close()
        if self._thread is not None:
            self._thread.join(10)

    @property
    def connections(self) -> int:
        """How many connections were taken so far, both sides of a forwarded one counted."""
        return len(self._held)

    def open(self) -> None:
        """Forward connections from now on."""
        self._listen(silent=False)

    def hang(self) -> None:
        """Accept connections and never answer."""
        self._listen(silent=True)

    def _listen(self, *, silent: bool) -> None:
        self._silent = silent
        if self._thread is None:
            self._listener.settimeout(_ACCEPT_SECONDS)
            self._listener.listen(64)
            self._thread = threading.Thread(target=self._accept, daemon=True)
            self._thread.start()

    def _accept(self) -> None:
        while not self._ending.is_set():
            try:
                connection, _ = self._listener.accept()
            except TimeoutError:
                continue
            except OSError:
                return  # closed at the end
            self._held.append(connection)
            if not self._silent:
                self._forward(connection)

    def _forward(self, connection: socket.socket) -> None:
        assert self._destination is not None
        if isinstance(self._destination, Path):
            beyond = socket.socket(socket.AF_UNIX)
            beyond.connect(str(self._destination))
        else:
            beyond = socket.create_connection(self._destination)
        self._held.append(beyond)
        for source, sink in ((connection, beyond), (beyond, connection)):
            threading.Thread(target=_pump, args=(source, sink), daemon=True).start()


def _bound(port: int) -> socket.socket:
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", port))
    return listener


def _pump(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError):
        while chunk := source.recv(65536):
            sink.sendall(chunk)
        sink.shutdown(socket.SHUT_WR)
