"""Numbers of the memory as lines of a file, for whoever reads files: an adapter of the port `Metrics`."""

from __future__ import annotations

from collections.abc import Mapping
from io import StringIO
from typing import TextIO

from hermes_memory.ports.metrics import Metric


class LineMetrics:
    """Writes `name value` lines, the latest numbers only.

    Nothing of the library is inherited: the port is a Protocol, and the shape is enough. Hand it to
    `open_memory(metrics=...)`.
    """

    def __init__(self, file: TextIO | None = None) -> None:
        """Write to a file that can be rewound; the caller closes it."""
        self.file = file or StringIO()

    def publish(self, readings: Mapping[Metric, float]) -> None:
        """Put these numbers in the place of those from before."""
        self.file.seek(0)
        self.file.truncate()
        self.file.writelines(f"{metric} {value}\n" for metric, value in readings.items())
        self.file.flush()
