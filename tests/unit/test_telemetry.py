"""Passing on what is measured."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import NoReturn, cast

import pytest

from hermes_memory.adapters.inmemory.metrics import InMemoryMetrics, InMemoryTracer
from hermes_memory.application.degradation import Degradation
from hermes_memory.application.telemetry import Telemetry
from hermes_memory.domain.errors import StoreUnavailable
from hermes_memory.ports.metrics import Happening, Metric, Metrics, Timing


def test_while_nobody_listens_nothing_is_made_for_a_block() -> None:
    telemetry = Telemetry()

    assert telemetry.timed(Timing.ACCEPT) is telemetry.timed(Timing.RECALL)
    assert not telemetry.measured


def test_all_who_listen_are_told_the_same_and_who_left_nothing() -> None:
    telemetry, here, there, gone = Telemetry(), InMemoryMetrics(), InMemoryMetrics(), InMemoryMetrics()
    for listener in (here, gone, there):
        telemetry.attach(listener)
    telemetry.detach(gone)
    telemetry.detach(InMemoryMetrics())
    telemetry.publish({Metric.SPOOL_DEPTH: 3.0})
    telemetry.took(Timing.POOL_WAIT, 0.5)
    telemetry.count(Happening.REFUSED_FULL)

    assert here.readings == there.readings == {Metric.SPOOL_DEPTH: 3.0}
    assert here.times == there.times == [(Timing.POOL_WAIT, 0.5)]
    assert here.happened == there.happened == {Happening.REFUSED_FULL: 1}
    assert (gone.readings, gone.times) == ({}, [])


def test_nothing_is_read_for_who_wants_no_numbers_now() -> None:
    telemetry, wants = Telemetry(), [False]
    telemetry.attach(InMemoryMetrics(), wants=lambda: wants[0])
    before = telemetry.measured
    wants[0] = True

    assert (before, telemetry.measured) == (False, True)


def test_a_block_that_fails_is_timed_and_traced_and_fails_on() -> None:
    telemetry, metrics, tracer = Telemetry(), InMemoryMetrics(), InMemoryTracer()
    telemetry.attach(metrics)
    telemetry.follow(tracer)
    with pytest.raises(StoreUnavailable), telemetry.timed(Timing.DELIVERY):
        raise StoreUnavailable("away")
    telemetry.unfollow(tracer)
    with telemetry.timed(Timing.DELIVERY):
        pass

    assert [timing for timing, _ in metrics.times] == [Timing.DELIVERY] * 2
    assert tracer.spans == [(Timing.DELIVERY, None, "StoreUnavailable")]


def test_who_comes_while_a_block_is_under_way_hears_of_its_end() -> None:
    telemetry, first, second, tracer = Telemetry(), InMemoryMetrics(), InMemoryMetrics(), InMemoryTracer()
    telemetry.attach(first)
    with telemetry.timed(Timing.RECALL):
        telemetry.attach(second)
        telemetry.follow(tracer)

    assert len(first.times) == len(second.times) == 1
    assert tracer.spans == []


class Broken:
    """A listener and tracer that fails at whatever it is told, and counts how often it was."""

    def __init__(self, *, late: bool = False) -> None:
        self.told = 0
        self._late = late

    def publish(self, readings: Mapping[Metric, float]) -> None:
        self._fail()

    def took(self, timing: Timing, seconds: float) -> None:
        self._fail()

    def count(self, happening: Happening) -> None:
        self._fail()

    def wants(self) -> bool:
        self._fail()

    def span(self, timing: Timing) -> AbstractContextManager[None]:
        return self if self._late else self._fail()

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        self._fail()

    def _fail(self) -> NoReturn:
        self.told += 1
        raise RuntimeError("of the listener")


@pytest.mark.parametrize("act", ["publish", "took", "count"])
def test_a_listener_that_raises_is_let_go_and_the_others_are_told(act: str, caplog: pytest.LogCaptureFixture) -> None:
    telemetry, broken, sound = Telemetry(), Broken(), InMemoryMetrics()
    telemetry.attach(broken)
    telemetry.attach(sound)
    acts = {
        "publish": lambda: telemetry.publish({Metric.SPOOL_DEPTH: 1.0}),
        "took": lambda: telemetry.took(Timing.POOL_WAIT, 0.5),
        "count": lambda: telemetry.count(Happening.REFUSED_FULL),
    }
    for _ in range(2):
        acts[act]()

    assert broken.told == 1
    assert (sound.readings, len(sound.times), sound.happened.total()) == {
        "publish": ({Metric.SPOOL_DEPTH: 1.0}, 0, 0),
        "took": ({}, 2, 0),
        "count": ({}, 0, 2),
    }[act]
    assert [record.levelno for record in caplog.records] == [logging.ERROR]


def test_a_listener_that_lacks_what_it_is_told_by_is_let_go(caplog: pytest.LogCaptureFixture) -> None:
    telemetry = Telemetry()
    telemetry.attach(cast("Metrics", object()))
    telemetry.count(Happening.REFUSED_FULL)
    telemetry.count(Happening.REFUSED_FULL)

    assert [record.levelno for record in caplog.records] == [logging.ERROR]


def test_a_listener_that_cannot_say_whether_it_wants_numbers_gets_none(caplog: pytest.LogCaptureFixture) -> None:
    telemetry, broken = Telemetry(), Broken()
    telemetry.attach(broken, wants=broken.wants)

    assert not telemetry.measured
    assert not telemetry.measured
    assert (broken.told, len(caplog.records)) == (1, 1)


@pytest.mark.parametrize("late", [False, True])
def test_a_tracer_that_raises_is_let_go_and_the_block_ends_as_it_would(late: bool) -> None:
    telemetry, metrics, broken, sound = Telemetry(), InMemoryMetrics(), Broken(late=late), InMemoryTracer()
    telemetry.attach(metrics)
    for tracer in (broken, sound):
        telemetry.follow(tracer)
    with telemetry.timed(Timing.ACCEPT):
        pass
    with pytest.raises(StoreUnavailable), telemetry.timed(Timing.DELIVERY):
        raise StoreUnavailable("away")

    assert broken.told == 1
    assert [timing for timing, _ in metrics.times] == [Timing.ACCEPT, Timing.DELIVERY]
    assert sound.spans == [(Timing.ACCEPT, None, None), (Timing.DELIVERY, None, "StoreUnavailable")]


class PassesOn:
    """A tracer whose span raises the block's error again, which the protocol of blocks leaves open."""

    def span(self, timing: Timing) -> AbstractContextManager[None]:
        return self

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is not None:
            raise error


@pytest.mark.parametrize("error", [StoreUnavailable("away"), asyncio.CancelledError()])
def test_a_span_that_passes_on_the_error_of_its_block_is_no_failure_of_the_tracer(
    error: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    telemetry, sound = Telemetry(), InMemoryTracer()
    for tracer in (sound, PassesOn()):
        telemetry.follow(tracer)
    for _ in range(2):
        with pytest.raises(type(error)), telemetry.timed(Timing.DELIVERY):
            raise error

    assert caplog.records == []
    assert sound.spans == [(Timing.DELIVERY, None, type(error).__name__)] * 2


def test_every_way_in_which_an_answer_is_degraded_is_counted_under_its_reason() -> None:
    reasons = {degradation: degradation.happening for degradation in Degradation}

    assert {happening.family for happening in reasons.values()} == {"degraded_answers"}
    assert set(reasons.values()) == {happening for happening in Happening if happening.family == "degraded_answers"}


def test_every_number_has_a_sentence_that_says_what_it_is() -> None:
    named = [*Metric, *Timing, *Happening]

    assert all(each.help.endswith(".") for each in named)
    assert len({metric.help for metric in Metric}) == len(Metric)
