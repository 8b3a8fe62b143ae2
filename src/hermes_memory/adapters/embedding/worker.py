"""One daemon thread that runs plain functions for coroutines, the most urgent first.

Neither anyio's thread pool nor `concurrent.futures` serves here: the first is shared with everything else and the
second joins its threads when the interpreter ends, so one slow call would hold the exit of the host.
"""

from __future__ import annotations

import asyncio
import contextlib
import heapq
import itertools
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TypeVar

import anyio

T = TypeVar("T")

_CLOSING_PATIENCE = 1.0
"""Seconds that closing waits for the thread's end; a call in progress is not worth more."""


class Urgency(IntEnum):
    """Who goes first: someone waits for an answer, or nobody does."""

    NOW = 0
    LATER = 1


class WorkerClosed(RuntimeError):
    """The worker was closed before the work began."""


@dataclass(slots=True, order=True)
class _Job:
    urgency: Urgency
    number: int
    run: Callable[[], None] = field(compare=False)
    refuse: Callable[[], None] = field(compare=False)


class Worker:
    """Runs functions one at a time. Every method may be called from any thread or loop.

    The thread starts with the first call and is a daemon: an interpreter that ends does not wait for it. After a
    fork the child gets a thread of its own.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._numbers = itertools.count()
        self._closed = False
        self._reset()

    async def run(self, work: Callable[[], T], *, urgency: Urgency = Urgency.NOW) -> T:
        """Run `work` on the thread and return its result.

        A caller that is cancelled returns at once; work that has not begun is then never run.

        Raises:
            WorkerClosed: The worker is closed, or was closed before the work began.
            BaseException: Whatever `work` raises.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()

        def refuse() -> None:
            _tell(loop, lambda: _fail(future, WorkerClosed(f"{self._name} is closed")))

        def run() -> None:
            if future.cancelled():
                return
            try:
                result = work()
            except BaseException as error:  # noqa: BLE001 - relayed: the awaiting caller raises it
                failure = error
                _tell(loop, lambda: _fail(future, failure))
            else:
                _tell(loop, lambda: _succeed(future, result))

        self._put(_Job(urgency, next(self._numbers), run, refuse))
        return await future

    async def aclose(self) -> None:
        """Refuse what waits and let the thread end, waiting at most a second for a call in progress."""
        with self._changed:
            self._closed = True
            jobs = self._jobs.copy()
            self._jobs.clear()
            self._changed.notify_all()
        for job in jobs:
            job.refuse()
        with anyio.move_on_after(_CLOSING_PATIENCE):
            while self.alive:  # noqa: ASYNC110 - a thread sets no event after its last instruction
                await anyio.sleep(0.001)

    @property
    def alive(self) -> bool:
        """Whether the thread runs."""
        return self._thread is not None and self._thread.is_alive()

    def _reset(self) -> None:
        self._process = os.getpid()
        self._changed = threading.Condition()
        self._jobs: list[_Job] = []
        self._thread: threading.Thread | None = None

    def _put(self, job: _Job) -> None:
        if self._process != os.getpid():  # the thread, and whoever held the lock, stayed in the parent
            self._reset()
        with self._changed:
            if self._closed:
                raise WorkerClosed(f"{self._name} is closed")
            heapq.heappush(self._jobs, job)
            if not self.alive:
                self._start()
            self._changed.notify()

    def _start(self) -> None:
        self._thread = threading.Thread(target=self._serve, name=self._name, daemon=True)
        try:
            self._thread.start()
        except RuntimeError as error:  # the interpreter is ending, or the process may have no more threads
            self._jobs.clear()
            raise WorkerClosed(f"{self._name} cannot start its thread") from error

    def _serve(self) -> None:
        while self._serve_one():
            pass

    def _serve_one(self) -> bool:
        job = self._next()
        if job is not None:
            job.run()
        return job is not None

    def _next(self) -> _Job | None:
        with self._changed:
            while not self._jobs and not self._closed:
                self._changed.wait()
            return None if self._closed else heapq.heappop(self._jobs)


def _tell(loop: asyncio.AbstractEventLoop, settle: Callable[[], None]) -> None:
    # The loop may have closed while the work ran; then nobody is left who waits for it.
    with contextlib.suppress(RuntimeError):
        loop.call_soon_threadsafe(settle)


def _succeed(future: asyncio.Future[T], result: T) -> None:
    if not future.done():
        future.set_result(result)


def _fail(future: asyncio.Future[T], error: BaseException) -> None:
    if not future.done():
        future.set_exception(error)
