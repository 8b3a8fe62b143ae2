"""All adapters keep the contract of the metrics port."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import HistogramDataPoint, InMemoryMetricReader, NumberDataPoint
from prometheus_client import CollectorRegistry
from prometheus_client.samples import Sample

from hermes_memory.adapters.inmemory.metrics import InMemoryMetrics
from hermes_memory.adapters.metrics import opentelemetry, prometheus
from hermes_memory.adapters.metrics.opentelemetry import OpenTelemetryMetrics
from hermes_memory.adapters.metrics.prometheus import PrometheusMetrics
from hermes_memory.ports.metrics import Happening, Metric, Metrics, Timing
from hermes_memory.testing.metrics_contract import MetricsContract


class TestInMemoryMetrics(MetricsContract):
    def make_metrics(self) -> Metrics:
        return InMemoryMetrics()

    def shown(self, metrics: Metrics) -> Mapping[Metric, float]:
        assert isinstance(metrics, InMemoryMetrics)
        return metrics.readings

    def times(self, metrics: Metrics) -> Mapping[Timing, tuple[int, float]]:
        assert isinstance(metrics, InMemoryMetrics)
        told: dict[Timing, list[float]] = defaultdict(list)
        for timing, seconds in metrics.times:
            told[timing].append(seconds)
        return {timing: (len(each), sum(each)) for timing, each in told.items()}

    def happened(self, metrics: Metrics) -> Mapping[Happening, int]:
        assert isinstance(metrics, InMemoryMetrics)
        return metrics.happened


class TestPrometheusMetrics(MetricsContract):
    def make_metrics(self) -> Metrics:
        self.registry = CollectorRegistry()
        return PrometheusMetrics(self.registry)

    def shown(self, metrics: Metrics) -> Mapping[Metric, float]:
        names = {f"{prometheus.PREFIX}{metric.value}{'_total' if metric.counts else ''}": metric for metric in Metric}
        return {names[sample.name]: sample.value for sample in self._samples() if sample.name in names}

    def times(self, metrics: Metrics) -> Mapping[Timing, tuple[int, float]]:
        values = {(sample.name, *sample.labels.values()): sample.value for sample in self._samples()}
        found = {}
        for timing in Timing:
            name, labels = f"{prometheus.PREFIX}{timing.family}", timing.labels.values()
            found[timing] = (int(values[f"{name}_count", *labels]), values[f"{name}_sum", *labels])
        return {timing: counted for timing, counted in found.items() if counted[0]}

    def happened(self, metrics: Metrics) -> Mapping[Happening, int]:
        values = {(sample.name, *sample.labels.values()): sample.value for sample in self._samples()}
        names = {
            happening: (f"{prometheus.PREFIX}{happening.family}_total", *happening.labels.values())
            for happening in Happening
        }
        return {happening: int(values[name]) for happening, name in names.items() if values[name]}

    def _samples(self) -> Iterator[Sample]:
        for family in self.registry.collect():
            yield from family.samples


class TestOpenTelemetryMetrics(MetricsContract):
    def make_metrics(self) -> Metrics:
        self.reader = InMemoryMetricReader()
        self.provider = MeterProvider([self.reader])
        return OpenTelemetryMetrics(self.provider)

    def shown(self, metrics: Metrics) -> Mapping[Metric, float]:
        names = {f"{opentelemetry.PREFIX}{metric.value}": metric for metric in Metric}
        return {
            names[name]: point.value
            for name, point in self._points()
            if name in names and isinstance(point, NumberDataPoint)
        }

    def times(self, metrics: Metrics) -> Mapping[Timing, tuple[int, float]]:
        names: dict[tuple[str, ...], Timing] = {
            (f"{opentelemetry.PREFIX}{timing.family}", *timing.labels.values()): timing for timing in Timing
        }
        return {
            names[_named(name, point)]: (point.count, point.sum)
            for name, point in self._points()
            if isinstance(point, HistogramDataPoint)
        }

    def happened(self, metrics: Metrics) -> Mapping[Happening, int]:
        names: dict[tuple[str, ...], Happening] = {
            (f"{opentelemetry.PREFIX}{each.family}", *each.labels.values()): each for each in Happening
        }
        return {
            names[key]: int(point.value)
            for name, point in self._points()
            if isinstance(point, NumberDataPoint) and (key := _named(name, point)) in names
        }

    def _points(self) -> Iterator[tuple[str, NumberDataPoint | HistogramDataPoint]]:
        told = self.reader.get_metrics_data()
        for resource in told.resource_metrics if told else ():
            for scope in resource.scope_metrics:
                for metric in scope.metrics:
                    for point in metric.data.data_points:
                        assert isinstance(point, NumberDataPoint | HistogramDataPoint)
                        yield metric.name, point


def _named(name: str, point: NumberDataPoint | HistogramDataPoint) -> tuple[str, ...]:
    return (name, *(str(value) for value in (point.attributes or {}).values()))
