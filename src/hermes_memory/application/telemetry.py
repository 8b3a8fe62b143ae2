"""Telling what a memory does, to everybody who wants to know; next to nothing is done while nobody does."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from types import TracebackType
from typing import Final, ParamSpec, TypeVar

from hermes_memory.ports.metrics import Happening, Metric, Metrics, Timing
from hermes_memory.ports.tracing import Tracer

logger = logging.getLogger(__name__)

_UNHEARD: Final = nullcontext()

_Told = ParamSpec("_Told")
_Answer = TypeVar("_Answer")


def _always() -> bool:
    return True


class Telemetry:
    """Passes on what is measured. Any thread may call.

    Who listens may come and go while the memory works: it is built on the thread that starts an agent, and those who
    listen are loaded later. One that raises is let go, and the memory works on: what is told has been done by then, so
    an error would make the caller do it again.
    """

    __slots__ = ("_changes", "_metrics", "_tracers", "_wanting")

    def __init__(self) -> None:
        self._changes = threading.Lock()
        self._metrics: tuple[Metrics, ...] = ()
        self._wanting: tuple[tuple[Metrics, Callable[[], bool]], ...] = ()
        self._tracers: tuple[Tracer, ...] = ()

    @property
    def measured(self) -> bool:
        """Whether anybody wants numbers that have to be read, or asked for, now."""
        return any(self._wants(listener, wants) for listener, wants in self._wanting)

    def attach(self, listener: Metrics, *, wants: Callable[[], bool] = _always) -> None:
        """Pass numbers on to a listener from now on; nothing is read for one that says it wants none now."""
        with self._changes:
            self._metrics = (*self._metrics, listener)
            self._wanting = (*self._wanting, (listener, wants))

    def detach(self, listener: Metrics) -> None:
        """Pass nothing on to a listener any more. One that was never attached is passed over."""
        with self._changes:
            self._metrics = tuple(each for each in self._metrics if each is not listener)
            self._wanting = tuple(pair for pair in self._wanting if pair[0] is not listener)

    def follow(self, tracer: Tracer) -> None:
        """Make spans with a tracer from now on."""
        with self._changes:
            self._tracers = (*self._tracers, tracer)

    def unfollow(self, tracer: Tracer) -> None:
        """Make no spans with a tracer any more. One that never followed is passed over."""
        with self._changes:
            self._tracers = tuple(each for each in self._tracers if each is not tracer)

    def publish(self, readings: Mapping[Metric, float]) -> None:
        """Pass on the numbers as they are now."""
        self._tell_all(lambda listener: listener.publish(readings))

    def took(self, timing: Timing, seconds: float) -> None:
        """Pass on how long something took."""
        self._tell_all(lambda listener: listener.took(timing, seconds))

    def count(self, happening: Happening) -> None:
        """Pass on that something happened."""
        self._tell_all(lambda listener: listener.count(happening))

    def _tell_all(self, tell: Callable[[Metrics], None]) -> None:
        for listener in self._metrics:
            self.tell(listener, tell, listener)

    def _wants(self, listener: Metrics, wants: Callable[[], bool]) -> bool:
        return bool(self.tell(listener, wants))

    def tell(
        self, listener: object, tell: Callable[_Told, _Answer], *told: _Told.args, **named: _Told.kwargs
    ) -> _Answer | None:
        """Call others' code; a listener or tracer whose code raises is let go, and answers None."""
        try:
            return tell(*told, **named)
        except Exception as error:  # noqa: BLE001 - others' code, which the memory does not depend on
            self._let_go(listener, error)
            return None

    def _let_go(self, listener: object, error: Exception) -> None:
        """Tell nothing more to a listener or tracer that raised, and say so once, however many threads met it."""
        with self._changes:
            known = any(each is listener for each in (*self._metrics, *self._tracers))
            self._metrics = tuple(each for each in self._metrics if each is not listener)
            self._wanting = tuple(pair for pair in self._wanting if pair[0] is not listener)
            self._tracers = tuple(each for each in self._tracers if each is not listener)
        if known:
            named = f"{type(listener).__module__}.{type(listener).__qualname__}"
            facts = {"action": "telemetry.let_go", "listener": named, "cause": type(error).__name__}
            logger.error("a listener failed and is told nothing more", extra=facts)

    def timed(self, timing: Timing) -> AbstractContextManager[None]:
        """Return a block whose time is passed on when it ends, however it ends, and which is a span."""
        if not self._tracers:
            return _Timed(self, timing) if self._metrics else _UNHEARD
        return _Traced(self, timing, self._tracers)


class _Timed:
    """A block that is timed."""

    __slots__ = ("_started", "_telemetry", "_timing")

    def __init__(self, telemetry: Telemetry, timing: Timing) -> None:
        self._telemetry = telemetry
        self._timing = timing
        self._started = 0.0

    def __enter__(self) -> None:
        self._started = time.perf_counter()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._telemetry.took(self._timing, time.perf_counter() - self._started)


class _Traced(_Timed):
    """A block that is timed and a span for each tracer."""

    __slots__ = ("_spans", "_tracers")

    def __init__(self, telemetry: Telemetry, timing: Timing, tracers: tuple[Tracer, ...]) -> None:
        super().__init__(telemetry, timing)
        self._tracers = tracers
        self._spans: list[tuple[Tracer, AbstractContextManager[None]]] = []

    def __enter__(self) -> None:
        for tracer in self._tracers:
            self._telemetry.tell(tracer, self._begin, tracer)
        super().__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        super().__exit__(kind, error, trace)
        while self._spans:
            tracer, span = self._spans.pop()
            self._telemetry.tell(tracer, _end, span, kind, error, trace)

    def _begin(self, tracer: Tracer) -> None:
        span = tracer.span(self._timing)
        span.__enter__()
        self._spans.append((tracer, span))


def _end(
    span: AbstractContextManager[None],
    kind: type[BaseException] | None,
    error: BaseException | None,
    trace: TracebackType | None,
) -> None:
    """End a span. It may pass on the error of its block, which goes on in any case."""
    try:
        span.__exit__(kind, error, trace)
    except BaseException as problem:
        if problem is not error:
            raise
