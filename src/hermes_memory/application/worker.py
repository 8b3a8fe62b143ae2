"""One thread for work that blocks: short file operations, and starting a server of our own."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import anyio
import anyio.to_thread

Answer = TypeVar("Answer")


class Worker:
    """Runs blocking work for an event loop, one piece at a time, so that a process needs one thread for it."""

    def __init__(self) -> None:
        self._limiter: anyio.CapacityLimiter | None = None

    async def call(self, work: Callable[[], Answer], *, abandon: bool = False) -> Answer:
        """Run work that blocks and return its answer.

        Args:
            abandon: A cancelled call returns at once and leaves the work running, which keeps the thread until it
                ends. Otherwise a cancelled call waits for the work.
        """
        if self._limiter is None:
            self._limiter = anyio.CapacityLimiter(1)
        return await anyio.to_thread.run_sync(work, limiter=self._limiter, abandon_on_cancel=abandon)


async def call_aside(work: Callable[[], Answer]) -> Answer:
    """Run blocking work beside the worker, which may be held up by what this work ends."""
    return await anyio.to_thread.run_sync(work)
