"""Metrics for Prometheus, by the extra `metrics`."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from itertools import accumulate
from typing import Final

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.core import Metric as Family
from prometheus_client.registry import REGISTRY, Collector, CollectorRegistry

from hermes_memory.ports.metrics import BUCKETS, Happening, Metric, Timing

PREFIX: Final = "hermes_memory_"
_BOUNDS: Final = (*map(str, BUCKETS), "+Inf")


class PrometheusMetrics(Collector):
    """Shows the numbers of one memory in a registry.

    The program serves the registry, for example by `prometheus_client.start_http_server`. Several memories in one
    process need a registry each: their numbers have the same names.

    Times are counted here and not by the client library's own histogram, which takes several times as long for one.

    Args:
        registry: Where to show them, by default the one that the client library serves.
        events: Show times and happenings as well. Whoever only reads what others do has none.

    Raises:
        ValueError: The registry shows a memory already.
    """

    def __init__(self, registry: CollectorRegistry = REGISTRY, *, events: bool = True) -> None:
        self._readings: Mapping[Metric, float] = {}
        self._lock = threading.Lock()
        self._times = {timing: [0.0] * (len(_BOUNDS) + 1) for timing in Timing} if events else {}
        """Of each timing how many there were in each class, and last the sum of all."""
        self._happened = dict.fromkeys(Happening, 0) if events else {}
        self._registry = registry
        registry.register(self)

    def publish(self, readings: Mapping[Metric, float]) -> None:
        """Take the numbers as they are now."""
        self._readings = dict(readings)

    def took(self, timing: Timing, seconds: float) -> None:
        """Count a time in its class."""
        index = bisect_left(BUCKETS, seconds)
        counted = self._times[timing]
        with self._lock:
            counted[index] += 1
            counted[-1] += seconds

    def count(self, happening: Happening) -> None:
        """Count a happening."""
        with self._lock:
            self._happened[happening] += 1

    def describe(self) -> Iterator[Family]:
        """Yield all families without numbers, so that the registry knows their names before there are any."""
        yield from (_family(metric) for metric in Metric)
        yield from self._histograms({})
        yield from self._counters({})

    def collect(self) -> Iterator[Family]:
        """Yield the numbers for the registry."""
        for metric, value in self._readings.items():
            family = _family(metric)
            family.add_metric([], value)
            yield family
        with self._lock:
            times = {timing: list(counted) for timing, counted in self._times.items()}
            happened = dict(self._happened)
        yield from self._histograms(times)
        yield from self._counters(happened)

    def close(self) -> None:
        """Take the memory out of the registry."""
        self._registry.unregister(self)

    def _histograms(self, times: Mapping[Timing, list[float]]) -> Iterator[Family]:
        families: dict[str, HistogramMetricFamily] = {}
        for timing in self._times:
            family = families.setdefault(
                timing.family, HistogramMetricFamily(f"{PREFIX}{timing.family}", timing.help, labels=[*timing.labels])
            )
            if counted := times.get(timing):
                classes = [*zip(_BOUNDS, accumulate(counted[:-1]), strict=True)]
                family.add_metric([*timing.labels.values()], classes, counted[-1])
        yield from families.values()

    def _counters(self, happened: Mapping[Happening, int]) -> Iterator[Family]:
        families: dict[str, CounterMetricFamily] = {}
        for happening in self._happened:
            family = families.setdefault(
                happening.family,
                CounterMetricFamily(f"{PREFIX}{happening.family}", happening.help, labels=[*happening.labels]),
            )
            if happening in happened:
                family.add_metric([*happening.labels.values()], happened[happening])
        yield from families.values()


def _family(metric: Metric) -> CounterMetricFamily | GaugeMetricFamily:
    make = CounterMetricFamily if metric.counts else GaugeMetricFamily
    return make(f"{PREFIX}{metric.value}", metric.help)
