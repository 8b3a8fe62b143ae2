"""The numbers of a memory as Prometheus reads them."""

from __future__ import annotations

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from hermes_memory.adapters.metrics.prometheus import PREFIX, PrometheusMetrics
from hermes_memory.ports.metrics import BUCKETS, Happening, Metric, Timing

READINGS = {metric: float(number) for number, metric in enumerate(Metric, start=1)}


def scraped(registry: CollectorRegistry) -> list[tuple[str, Sample]]:
    """Read a registry as a server does: the type and the value of each sample."""
    families = text_string_to_metric_families(generate_latest(registry).decode())
    return [(family.type, sample) for family in families for sample in family.samples]


def plain(registry: CollectorRegistry) -> dict[str, tuple[str, float]]:
    """Return what has no label, but for the sums and counts of times."""
    return {
        sample.name: (kind, sample.value)
        for kind, sample in scraped(registry)
        if not sample.labels and kind != "histogram"
    }


def test_every_number_is_shown_under_one_name_without_labels() -> None:
    registry = CollectorRegistry()
    PrometheusMetrics(registry).publish(READINGS)

    shown = plain(registry)

    assert shown == {
        f"{PREFIX}{metric.value}_total" if metric.counts else f"{PREFIX}{metric.value}": (
            "counter" if metric.counts else "gauge",
            value,
        )
        for metric, value in READINGS.items()
    }


def test_no_number_is_shown_before_there_is_one_and_the_last_ones_count() -> None:
    registry = CollectorRegistry()
    metrics = PrometheusMetrics(registry)
    before = plain(registry)
    metrics.publish(READINGS)
    metrics.publish({Metric.SPOOL_DEPTH: 7.0})

    assert before == {}
    assert plain(registry) == {f"{PREFIX}spool_depth": ("gauge", 7.0)}


def test_times_fall_into_classes_and_all_classes_are_there_from_the_start() -> None:
    registry = CollectorRegistry()
    metrics = PrometheusMetrics(registry)
    before = {(sample.name, *sample.labels.values()) for _, sample in scraped(registry)}
    for seconds in (0.001, 0.0011, 9.0, 3600.0):
        metrics.took(Timing.RECALL_TEXT, seconds)
    after = {(sample.name, *sample.labels.values()): sample.value for _, sample in scraped(registry)}
    name = f"{PREFIX}recall_stage_seconds"
    classes = {bound: after[f"{name}_bucket", bound, "text"] for bound in ("0.001", "0.0025", "5.0", "10.0", "+Inf")}

    assert before == set(after)
    assert classes == {"0.001": 1, "0.0025": 2, "5.0": 2, "10.0": 3, "+Inf": 4}
    assert after[f"{name}_sum", "text"] == pytest.approx(3609.0021)
    assert after[f"{name}_count", "vector"] == 0


def test_how_many_series_there_are_does_not_depend_on_what_happens() -> None:
    registry = CollectorRegistry()
    metrics = PrometheusMetrics(registry)
    metrics.publish(READINGS)
    first = {(sample.name, *sample.labels.values()) for _, sample in scraped(registry)}
    for timing in Timing:
        metrics.took(timing, 1.0)
    for happening in Happening:
        metrics.count(happening)
    then = {(sample.name, *sample.labels.values()) for _, sample in scraped(registry)}

    assert first == then
    assert len(then) == len(Metric) + len(Happening) + len(Timing) * (len(BUCKETS) + 3)


def test_who_only_reads_what_others_do_shows_no_times_and_no_happenings() -> None:
    registry = CollectorRegistry()
    PrometheusMetrics(registry, events=False).publish({Metric.SPOOL_DEPTH: 7.0})

    assert [sample.name for _, sample in scraped(registry)] == [f"{PREFIX}spool_depth"]


def test_two_memories_need_a_registry_each_and_a_closed_one_makes_room() -> None:
    registry = CollectorRegistry()
    first = PrometheusMetrics(registry)

    with pytest.raises(ValueError, match="Duplicated"):
        PrometheusMetrics(registry)
    first.close()
    PrometheusMetrics(registry).publish(READINGS)

    assert len(plain(registry)) == len(Metric)
