"""Metrics and spans for OpenTelemetry, by the extra `otel`.

Only its API is used: where the numbers and spans go is decided by the SDK that the program sets up, and without one
they go nowhere.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Final
from weakref import WeakKeyDictionary, WeakValueDictionary

from opentelemetry import metrics, trace
from opentelemetry.metrics import CallbackOptions, Counter, Histogram, MeterProvider, Observation
from opentelemetry.trace import Status, StatusCode, TracerProvider

from hermes_memory.ports.metrics import BUCKETS, Happening, Metric, Timing

SCOPE: Final = "hermes_memory"
PREFIX: Final = "hermes_memory."
MEMORY: Final = "hermes_memory.memory"
"""The attribute that tells the open memories of a process apart: 1 for the first, and so on."""
ERROR_TYPE: Final = "error.type"
"""Of the semantic conventions. The message of an error may quote what was remembered; its kind does not."""

_lock = threading.Lock()


class _Instruments:
    """The instruments of a meter provider. They cannot be taken away again, so all memories of a process share them."""

    def __init__(self, provider: MeterProvider) -> None:
        meter = provider.get_meter(SCOPE)
        self.memories: WeakValueDictionary[int, OpenTelemetryMetrics] = WeakValueDictionary()
        for metric in Metric:
            make = meter.create_observable_counter if metric.counts else meter.create_observable_gauge
            make(f"{PREFIX}{metric.value}", [self._observing(metric)], _unit(metric), metric.help)
        self.times: dict[str, Histogram] = {}
        for timing in Timing:
            if timing.family not in self.times:
                self.times[timing.family] = meter.create_histogram(
                    f"{PREFIX}{timing.family}", "s", timing.help, explicit_bucket_boundaries_advisory=BUCKETS
                )
        self.happened: dict[str, Counter] = {}
        for happening in Happening:
            if happening.family not in self.happened:
                self.happened[happening.family] = meter.create_counter(
                    f"{PREFIX}{happening.family}", "1", happening.help
                )

    def _observing(self, metric: Metric) -> Callable[[CallbackOptions], Iterable[Observation]]:
        return partial(self._observed, metric)

    def _observed(self, metric: Metric, _options: CallbackOptions) -> Sequence[Observation]:
        with _lock:
            memories = dict(self.memories)
        return [
            Observation(memory.readings[metric], {MEMORY: number})
            for number, memory in sorted(memories.items())
            if metric in memory.readings
        ]


_instruments: WeakKeyDictionary[MeterProvider, _Instruments] = WeakKeyDictionary()


class OpenTelemetryMetrics:
    """Hands the numbers of one memory to OpenTelemetry, until it is closed or let go.

    Args:
        provider: Whose meter to use, by default the process's.
    """

    def __init__(self, provider: MeterProvider | None = None) -> None:
        self.readings: Mapping[Metric, float] = {}
        chosen = provider or metrics.get_meter_provider()
        with _lock:
            self._instruments = _instruments.get(chosen) or _instruments.setdefault(chosen, _Instruments(chosen))
            memories = self._instruments.memories
            self._number = next(number for number in range(1, len(memories) + 2) if number not in memories)
            memories[self._number] = self

    def publish(self, readings: Mapping[Metric, float]) -> None:
        """Take the numbers as they are now."""
        self.readings = dict(readings)

    def took(self, timing: Timing, seconds: float) -> None:
        """Record a time."""
        self._instruments.times[timing.family].record(seconds, timing.labels)

    def count(self, happening: Happening) -> None:
        """Count a happening."""
        self._instruments.happened[happening.family].add(1, happening.labels)

    def close(self) -> None:
        """Hand out no numbers any more."""
        with _lock:
            self._instruments.memories.pop(self._number, None)


class OpenTelemetryTracer:
    """Makes spans by OpenTelemetry.

    Args:
        provider: Whose tracer to use, by default the process's.
    """

    def __init__(self, provider: TracerProvider | None = None) -> None:
        self._tracer = trace.get_tracer(SCOPE, tracer_provider=provider)

    @contextmanager
    def span(self, timing: Timing) -> Iterator[None]:
        """Begin and end a span; of an error it tells the kind alone."""
        with self._tracer.start_as_current_span(
            f"{PREFIX}{timing.value}", record_exception=False, set_status_on_exception=False
        ) as span:
            try:
                yield
            except BaseException as error:
                span.set_attribute(ERROR_TYPE, type(error).__name__)
                span.set_status(Status(StatusCode.ERROR))
                raise


def _unit(metric: Metric) -> str:
    if metric.value.endswith("_seconds"):
        return "s"
    return "By" if metric is Metric.SPOOL_BYTES else "1"
