"""Numbers of the memory as lines of text, for whoever reads text: an adapter of the port `Metrics`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from threading import Lock

from hermes_memory.ports.metrics import Happening, Metric, Timing


class LineMetrics:
    """Keeps the numbers and writes them as `name value` lines when asked.

    Nothing of the library is inherited: the port is a Protocol, and the shape is enough. Hand it to
    `open_memory(metrics=...)`.
    """

    def __init__(self) -> None:
        self.readings: Mapping[Metric, float] = {}
        self.times: dict[Timing, tuple[int, float]] = {}
        self.happened: Counter[Happening] = Counter()
        # Whoever writes or asks tells how long it took, on whichever thread that was.
        self._lock = Lock()

    def publish(self, readings: Mapping[Metric, float]) -> None:
        """Put these numbers in the place of those from before."""
        self.readings = dict(readings)

    def took(self, timing: Timing, seconds: float) -> None:
        """Add up how often something took time, and how much."""
        with self._lock:
            number, total = self.times.get(timing, (0, 0.0))
            self.times[timing] = number + 1, total + seconds

    def count(self, happening: Happening) -> None:
        """Add up how often something happened."""
        with self._lock:
            self.happened[happening] += 1

    def lines(self) -> Iterator[str]:
        """Yield all numbers as they are now."""
        for metric, value in self.readings.items():
            yield f"{metric} {value:g}"
        for timing, (number, total) in self.times.items():
            yield f"{timing}_count {number}"
            yield f"{timing}_seconds {total:.6f}"
        for happening, number in self.happened.items():
            yield f"{happening} {number}"
