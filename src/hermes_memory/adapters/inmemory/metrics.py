"""Metrics that stay in this process: for tests, and for programs that show them in their own way."""

from __future__ import annotations

from collections.abc import Mapping

from hermes_memory.ports.metrics import Metric


class InMemoryMetrics:
    """Keeps the last numbers in `readings`, empty until there are any. Any thread may read them."""

    def __init__(self) -> None:
        self.readings: Mapping[Metric, float] = {}

    def publish(self, readings: Mapping[Metric, float]) -> None:
        """Take the numbers as they are now."""
        self.readings = dict(readings)
