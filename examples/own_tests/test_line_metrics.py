"""The adapter keeps the contract of its port: the suite comes with the library."""

from __future__ import annotations

from collections.abc import Mapping

from line_metrics import LineMetrics

from hermes_memory.ports.metrics import Happening, Metric, Metrics, Timing
from hermes_memory.testing.metrics_contract import MetricsContract


class TestLineMetrics(MetricsContract):
    """All tests are inherited; what is said here is how to make one and how to read it."""

    def make_metrics(self) -> Metrics:
        return LineMetrics()

    def shown(self, metrics: Metrics) -> Mapping[Metric, float]:
        return _lines_of(metrics).readings

    def times(self, metrics: Metrics) -> Mapping[Timing, tuple[int, float]]:
        return _lines_of(metrics).times

    def happened(self, metrics: Metrics) -> Mapping[Happening, int]:
        return _lines_of(metrics).happened


def test_each_number_is_a_line_of_its_own() -> None:
    metrics = LineMetrics()
    metrics.publish({Metric.SPOOL_DEPTH: 2.0})
    metrics.took(Timing.RECALL, 0.5)

    assert list(metrics.lines()) == ["spool_depth 2", "recall_count 1", "recall_seconds 0.500000"]


def _lines_of(metrics: Metrics) -> LineMetrics:
    assert isinstance(metrics, LineMetrics)
    return metrics
