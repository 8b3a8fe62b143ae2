"""Those who listen to a memory are others' code: it opens, accepts, delivers and answers whatever they raise."""

from __future__ import annotations

import logging
from contextlib import AbstractContextManager
from typing import NoReturn

import pytest
from opentelemetry import metrics

from hermes_memory.adapters.metrics import opentelemetry
from hermes_memory.adapters.metrics.opentelemetry import OpenTelemetryTracer
from hermes_memory.ports.metrics import Timing
from hermes_memory.testing import open_in_process

GUARD = 60.0


class Failing:
    """Metrics that can take nothing."""

    def publish(self, readings: object) -> NoReturn:
        raise RuntimeError("of the listener")

    def took(self, timing: object, seconds: object) -> NoReturn:
        raise RuntimeError("of the listener")

    def count(self, happening: object) -> NoReturn:
        raise RuntimeError("of the listener")


class OldMeter(metrics.NoOpMeter):
    """A meter of a release whose histograms were made with fewer arguments."""

    def create_histogram(self, name: str, unit: str = "", description: str = "") -> metrics.Histogram:  # type: ignore[override]
        return super().create_histogram(name, unit, description)


def let_go(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [getattr(record, "listener", "") for record in caplog.records if record.levelno >= logging.ERROR]


async def works() -> None:
    """Open a memory with a listener that fails, and let it accept, deliver and answer."""
    async with open_in_process(metrics=Failing()) as memory:
        desk = memory.view("marketing", session="s1")
        await desk.remember("The depot opens at six")
        delivered = await memory.settled(timeout=GUARD)
        found = await desk.recall("When does the depot open?")
        status = await memory.status()

    assert delivered
    assert (status.spool.accepted, status.delivered) == (1, 1)
    assert [hit.row.content for hit in found.hits] == ["The depot opens at six"]


async def test_a_memory_whose_listener_and_tracer_fail_does_all_it_is_asked_once(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def span(_self: OpenTelemetryTracer, _timing: Timing) -> AbstractContextManager[None]:
        raise RuntimeError("of the tracer")

    monkeypatch.setattr(OpenTelemetryTracer, "span", span)
    await works()

    assert sorted(name.rpartition(".")[2] for name in let_go(caplog)) == ["Failing", "OpenTelemetryTracer"]


async def test_a_memory_opens_beside_a_release_of_opentelemetry_whose_calls_differ(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.INFO, "hermes_memory.bootstrap.exposing")
    monkeypatch.setattr(opentelemetry, "_of_the_process", [])
    monkeypatch.setattr(metrics, "get_meter", OldMeter)
    await works()

    missing = [record for record in caplog.records if getattr(record, "action", "") == "telemetry.missing"]
    assert [record.__dict__["cause"] for record in missing] == ["TypeError"]
    assert [name.rpartition(".")[2] for name in let_go(caplog)] == ["Failing"]
