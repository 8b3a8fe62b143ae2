"""Contract of `Metrics`: what was published last is shown, and what happened adds up."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Mapping

import pytest

from hermes_memory.ports.metrics import Happening, Metric, Metrics, Timing


class MetricsContract(ABC):
    """What every `Metrics` keeps. A subclass says how to make one and how to read what it shows."""

    @abstractmethod
    def make_metrics(self) -> Metrics:
        """Make one that shows nothing yet."""

    @abstractmethod
    def shown(self, metrics: Metrics) -> Mapping[Metric, float]:
        """Return the numbers it shows of those that are published."""

    @abstractmethod
    def times(self, metrics: Metrics) -> Mapping[Timing, tuple[int, float]]:
        """Return how often each thing took time, and how much in all; what never happened may be left out."""

    @abstractmethod
    def happened(self, metrics: Metrics) -> Mapping[Happening, int]:
        """Return how often each thing happened; what never did may be left out."""

    @pytest.fixture
    def metrics(self) -> Metrics:
        """Return one that shows nothing yet."""
        return self.make_metrics()

    def test_nothing_is_shown_before_there_is_anything(self, metrics: Metrics) -> None:
        assert self.shown(metrics) == {}

    def test_all_that_is_published_is_shown(self, metrics: Metrics) -> None:
        readings = {metric: float(number) for number, metric in enumerate(Metric)}

        metrics.publish(readings)

        assert self.shown(metrics) == readings

    def test_what_is_published_later_replaces_all_from_before(self, metrics: Metrics) -> None:
        metrics.publish({Metric.SPOOL_DEPTH: 3.0, Metric.SPOOL_DEAD: 1.0})
        metrics.publish({Metric.SPOOL_DEPTH: 2.0})

        assert self.shown(metrics) == {Metric.SPOOL_DEPTH: 2.0}

    def test_what_becomes_of_the_readings_afterwards_does_not_matter(self, metrics: Metrics) -> None:
        readings = {Metric.SPOOL_DEPTH: 3.0}
        metrics.publish(readings)
        readings[Metric.SPOOL_DEPTH] = 4.0

        assert self.shown(metrics) == {Metric.SPOOL_DEPTH: 3.0}

    def test_times_are_counted_and_added_up_each_by_itself(self, metrics: Metrics) -> None:
        for number, timing in enumerate(Timing, start=1):
            for _ in range(number):
                metrics.took(timing, 0.5)

        assert self.times(metrics) == {timing: (number, number * 0.5) for number, timing in enumerate(Timing, start=1)}

    def test_happenings_are_counted_each_by_itself(self, metrics: Metrics) -> None:
        for number, happening in enumerate(Happening, start=1):
            for _ in range(number):
                metrics.count(happening)

        assert self.happened(metrics) == {happening: number for number, happening in enumerate(Happening, start=1)}

    def test_times_of_any_length_are_taken(self, metrics: Metrics) -> None:
        for seconds in (0.0, 1e-9, 86_400.0):
            metrics.took(Timing.RECALL, seconds)

        assert self.times(metrics)[Timing.RECALL][0] == 3

    def test_several_threads_may_tell_at_once(self, metrics: Metrics) -> None:
        def tell() -> None:
            for _ in range(500):
                metrics.took(Timing.ACCEPT, 0.25)
                metrics.count(Happening.REFUSED_FULL)

        threads = [threading.Thread(target=tell) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        assert self.times(metrics)[Timing.ACCEPT] == (2_000, 500.0)
        assert self.happened(metrics)[Happening.REFUSED_FULL] == 2_000
