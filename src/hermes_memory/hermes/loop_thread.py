"""The one place where threads meet the event loop: a daemon thread that runs the memory of a home.

Nothing here is awaited at interpreter exit: what was accepted is in the spool, and the thread is a daemon.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import logging
import os
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import AbstractAsyncContextManager
from typing import Any, Final, TypeVar

import anyio

from hermes_memory.adapters.loading import LOADING
from hermes_memory.application.faults import tell_fault
from hermes_memory.application.memory import Memory
from hermes_memory.domain.errors import DeadlineExceeded, HermesMemoryError, StoreUnavailable

logger = logging.getLogger(__name__)

Answer = TypeVar("Answer")
THREAD_NAME: Final = "hermes-memory"
STOP_SECONDS: Final = 1.0


class LoopThread:
    """Runs a memory on a thread of its own until it is stopped. Its methods may be called from any other thread."""

    def __init__(
        self, opening: Callable[[], AbstractAsyncContextManager[Memory]], *, ended: Callable[[], None] = lambda: None
    ) -> None:
        """Start the thread; `opening` is called on it and makes the memory, `ended` when the memory is closed."""
        self._opening = opening
        self._ended = ended
        self._pid = os.getpid()
        self._open = threading.Event()
        self._memory: Memory | None = None
        self._failure: BaseException | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: anyio.Event | None = None
        self._stopping = False
        self._lock = threading.Lock()
        self._early: list[tuple[Callable[[Memory], Awaitable[object]], str]] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._thread = threading.Thread(target=self._run, name=THREAD_NAME, daemon=True)
        self._thread.start()

    @property
    def alive(self) -> bool:
        """Whether the thread runs in this process; never True in a child that was forked from it."""
        return self._pid == os.getpid() and self._thread.is_alive() and not self._stopping

    @property
    def ident(self) -> int | None:
        """The thread's identifier."""
        return self._thread.ident

    @property
    def memory(self) -> Memory | None:
        """The memory, None until it is open."""
        return self._memory

    def call(self, work: Callable[[Memory], Coroutine[Any, Any, Answer]], *, timeout: float) -> Answer:
        """Run work on the loop and wait for its answer.

        Raises:
            DeadlineExceeded: No answer in `timeout` seconds; the work is cancelled.
            StoreUnavailable: The memory could not be opened, or is stopped.
            RuntimeError: Called on the loop's own thread, which would wait for itself.
        """
        if threading.get_ident() == self._thread.ident:
            raise RuntimeError("a blocking call on the memory's own thread would wait for itself")
        started = time.monotonic()
        memory = self._await_memory(timeout)
        future = self._submit(work(memory))
        try:
            return future.result(max(timeout - (time.monotonic() - started), 0.001))
        except concurrent.futures.TimeoutError:
            future.cancel()
            raise DeadlineExceeded("the memory did not answer in time") from None
        except concurrent.futures.CancelledError:
            raise StoreUnavailable("the memory was stopped meanwhile") from None

    def spawn(self, work: Callable[[Memory], Awaitable[object]], *, action: str) -> None:
        """Run work in the background once the memory is open; a failure is logged under `action`.

        Work that comes after the end, or for a memory that could not be opened, is let go.
        """
        with self._lock:
            memory, loop = self._memory, self._loop
            if memory is None or loop is None:
                if not self._open.is_set():
                    self._early.append((work, action))
                return
        try:
            loop.call_soon_threadsafe(self._start, work, memory, action)
        except RuntimeError:
            logger.debug("background work after the end", extra={"action": action})

    def ring(self) -> None:
        """Tell the memory that something was accepted. It costs microseconds and never waits."""
        memory = self._memory
        if memory is not None and self.alive:
            memory.services.deliverer.doorbell.ring_from_thread()

    def stop(self, *, timeout: float = STOP_SECONDS) -> bool:
        """Close the memory and end the thread; False when it did not end in `timeout` seconds."""
        self.stop_soon()
        if threading.get_ident() != self._thread.ident:
            self._thread.join(timeout)
        return not self._thread.is_alive()

    def stop_soon(self) -> None:
        """Ask the thread to end, without waiting. May be called from a finaliser on any thread, again and again."""
        if self._pid != os.getpid():
            return
        self._stopping = True
        loop, stop = self._loop, self._stop
        if loop is not None and stop is not None:
            try:
                loop.call_soon_threadsafe(stop.set)
            except RuntimeError:
                return

    def _run(self) -> None:
        try:
            with LOADING:
                # The first run of a loop imports what runs it, as the opening imports the drivers.
                anyio.run(anyio.sleep, 0, backend="asyncio")
                opening = self._opening()
            anyio.run(self._main, opening, backend="asyncio")
        except BaseException as error:  # noqa: BLE001 - the thread's last frame: the failure is kept for the callers
            self._failure = error
            _tell_end(error, opened=self._open.is_set())
        finally:
            with self._lock:
                self._open.set()
                self._early.clear()
            self._ended()

    async def _main(self, opening: AbstractAsyncContextManager[Memory]) -> None:
        self._loop = asyncio.get_running_loop()
        self._stop = anyio.Event()
        if self._stopping:
            return
        async with opening as memory:
            self._begin(memory)
            try:
                await self._stop.wait()
            finally:
                self._memory = None
                for task in self._tasks:
                    task.cancel()

    def _begin(self, memory: Memory) -> None:
        """Let callers in and start what was asked for before. Nothing of that work stays behind in a frame."""
        with self._lock:
            self._memory = memory
            early, self._early = self._early, []
            self._open.set()
        for work, action in early:
            self._start(work, memory, action)

    def _start(self, work: Callable[[Memory], Awaitable[object]], memory: Memory, action: str) -> None:
        """Run background work as a task that is kept until it ends and whose failure is told. On the loop."""
        task = asyncio.ensure_future(_told(work, memory, action))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _await_memory(self, timeout: float) -> Memory:
        if not self._open.wait(timeout):
            raise DeadlineExceeded("the memory is still starting")
        memory = self._memory
        if memory is None or not self.alive:
            if isinstance(self._failure, HermesMemoryError):
                raise self._failure
            raise StoreUnavailable("the memory is not running")
        return memory

    def _submit(self, coroutine: Coroutine[Any, Any, Answer]) -> concurrent.futures.Future[Answer]:
        loop = self._loop
        try:
            if loop is None:
                raise RuntimeError("no loop")
            return asyncio.run_coroutine_threadsafe(coroutine, loop)
        except RuntimeError:
            coroutine.close()
            raise StoreUnavailable("the memory was stopped meanwhile") from None


def _tell_end(error: BaseException, *, opened: bool) -> None:
    message = "the memory has ended by an error" if opened else "the memory could not be opened"
    if isinstance(error, HermesMemoryError):
        logger.error(message, extra={"action": "runtime.failed", "cause": type(error).__name__})
    else:
        tell_fault(logger, message, error, action="runtime.failed")


async def _told(work: Callable[[Memory], Awaitable[object]], memory: Memory, action: str) -> None:
    try:
        await work(memory)
    except HermesMemoryError as error:
        logger.info("background work gave up", extra={"action": action, "cause": type(error).__name__})
    except Exception as error:  # noqa: BLE001 - nobody waits for it, so nobody else can tell of it
        tell_fault(logger, "background work failed", error, action=action)
