"""Passing on what is measured."""

from __future__ import annotations

import pytest

from hermes_memory.adapters.inmemory.metrics import InMemoryMetrics, InMemoryTracer
from hermes_memory.application.degradation import Degradation
from hermes_memory.application.telemetry import Telemetry
from hermes_memory.domain.errors import StoreUnavailable
from hermes_memory.ports.metrics import Happening, Metric, Timing


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


def test_every_way_in_which_an_answer_is_degraded_is_counted_under_its_reason() -> None:
    reasons = {degradation: degradation.happening for degradation in Degradation}

    assert {happening.family for happening in reasons.values()} == {"degraded_answers"}
    assert set(reasons.values()) == {happening for happening in Happening if happening.family == "degraded_answers"}


def test_every_number_has_a_sentence_that_says_what_it_is() -> None:
    named = [*Metric, *Timing, *Happening]

    assert all(each.help.endswith(".") for each in named)
    assert len({metric.help for metric in Metric}) == len(Metric)
