"""Opening a memory from code that does not await: its event loop runs on a thread of its own."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Final, TypeVar

from anyio.from_thread import BlockingPortal, start_blocking_portal

from hermes_memory.application.sync_memory import SyncMemory
from hermes_memory.bootstrap.opening import START_SECONDS, open_memory
from hermes_memory.ports.metrics import Metrics
from hermes_memory.settings import Settings

Answer = TypeVar("Answer")
THREAD_NAME: Final = "hermes-memory-sync"

# What a forked child inherited: it must neither be closed there, where its thread does not run, nor be collected.
_inherited: list[ExitStack] = []


@contextmanager
def open_memory_sync(
    settings: Settings | None = None,
    *,
    secret: Callable[[str], str | None] = os.environ.get,
    wait: float = START_SECONDS,
    metrics: Metrics | None = None,
) -> Iterator[SyncMemory]:
    """Open the memory of a home for code that does not await, and close it at the end of the block.

    An event loop on a thread of its own does the work. It is the way for scripts and threads, and for hosts whose
    event loop is not asyncio's: they call it from a worker thread. On an event loop's own thread each call would
    hold up everything else there: use `open_memory` there.

    Args:
        settings: The installation's settings; read from their sources by default.
        secret: Reads the embedding endpoint's key by the name of its variable.
        wait: Seconds to wait for the database before the block begins; see `open_memory`.
        metrics: Takes the memory's numbers every few seconds, on the memory's own thread.

    Raises:
        ConfigurationError: A setting is wrong, or the home's state cannot be used safely.
        StoreUnavailable: The database did not serve in `wait` seconds.
        SchemaNotApplied: It has no schema, or an older one. The message names the command to run.

    Example:
        ```python
        from hermes_memory import open_memory_sync

        with open_memory_sync() as memory:
            entry = memory.view("marketing").remember("Launch moved to 3 May")
        ```
    """
    owner = os.getpid()
    with ExitStack() as stack:
        portal = stack.enter_context(start_blocking_portal("asyncio", name=THREAD_NAME))
        opening = open_memory(settings, secret=secret, wait=wait, metrics=metrics)
        memory = stack.enter_context(portal.wrap_async_context_manager(opening))
        try:
            yield SyncMemory(memory, _Bridge(portal, owner))
        finally:
            if os.getpid() != owner:
                _inherited.append(stack.pop_all())


class _Bridge:
    """The way to the loop, for all threads of the process that opened it."""

    def __init__(self, portal: BlockingPortal, owner: int) -> None:
        self._portal = portal
        self._owner = owner

    def __call__(self, work: Callable[[], Awaitable[Answer]]) -> Answer:
        if os.getpid() != self._owner:
            raise RuntimeError("the memory belongs to the process that opened it: open one in this process")
        return self._portal.call(work)
