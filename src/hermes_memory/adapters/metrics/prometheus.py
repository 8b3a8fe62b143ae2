"""Metrics for Prometheus, by the extra `metrics`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.core import Metric as Family
from prometheus_client.registry import REGISTRY, Collector, CollectorRegistry

from hermes_memory.ports.metrics import Metric

PREFIX: Final = "hermes_memory_"
_HELP: Final[Mapping[Metric, str]] = {
    Metric.SPOOL_ACCEPTED: "Writes accepted by this home, ever.",
    Metric.SPOOL_DELIVERED: "Writes of this home that had their effect, ever.",
    Metric.SPOOL_BURIED: "Writes of this home that became dead letters, ever.",
    Metric.SPOOL_DISCARDED: "Writes of this home that an operator dropped undelivered, ever.",
    Metric.SPOOL_REFUSED: "Writes refused by this home because of a bound, ever.",
    Metric.SPOOL_DEPTH: "Writes of this home that wait.",
    Metric.SPOOL_DEAD: "Dead letters of this home.",
    Metric.SPOOL_BYTES: "Bytes of the writes of this home that wait.",
    Metric.SPOOL_FILL: "Share of the spool's tighter bound that is taken.",
    Metric.SPOOL_OLDEST_AGE: "Seconds that the oldest write has waited.",
    Metric.SPOOL_QUARANTINED: "Damaged spool files set aside.",
    Metric.SECRETS_REDACTED: "Secrets in whose place this home kept a mark, ever.",
    Metric.SECRETS_REFUSED: "Secrets because of which this home did not keep a text, ever.",
    Metric.LEADER: "1 while this process delivers for its home.",
    Metric.DELIVERED: "Writes delivered by this process.",
    Metric.POSTPONED: "Times that this process held a write back because the store was too busy for it.",
    Metric.BATCH: "Writes that this process's next transaction may take.",
    Metric.EMBEDDED: "Rows embedded by this process.",
    Metric.PARKED: "Rows set aside by this process because the embedder refuses them.",
    Metric.STORE_BREAKER_OPEN: "1 while the store is left alone because it did not answer.",
    Metric.EMBED_BREAKER_OPEN: "1 while the embedder is left alone because it did not answer.",
    Metric.DEGRADED: "1 while anything is wrong.",
}


class PrometheusMetrics(Collector):
    """Shows the numbers of one memory in a registry.

    The program serves the registry, for example by `prometheus_client.start_http_server`. Several memories in one
    process need a registry each: their numbers have the same names.

    Args:
        registry: Where to show them, by default the one that the client library serves.

    Raises:
        ValueError: The registry shows a memory already.
    """

    def __init__(self, registry: CollectorRegistry = REGISTRY) -> None:
        self._readings: Mapping[Metric, float] = {}
        self._registry = registry
        registry.register(self)

    def publish(self, readings: Mapping[Metric, float]) -> None:
        """Take the numbers as they are now."""
        self._readings = dict(readings)

    def describe(self) -> Iterator[Family]:
        """Yield all families without numbers, so that the registry knows their names before there are any."""
        return (_family(metric) for metric in Metric)

    def collect(self) -> Iterator[Family]:
        """Yield the numbers for the registry."""
        for metric, value in self._readings.items():
            family = _family(metric)
            family.add_metric([], value)
            yield family

    def close(self) -> None:
        """Take the memory out of the registry."""
        self._registry.unregister(self)


def _family(metric: Metric) -> CounterMetricFamily | GaugeMetricFamily:
    make = CounterMetricFamily if metric.counts else GaugeMetricFamily
    return make(f"{PREFIX}{metric.value}", _HELP[metric])
