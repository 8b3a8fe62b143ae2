"""The adapter keeps the contract of its port: the suite comes with the library."""

from __future__ import annotations

from collections.abc import Mapping

from line_metrics import LineMetrics

from hermes_memory.ports.metrics import Metric, Metrics
from hermes_memory.testing.metrics_contract import MetricsContract


class TestLineMetrics(MetricsContract):
    """All tests are inherited."""

    def make_metrics(self) -> Metrics:
        return LineMetrics()

    def shown(self, metrics: Metrics) -> Mapping[Metric, float]:
        assert isinstance(metrics, LineMetrics)
        metrics.file.seek(0)
        shown = [line.split() for line in metrics.file]
        return {Metric(name): float(value) for name, value in shown}
