"""A home's runtime whose store is rows in this process: the local half, the thread and the hooks are the real ones."""

from __future__ import annotations

import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, Final, TypeVar

import anyio

from hermes_memory.application.memory import Memory
from hermes_memory.hermes.runtime import Runtime
from hermes_memory.hermes.sessions import Binding
from hermes_memory.settings import Settings
from hermes_memory.testing.making import DESK
from tests.support.faulty import FaultyEmbedder
from tests.support.inprocess import GUARD, InProcess, utc_now

Answer = TypeVar("Answer")
PATIENT: Final = {"prefetch_timeout": 7.5, "tool_timeout": 60.0}
"""Deadlines that a busy machine keeps. A test of the deadlines themselves gives its own."""


class InProcessRuntime(Runtime):
    """Opens a memory over rows in this process as soon as it `may_open`; its `parts` are there afterwards."""

    parts: InProcess

    def __init__(
        self, home: Path, *, embedder: FaultyEmbedder | None = None, opens: bool = True, **settings: Any
    ) -> None:
        self.embedder = embedder
        self.may_open = threading.Event()
        if opens:
            self.may_open.set()
        given = {"embedder": "none", "spool_sync": "NORMAL", **PATIENT, **settings}
        super().__init__(Settings(home=home, **given), lambda _: None)

    def _opening(self) -> AbstractAsyncContextManager[Memory]:
        return self._opened()

    @asynccontextmanager
    async def _opened(self) -> AsyncIterator[Memory]:
        while not self.may_open.is_set():
            await anyio.sleep(0.001)
        self.parts = InProcess(self.embedder, local=self.local)
        async with self.parts.running() as memory:
            yield memory

    def settle(self) -> None:
        """Wait until everything accepted is stored."""
        assert self.call(lambda memory: memory.settled(timeout=GUARD), timeout=GUARD)


def binding(**changes: Any) -> Binding:
    """Return the binding of the desk of marketing, which may write."""
    return Binding(**{"caller": DESK, "files_caller": DESK, "writes": True, "visible_since": utc_now(), **changes})


def eventually(check: Callable[[], Answer]) -> Answer:
    """Ask again until the answer is true; return it."""
    deadline = time.monotonic() + GUARD
    while not (answer := check()):
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.002)
    return answer
