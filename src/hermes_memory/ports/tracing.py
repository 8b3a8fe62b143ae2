"""Handing out spans: what happens inside of what, for whoever follows a request through a fleet."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Protocol

from hermes_memory.ports.metrics import Timing


class Tracer(Protocol):
    """Makes spans. A span has the name of what is timed and, if it failed, the kind of the error; nothing else."""

    def span(self, timing: Timing) -> AbstractContextManager[None]:
        """Return what begins a span when entered and ends it when left, within the span that is open there.

        Any thread may call. It must not block, and raises nothing of its own.
        """
        ...
