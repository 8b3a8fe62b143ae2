"""The place where Prometheus fetches the numbers of a process, by the extra `metrics`.

One thread serves one request at a time and gives each a few seconds: whoever connects can neither pile up threads nor
hold up the memory, whose event loop has no part in it.
"""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import socket
import threading
from typing import Any, Final
from weakref import WeakSet
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

from prometheus_client import make_wsgi_app
from prometheus_client.registry import CollectorRegistry

from hermes_memory.domain.errors import ConfigurationError, HermesMemoryError
from hermes_memory.domain.listening import Listening

logger = logging.getLogger(__name__)

THREAD_NAME: Final = "hermes-memory-metrics"
REQUEST_SECONDS: Final = 5.0
_CLOSE_SECONDS: Final = 2.0
_POLL_SECONDS: Final = 0.1


class PortsTaken(HermesMemoryError):
    """Other processes listen at all of these ports now."""


class MetricsEndpoint:
    """Serves a registry over HTTP until it is closed.

    Args:
        registry: What to serve.
        where: Tries these ports in order and takes the first that is free.

    Raises:
        PortsTaken: None of them is.
        ConfigurationError: This machine has no such address, or the system does not allow the port.
    """

    def __init__(self, registry: CollectorRegistry, where: Listening) -> None:
        self._server = _bound(where)
        self._server.set_app(make_wsgi_app(registry))
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(_POLL_SECONDS,), name=THREAD_NAME, daemon=True
        )
        try:
            self._thread.start()
        except RuntimeError as error:
            self._server.server_close()
            raise ConfigurationError("the metrics cannot be served: the system allows no further thread") from error
        _open.add(self)

    @property
    def port(self) -> int:
        """The port that it listens at."""
        return self._server.server_port

    def close(self) -> None:
        """Stop serving and free the port, within a few seconds. Called again it does nothing."""
        _open.discard(self)
        if self._thread.is_alive():
            # Asked aside: it waits for the request under way, which a client may keep waiting.
            asking = threading.Thread(target=self._server.shutdown, name=THREAD_NAME, daemon=True)
            asking.start()
            asking.join(_CLOSE_SECONDS)
            self._thread.join(_CLOSE_SECONDS)
        self._server.server_close()

    def let_go_in_child(self) -> None:
        """Close the copy of the socket that a forked child has: nobody there answers, and it would keep the port."""
        self._server.socket.close()


class _Server(WSGIServer):
    """Answers one request after the other."""

    def __init__(self, address: str, port: int, family: socket.AddressFamily) -> None:
        self.address_family = family
        super().__init__((address, port), _Handler)

    def server_bind(self) -> None:
        """Bind without the look-up of the machine's name, which may take seconds and is of no use."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = str(self.server_address[0]), int(self.server_address[1])
        self.setup_environ()

    def finish_request(self, request: Any, client_address: Any) -> None:
        """Answer, and hang up on a client that takes longer than `REQUEST_SECONDS` over the whole of its request."""
        limit = threading.Timer(REQUEST_SECONDS, _hang_up, (request,))
        limit.name, limit.daemon = f"{THREAD_NAME}-limit", True
        limit.start()
        try:
            super().finish_request(request, client_address)
        finally:
            limit.cancel()
            # What it hangs up on must still be this client's socket.
            limit.join()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing on standard error: a client that goes away is no news."""
        logger.debug("a client of the metrics went away", extra={"action": "metrics.client"})


def _hang_up(request: socket.socket) -> None:
    with contextlib.suppress(OSError):
        request.shutdown(socket.SHUT_RDWR)


class _Handler(WSGIRequestHandler):
    """Gives a client little time for each byte and writes no log of requests."""

    timeout = REQUEST_SECONDS

    def log_message(self, format: str, *args: Any) -> None:
        """Write nothing."""


_open: WeakSet[MetricsEndpoint] = WeakSet()


def _bound(where: Listening) -> _Server:
    family = socket.AF_INET if where.address.version == 4 else socket.AF_INET6
    for port in where.ports:
        try:
            return _Server(str(where.address), port, family)
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise ConfigurationError(
                    f"the metrics cannot be served at {where.address}, port {port}: {os.strerror(error.errno or 0)}"
                ) from error
    last = f" to {where.last}" if where.last > where.first else ""
    raise PortsTaken(f"other processes listen at {where.address}, port {where.first}{last}")


def _in_child() -> None:
    for endpoint in list(_open):
        endpoint.let_go_in_child()
    _open.clear()


os.register_at_fork(after_in_child=_in_child)
