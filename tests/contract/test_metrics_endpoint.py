"""The place where Prometheus fetches the numbers of a process: real sockets, on the loopback interface."""

from __future__ import annotations

import errno
import logging
import os
import socket
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from typing import Final

import anyio
import anyio.to_thread
import pytest
from prometheus_client import CollectorRegistry

from hermes_memory.adapters.metrics import endpoint as module
from hermes_memory.adapters.metrics.endpoint import THREAD_NAME, MetricsEndpoint, PortsTaken
from hermes_memory.adapters.metrics.prometheus import PrometheusMetrics
from hermes_memory.application.telemetry import Telemetry
from hermes_memory.bootstrap import exposing
from hermes_memory.domain.errors import ConfigurationError
from hermes_memory.domain.listening import listening
from hermes_memory.ports.metrics import Metric
from tests.support.inprocess import until

SECONDS: Final = 60.0
FORKING: Final = """
import os
from prometheus_client import CollectorRegistry
from hermes_memory.adapters.metrics.endpoint import MetricsEndpoint
from hermes_memory.domain.listening import listening

endpoint = MetricsEndpoint(CollectorRegistry(), listening("127.0.0.1:0"))
to_child, from_parent = os.pipe()
child = os.fork()
if child == 0:
    os.close(from_parent)
    os.read(to_child, 1)
    os._exit(0)
try:
    endpoint.close()
    MetricsEndpoint(CollectorRegistry(), listening(f"127.0.0.1:{endpoint.port}")).close()
    print("free")
finally:
    os.close(from_parent)
    os.waitpid(child, 0)
"""


@pytest.fixture
def registry() -> CollectorRegistry:
    made = CollectorRegistry()
    PrometheusMetrics(made).publish({Metric.SPOOL_DEPTH: 7.0})
    return made


@pytest.fixture
def endpoint(registry: CollectorRegistry) -> Iterator[MetricsEndpoint]:
    made = MetricsEndpoint(registry, listening("127.0.0.1:0"))
    yield made
    made.close()


def fetched(port: int) -> str:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=SECONDS) as answer:
        text: bytes = answer.read()
    return text.decode()


def test_the_numbers_are_fetched_over_http_again_and_again(endpoint: MetricsEndpoint) -> None:
    assert all("hermes_memory_spool_depth 7.0" in fetched(endpoint.port) for _ in range(3))


def test_of_several_ports_the_first_that_is_free_is_taken_and_none_is_an_error(
    registry: CollectorRegistry, endpoint: MetricsEndpoint
) -> None:
    taken = endpoint.port
    with pytest.raises(PortsTaken, match=str(taken)):
        MetricsEndpoint(registry, listening(f"127.0.0.1:{taken}"))
    endpoint.close()
    endpoint.close()
    heir = MetricsEndpoint(registry, listening(f"127.0.0.1:{taken}"))
    try:
        shown = fetched(heir.port)
    finally:
        heir.close()

    assert heir.port == taken
    assert "hermes_memory_spool_depth" in shown


def test_an_address_that_is_not_of_this_machine_is_the_operators_to_mend(registry: CollectorRegistry) -> None:
    with pytest.raises(ConfigurationError, match=os.strerror(errno.EADDRNOTAVAIL)):
        MetricsEndpoint(registry, listening("192.0.2.1:9464"))


def test_whoever_connects_and_says_nothing_holds_the_others_up_for_a_moment_and_costs_no_thread(
    endpoint: MetricsEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module._Handler, "timeout", 0.2)
    silent = [socket.create_connection(("127.0.0.1", endpoint.port), timeout=SECONDS) for _ in range(4)]
    try:
        shown = fetched(endpoint.port)
        threads = [thread for thread in threading.enumerate() if thread.name == THREAD_NAME]
    finally:
        for connection in silent:
            connection.close()

    assert "hermes_memory_spool_depth" in shown
    assert len(threads) == 1


def test_what_is_no_request_is_told_so_and_the_next_one_is_served(endpoint: MetricsEndpoint) -> None:
    with socket.create_connection(("127.0.0.1", endpoint.port), timeout=SECONDS) as connection:
        connection.sendall(b"\x16\x03\x01\x00nonsense\r\n\r\n")
        connection.recv(1024)

    assert "hermes_memory_spool_depth" in fetched(endpoint.port)


def test_a_forked_child_does_not_keep_the_port() -> None:
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORKING], capture_output=True, text=True, timeout=SECONDS, check=False
    )

    assert (run.returncode, run.stdout.strip()) == (0, "free"), run.stderr


async def test_each_process_of_a_home_has_a_port_and_the_next_takes_over_what_one_leaves(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, endpoint: MetricsEndpoint
) -> None:
    monkeypatch.setattr(exposing, "RETRY_SECONDS", 0.05)
    caplog.set_level(logging.INFO, logger=exposing.__name__)
    where, telemetry = listening(f"127.0.0.1:{endpoint.port}"), Telemetry()
    heard, shown = True, ""
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(exposing.Exposure(where, telemetry).run)
        await until(lambda: actions(caplog))
        heard = telemetry.measured
        endpoint.close()
        await until(lambda: telemetry.measured)
        telemetry.publish({Metric.SPOOL_DEPTH: 9.0})
        shown = await anyio.to_thread.run_sync(fetched, endpoint.port)
        tasks.cancel_scope.cancel()

    assert not heard
    assert actions(caplog) == ["metrics.not_served", "metrics.served"]
    assert "hermes_memory_spool_depth 9.0" in shown
    assert not telemetry.measured
    MetricsEndpoint(CollectorRegistry(), where).close()


async def test_without_the_client_library_a_line_of_the_log_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for name in ("prometheus_client", "prometheus_client.registry"):
        monkeypatch.setitem(sys.modules, name, None)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(exposing.Exposure(listening("127.0.0.1:0"), Telemetry()).run)
        await until(lambda: actions(caplog))
        tasks.cancel_scope.cancel()

    (told,) = [vars(record) for record in caplog.records if record.name == exposing.__name__]
    assert told["cause"] == "ConfigurationError"
    assert "pip install 'hermes-memory-postgres[metrics]'" in told["reason"]


def actions(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.action for record in caplog.records if record.name == exposing.__name__]  # type: ignore[attr-defined]


async def test_a_release_of_the_client_library_whose_calls_differ_costs_the_numbers_and_nothing_else(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def registry() -> None:
        raise TypeError("of an older release")

    monkeypatch.setattr("prometheus_client.registry.CollectorRegistry", registry)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(exposing.Exposure(listening("127.0.0.1:0"), Telemetry()).run)
        await until(lambda: actions(caplog) == ["metrics.not_served"])
        tasks.cancel_scope.cancel()

    assert [record.__dict__["cause"] for record in caplog.records if record.name == exposing.__name__] == ["TypeError"]
