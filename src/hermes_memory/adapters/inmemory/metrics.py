"""Metrics and spans that stay in this process: for tests, and for programs that show them in their own way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from hermes_memory.ports.metrics import Happening, Metric, Timing

_open: Final[ContextVar[Timing | None]] = ContextVar("hermes_memory_open_span", default=None)


class InMemoryMetrics:
    """Keeps the last numbers in `readings`, and every time and happening. Any thread may read them."""

    def __init__(self) -> None:
        self.readings: Mapping[Metric, float] = {}
        self.times: list[tuple[Timing, float]] = []
        self.happened: Counter[Happening] = Counter()

    def publish(self, readings: Mapping[Metric, float]) -> None:
        """Take the numbers as they are now."""
        self.readings = dict(readings)

    def took(self, timing: Timing, seconds: float) -> None:
        """Keep a time."""
        self.times.append((timing, seconds))

    def count(self, happening: Happening) -> None:
        """Count a happening."""
        self.happened[happening] += 1


class InMemoryTracer:
    """Keeps each span that ended: its name, that of the span around it, and the kind of its error, None without one."""

    def __init__(self) -> None:
        self.spans: list[tuple[Timing, Timing | None, str | None]] = []

    @contextmanager
    def span(self, timing: Timing) -> Iterator[None]:
        """Begin and end a span."""
        around, token, failure = _open.get(), _open.set(timing), None
        try:
            yield
        except BaseException as error:
            failure = type(error).__name__
            raise
        finally:
            _open.reset(token)
            self.spans.append((timing, around, failure))
