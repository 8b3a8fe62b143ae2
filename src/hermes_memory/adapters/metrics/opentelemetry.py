"""Metrics and spans for OpenTelemetry, by the extra `otel`.

Only its API is used: where the numbers and spans go is decided by the SDK that the program sets up, and without one
they go nowhere.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from typing import Final
from weakref import WeakKeyDictionary, WeakValueDictionary

from opentelemetry import metrics, trace
from opentelemetry.metrics import CallbackOptions, Counter, Histogram, Meter, MeterProvider, Observation
from opentelemetry.trace import Status, StatusCode, TracerProvider

from hermes_memory.ports.metrics import BUCKETS, Happening, Metric, Timing

SCOPE: Final = "hermes_memory"
PREFIX: Final = "hermes_memory."
MEMORY: Final = "hermes_memory.memory"
"""The attribute that tells the open memories of a process apart: 1 for the first, and so on."""
ERROR_TYPE: Final = "error.type"
"""Of the semantic conventions. The message of an error may quote what was remembered; its kind does not."""

LOOK_SECONDS: Final = 1.0
"""How often to look whether the program has set up an SDK meanwhile. Without one a span costs and tells nothing."""
_UNTRACED: Final = nullcontext()

_lock = threading.Lock()


class _Instruments:
    """The instruments of a meter. They cannot be taken away again, so all memories of a process share them."""

    def __init__(self, meter: Meter) -> None:
        self.memories: WeakValueDictionary[int, OpenTelemetryMetrics] = WeakValueDictionary()
        for metric in Metric:
            make = meter.create_observable_counter if metric.counts else meter.create_observable_gauge
            make(f"{PREFIX}{metric.value}", [self._observing(metric)], _unit(metric), metric.help)
        histograms = {
            family: meter.create_histogram(f"{PREFIX}{family}", "s", text, explicit_bucket_boundaries_advisory=BUCKETS)
            for family, text in {timing.family: timing.help for timing in Timing}.items()
        }
        counters = {
            family: meter.create_counter(f"{PREFIX}{family}", "1", text)
            for family, text in {happening.family: happening.help for happening in Happening}.items()
        }
        self.times: Mapping[Timing, tuple[Histogram, Mapping[str, str]]] = {
            timing: (histograms[timing.family], timing.labels) for timing in Timing
        }
        self.happened: Mapping[Happening, tuple[Counter, Mapping[str, str]]] = {
            happening: (counters[happening.family], happening.labels) for happening in Happening
        }

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
_of_the_process: list[_Instruments] = []
"""At most one: made before an SDK is set up or after it, they lead there."""


def _instruments_of(provider: MeterProvider | None) -> _Instruments:
    if provider is not None:
        return _instruments.get(provider) or _instruments.setdefault(provider, _Instruments(provider.get_meter(SCOPE)))
    if not _of_the_process:
        _of_the_process.append(_Instruments(metrics.get_meter(SCOPE)))
    return _of_the_process[0]


class OpenTelemetryMetrics:
    """Hands the numbers of one memory to OpenTelemetry, until it is closed or let go.

    Args:
        provider: Whose meter to use, by default the process's.
    """

    def __init__(self, provider: MeterProvider | None = None) -> None:
        self.readings: Mapping[Metric, float] = {}
        with _lock:
            self._instruments = _instruments_of(provider)
            memories = self._instruments.memories
            self._number = next(number for number in range(1, len(memories) + 2) if number not in memories)
            memories[self._number] = self
        self._given = provider is not None

    def wanted(self) -> bool:
        """Tell whether an SDK is set up that would take numbers anywhere."""
        return self._given or _set_up(metrics.get_meter_provider())

    def publish(self, readings: Mapping[Metric, float]) -> None:
        """Take the numbers as they are now."""
        self.readings = dict(readings)

    def took(self, timing: Timing, seconds: float) -> None:
        """Record a time."""
        histogram, labels = self._instruments.times[timing]
        histogram.record(seconds, labels)

    def count(self, happening: Happening) -> None:
        """Count a happening."""
        counter, labels = self._instruments.happened[happening]
        counter.add(1, labels)

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
        self._awake = provider is not None
        self._look_at = 0.0

    def span(self, timing: Timing) -> AbstractContextManager[None]:
        """Return what begins and ends a span; of an error it tells the kind alone."""
        return self._span(timing) if self._awake or self._woken() else _UNTRACED

    def _woken(self) -> bool:
        if (now := time.monotonic()) >= self._look_at:
            self._look_at = now + LOOK_SECONDS
            self._awake = _set_up(trace.get_tracer_provider())
        return self._awake

    @contextmanager
    def _span(self, timing: Timing) -> Iterator[None]:
        with self._tracer.start_as_current_span(
            f"{PREFIX}{timing.value}", record_exception=False, set_status_on_exception=False
        ) as span:
            try:
                yield
            except BaseException as error:
                span.set_attribute(ERROR_TYPE, type(error).__name__)
                span.set_status(Status(StatusCode.ERROR))
                raise


def _set_up(provider: object) -> bool:
    """Tell a provider of an SDK from those of the API itself, which stand in for one and take nothing anywhere."""
    return not type(provider).__module__.startswith(("opentelemetry.metrics", "opentelemetry.trace"))


def _unit(metric: Metric) -> str:
    if metric.value.endswith("_seconds"):
        return "s"
    return "By" if metric is Metric.SPOOL_BYTES else "1"


def _unlock_in_child() -> None:
    global _lock  # noqa: PLW0603 - the thread that may hold it does not exist in the child
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_unlock_in_child)
