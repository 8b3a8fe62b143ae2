"""Removals and changes that were accepted and are not delivered yet: until then, what they take away is not shown."""

from __future__ import annotations

import threading
from typing import Final

import anyio

from hermes_memory.application.memory import Memory
from hermes_memory.domain.errors import DeadlineExceeded
from hermes_memory.domain.model import OperationId
from hermes_memory.domain.operations import Operation, RemoveEntry, ReplaceEntry

KEPT: Final = 4_096
"""Operations remembered while nobody recalls anything. Older ones are delivered by then."""


class Forgetting:
    """Lets recall wait for what this process has accepted. Any thread may call."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: dict[OperationId, None] = {}

    def note(self, operation: Operation) -> None:
        """Remember an accepted operation if it takes something away."""
        if isinstance(operation, RemoveEntry | ReplaceEntry):
            with self._lock:
                self._waiting[operation.stamp.operation] = None
                while len(self._waiting) > KEPT:
                    del self._waiting[next(iter(self._waiting))]

    async def done(self, memory: Memory, *, timeout: float) -> float:
        """Wait until what was to be taken away is gone; return the seconds left of `timeout`.

        A database that is out of reach is not waited for: it answers no question either.

        Raises:
            DeadlineExceeded: It is not gone in time. Nothing that may hold it should be shown.
        """
        with self._lock:
            waiting = tuple(self._waiting)
        if not waiting:
            return timeout
        started = anyio.current_time()
        if await memory.services.deliverer.delivered(waiting, timeout=timeout):
            with self._lock:
                for operation in waiting:
                    self._waiting.pop(operation, None)
        left = timeout - (anyio.current_time() - started)
        if left <= 0:
            raise DeadlineExceeded("a memory is being changed or forgotten right now: ask again in a moment")
        return left
