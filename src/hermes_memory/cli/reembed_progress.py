"""Shows how far the change of an embedding model has come: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Final

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as Bars

from hermes_memory.application.reembed_progress import Step

LINE_SECONDS: Final = 10.0


class ShownBars:
    """`Progress` on a terminal, standard error by default. A context manager."""

    def __init__(self, console: Console | None = None) -> None:
        self._bars = Bars(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("left:"),
            TimeRemainingColumn(),
            console=console or Console(stderr=True),
            transient=True,
        )
        self._task: TaskID | None = None

    def begin(self, step: Step, total: int | None) -> None:
        """Begin a step; see `Progress.begin`."""
        if self._task is not None:
            self._bars.remove_task(self._task)
        self._task = self._bars.add_task(step.value, total=total)

    def reach(self, done: int, total: int | None = None) -> None:
        """Note how much is done; see `Progress.reach`."""
        if self._task is not None:
            self._bars.update(self._task, completed=done, total=total)

    def __enter__(self) -> ShownBars:
        self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bars.stop()


class ShownLines:
    """`Progress` where nobody watches: a line for each step, and one every ten seconds. A context manager."""

    def __init__(self) -> None:
        self._step = Step.MEASURE
        self._total: int | None = None
        self._began = self._told = time.monotonic()

    def begin(self, step: Step, total: int | None) -> None:
        """Begin a step; see `Progress.begin`."""
        self._step, self._total = step, total
        self._began = self._told = time.monotonic()
        self._say(f"{step}: {total:,} rows wait" if total else step.value)

    def reach(self, done: int, total: int | None = None) -> None:
        """Note how much is done; see `Progress.reach`."""
        self._total = total or self._total
        now = time.monotonic()
        if now - self._told >= LINE_SECONDS:
            self._told = now
            self._say(progress_line(self._step, done, self._total, now - self._began))

    def _say(self, line: str) -> None:
        if sys.stderr:
            print(line, file=sys.stderr, flush=True)

    def __enter__(self) -> ShownLines:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nothing is left to put away."""


def progress_line(step: Step, done: int, total: int | None, seconds: float) -> str:
    """Return how far a step has come in some seconds.

    >>> progress_line(Step.EMBED, 1_000, 5_000, 10.0)
    'embedding: 1,000 of 5,000, 100 a second, about 40 s left'
    """
    pace = done / seconds if seconds else 0.0
    if total is None:
        return f"{step}: {done:,}"
    left = f", {pace:,.0f} a second, about {(total - done) / pace:,.0f} s left" if pace else ""
    return f"{step}: {done:,} of {total:,}{left}"


def shown() -> ShownBars | ShownLines:
    """Return what fits where standard error goes."""
    watched = sys.stderr is not None and sys.stderr.isatty()
    return ShownBars() if watched else ShownLines()
