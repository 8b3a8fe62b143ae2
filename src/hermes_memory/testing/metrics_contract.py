"""Contract of `Metrics`: what was published last is what is shown."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping

import pytest

from hermes_memory.ports.metrics import Metric, Metrics


class MetricsContract(ABC):
    """What every `Metrics` keeps. A subclass says how to make one and how to read what it shows."""

    @abstractmethod
    def make_metrics(self) -> Metrics:
        """Make one that shows nothing yet."""

    @abstractmethod
    def shown(self, metrics: Metrics) -> Mapping[Metric, float]:
        """Return what it shows."""

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
