"""How far long work has come: a bar on a terminal, and nothing where nobody watches, unless lines are asked for."""

from __future__ import annotations

import argparse
import sys
import time
from types import TracebackType
from typing import Final

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    Task,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text

LINE_SECONDS: Final = 10.0
BAR_SECONDS: Final = 0.1


class Display:
    """Shows nothing. A context manager, and the `Progress` of a change of model."""

    def __init__(self) -> None:
        self.step = ""
        self.done = 0
        self.total: int | None = None

    def begin(self, step: str, total: int | None) -> None:
        """Begin a step, in the words of an operator; see `Progress.begin`."""
        self.step, self.done, self.total = str(step), 0, total

    def reach(self, done: int, total: int | None = None) -> None:
        """Note how much is done; see `Progress.reach`."""
        self.done = done
        self.total = self.total if total is None else total

    def expect(self, total: int) -> None:
        """Note how much there is to do, once it is known."""
        self.reach(self.done, total)

    def advance(self, count: int) -> None:
        """Note that so much more is done."""
        self.reach(self.done + count)

    def __enter__(self) -> Display:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nothing is left to put away."""


class _Left(TimeRemainingColumn):
    """How long it takes yet, where anybody knows how much there is to do."""

    def render(self, task: Task) -> Text:
        """Return it in words, and nothing where nobody knows."""
        return Text() if task.total is None else Text.assemble("left: ", super().render(task))


class Bars(Display):
    """Shows a bar on a terminal, standard error by default, until the work ends."""

    def __init__(self, console: Console | None = None) -> None:
        super().__init__()
        self._bars = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            _Left(),
            console=console or Console(stderr=True),
            transient=True,
            redirect_stdout=False,
        )
        self._task: TaskID | None = None
        self._drawn = 0.0

    def begin(self, step: str, total: int | None) -> None:
        """Begin a step with a bar of its own."""
        super().begin(step, total)
        if self._task is not None:
            self._bars.remove_task(self._task)
        self._task = self._bars.add_task(self.step, total=total)

    def reach(self, done: int, total: int | None = None) -> None:
        """Note how much is done. A bar that is told of every row is not moved by every row."""
        super().reach(done, total)
        now = time.monotonic()
        if total is not None or now - self._drawn >= BAR_SECONDS:
            self._drawn = now
            self._draw()

    def _draw(self) -> None:
        if self._task is not None:
            self._bars.update(self._task, completed=self.done, total=self.total)

    def __enter__(self) -> Bars:
        self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._draw()
        self._bars.stop()


class Lines(Display):
    """Prints a line for each step on standard error, and one every ten seconds."""

    def __init__(self) -> None:
        super().__init__()
        self._began = self._told = time.monotonic()

    def begin(self, step: str, total: int | None) -> None:
        """Begin a step, and say so."""
        super().begin(step, total)
        self._began = self._told = time.monotonic()
        self._say(f"{self.step}: {total:,} to do" if total else self.step)

    def reach(self, done: int, total: int | None = None) -> None:
        """Note how much is done, and say it now and then."""
        super().reach(done, total)
        now = time.monotonic()
        if now - self._told >= LINE_SECONDS:
            self._told = now
            self._say(progress_line(self.step, done, self.total, now - self._began))

    def _say(self, line: str) -> None:
        if sys.stderr:
            print(line, file=sys.stderr, flush=True)


def progress_line(step: str, done: int, total: int | None, seconds: float) -> str:
    """Return how far a step has come in some seconds.

    >>> progress_line("embedding", 1_000, 5_000, 10.0)
    'embedding: 1,000 of 5,000, 100 a second, about 40 s left'
    """
    pace = done / seconds if seconds else 0.0
    if total is None:
        return f"{step}: {done:,}"
    left = f", {pace:,.0f} a second, about {max(total - done, 0) / pace:,.0f} s left" if pace else ""
    return f"{step}: {done:,} of {total:,}{left}"


def shown(given: argparse.Namespace, step: str | None = None, total: int | None = None) -> Display:
    """Return what fits where standard error goes, with its first step begun.

    Args:
        given: Of the command; lines are printed off a terminal when it was told to be `verbose`.
        step: The first step; None leaves it to whoever does the work.
        total: How much of it there is, None when nobody knows.
    """
    watched = sys.stderr is not None and sys.stderr.isatty()
    display = Bars() if watched else Lines() if getattr(given, "verbose", False) else Display()
    if step is not None:
        display.begin(step, total)
    return display
