"""The numbers of a memory as Prometheus reads them."""

from __future__ import annotations

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from hermes_memory.adapters.metrics.prometheus import PREFIX, PrometheusMetrics
from hermes_memory.ports.metrics import Metric

READINGS = {metric: float(number) for number, metric in enumerate(Metric, start=1)}


def scraped(registry: CollectorRegistry) -> dict[str, tuple[str, float]]:
    """Read a registry as a server does: the type and the value of each sample."""
    families = text_string_to_metric_families(generate_latest(registry).decode())
    found: dict[str, tuple[str, float]] = {}
    for family in families:
        for sample in family.samples:
            assert sample.labels == {}
            found[sample.name] = (family.type, sample.value)
    return found


def test_every_number_is_shown_under_one_name_without_labels() -> None:
    registry = CollectorRegistry()
    PrometheusMetrics(registry).publish(READINGS)

    shown = scraped(registry)

    assert shown == {
        f"{PREFIX}{metric.value}_total" if metric.counts else f"{PREFIX}{metric.value}": (
            "counter" if metric.counts else "gauge",
            value,
        )
        for metric, value in READINGS.items()
    }


def test_nothing_is_shown_before_there_are_numbers_and_the_last_ones_count() -> None:
    registry = CollectorRegistry()
    metrics = PrometheusMetrics(registry)
    before = scraped(registry)
    metrics.publish(READINGS)
    metrics.publish({Metric.SPOOL_DEPTH: 7.0})

    assert before == {}
    assert scraped(registry) == {f"{PREFIX}spool_depth": ("gauge", 7.0)}


def test_two_memories_need_a_registry_each_and_a_closed_one_makes_room() -> None:
    registry = CollectorRegistry()
    first = PrometheusMetrics(registry)

    with pytest.raises(ValueError, match="Duplicated"):
        PrometheusMetrics(registry)
    first.close()
    PrometheusMetrics(registry).publish(READINGS)

    assert len(scraped(registry)) == len(Metric)
