"""How long a client may hold up the place where Prometheus fetches the numbers: real sockets, on the loopback."""

from __future__ import annotations

import socket
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import pytest
from prometheus_client import CollectorRegistry

from hermes_memory.adapters.metrics import endpoint as module
from hermes_memory.adapters.metrics.endpoint import MetricsEndpoint
from hermes_memory.domain.listening import listening

SECONDS: Final = 60.0


@contextmanager
def trickling(port: int) -> Iterator[threading.Event]:
    """Send a request whose head never ends, a few bytes a second; the event tells that the server hung up."""
    done, hung_up = threading.Event(), threading.Event()
    connection = socket.create_connection(("127.0.0.1", port), timeout=SECONDS)
    connection.sendall(b"GET /metrics HTTP/1.0\r\nX-Slow: ")

    def send() -> None:
        while not done.wait(0.05):
            try:
                connection.sendall(b"x")
            except OSError:
                hung_up.set()
                return

    sender = threading.Thread(target=send)
    sender.start()
    try:
        yield hung_up
    finally:
        done.set()
        sender.join()
        connection.close()


def test_whoever_sends_a_byte_now_and_then_is_hung_up_on_and_the_next_one_is_served(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "REQUEST_SECONDS", 0.5)
    endpoint = MetricsEndpoint(CollectorRegistry(), listening("127.0.0.1:0"))
    try:
        with trickling(endpoint.port) as hung_up:
            with urllib.request.urlopen(f"http://127.0.0.1:{endpoint.port}/metrics", timeout=SECONDS) as answer:
                status = answer.status
            gave_up = hung_up.wait(SECONDS)
    finally:
        endpoint.close()

    assert (status, gave_up) == (200, True)
