"""Both adapters keep the contract of the metrics port."""

from __future__ import annotations

from collections.abc import Mapping

from prometheus_client import CollectorRegistry

from hermes_memory.adapters.inmemory.metrics import InMemoryMetrics
from hermes_memory.adapters.metrics.prometheus import PREFIX, PrometheusMetrics
from hermes_memory.ports.metrics import Metric, Metrics
from hermes_memory.testing.metrics_contract import MetricsContract


class TestInMemoryMetrics(MetricsContract):
    def make_metrics(self) -> Metrics:
        return InMemoryMetrics()

    def shown(self, metrics: Metrics) -> Mapping[Metric, float]:
        assert isinstance(metrics, InMemoryMetrics)
        return metrics.readings


class TestPrometheusMetrics(MetricsContract):
    def make_metrics(self) -> Metrics:
        self.registry = CollectorRegistry()
        return PrometheusMetrics(self.registry)

    def shown(self, metrics: Metrics) -> Mapping[Metric, float]:
        return {
            Metric(family.name.removeprefix(PREFIX)): sample.value
            for family in self.registry.collect()
            for sample in family.samples
        }
