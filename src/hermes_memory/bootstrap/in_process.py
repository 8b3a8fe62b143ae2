"""A memory without a server: every part is the real one, but for the store, whose rows live in this process."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, Final

from dependency_injector import providers
from pydantic_settings import InitSettingsSource

from hermes_memory.adapters.inmemory import InMemoryStore
from hermes_memory.adapters.inmemory.text_index import InMemoryTextIndex
from hermes_memory.adapters.stemming import snowball_stem
from hermes_memory.application.link import StoreLink
from hermes_memory.application.memory import Memory
from hermes_memory.bootstrap.container import Container
from hermes_memory.bootstrap.home import open_local_half
from hermes_memory.bootstrap.opening import opened
from hermes_memory.domain.lexemes import Analyzer
from hermes_memory.ports.embedding import Embedder, Generation
from hermes_memory.ports.metrics import Metrics
from hermes_memory.settings import settings_from

READY_SECONDS: Final = 60.0


def in_memory_store(embedder: Embedder | None = None) -> InMemoryStore:
    """Return an empty store that analyses text as the Postgres one does.

    Args:
        embedder: Whose vectors it keeps; without one it finds by words alone.
    """
    generation = Generation(number=1, model=embedder.model, dimension=embedder.dimension) if embedder else None
    return InMemoryStore(analyze=Analyzer(stem=snowball_stem()).analyze, generation=generation)


@asynccontextmanager
async def open_in_process(
    store: InMemoryStore | None = None,
    *,
    embedder: Embedder | None = None,
    metrics: Metrics | None = None,
    settings: Mapping[str, Any] | None = None,
) -> AsyncIterator[Memory]:
    """Open a memory whose rows live in this process, for tests: no server, no model, nothing left behind.

    It is the memory that `hermes_memory.open_memory` opens, with an in-memory store in the place of Postgres. What is
    accepted waits in a spool in a temporary directory, which goes with the block. Neither environment nor files are
    read for it. It opens in some hundredths of a second, and may be a fixture: it need not be left by the task that
    entered it.

    Args:
        store: Whose rows these are, as `in_memory_store` makes one; by default a new one for the embedder's vectors.
        embedder: What makes the vectors; it is closed at the end. Without one recall is by words alone.
        metrics: Takes the memory's numbers.
        settings: Values that differ from their defaults, by the names on the page about configuration.

    Raises:
        ConfigurationError: A setting is wrong.

    Example:
        ```python
        from hermes_memory.testing import open_in_process

        async with open_in_process() as memory:
            desk = memory.view("marketing")
            await desk.remember("Launch moved to 3 May")
            assert (await desk.recall("launch")).hits
        ```
    """
    with tempfile.TemporaryDirectory(prefix="hermes-memory-", ignore_cleanup_errors=True) as home:
        values = {"embedder": "none", "spool_sync": "NORMAL", **(settings or {}), "home": Path(home)}
        given = settings_from(lambda cls: InitSettingsSource(cls, {}), **values)
        half = open_local_half(given)
        container = Container(settings=given, local=half, secret=_no_secret)
        _put_in(container, store or in_memory_store(embedder), embedder)
        opening = opened(container, half, owned=True, grace=given.shutdown_timeout, wait=READY_SECONDS, metrics=metrics)
        async with _held(opening) as memory:
            yield memory


@asynccontextmanager
async def _held(opening: AbstractAsyncContextManager[Memory]) -> AsyncIterator[Memory]:
    """Enter and leave a memory in one task of its own: a test's fixture begins in another task than it ends in."""
    ready: asyncio.Future[Memory] = asyncio.get_running_loop().create_future()
    leave = asyncio.Event()

    async def hold() -> None:
        async with opening as memory:
            ready.set_result(memory)
            await leave.wait()

    holding = asyncio.create_task(hold(), name="hermes-memory")
    try:
        either: set[asyncio.Future[Any]] = {holding, ready}
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        if not ready.done():
            await holding  # raises why it could not be opened
        yield ready.result()
    finally:
        leave.set()
        if not ready.done():
            holding.cancel()
        await asyncio.wait({holding})
    await holding


def _no_secret(_variable: str) -> None:
    return None


async def _nothing() -> None:
    return


def _put_in(container: Container, store: InMemoryStore, embedder: Embedder | None) -> None:
    """Let a container's parts be those of a store in this process wherever they would be those of Postgres."""
    parts = {
        "embedder": embedder,
        "delivery": store.delivery,
        "search": store.search,
        "reader": store.reader,
        "registry": store.people,
        "history": store.history,
        "queue": store.queue,
        "inspector": store.inspector,
        "seals": store.seals,
        "text_index": InMemoryTextIndex(),
    }
    for name, part in parts.items():
        getattr(container, name).override(providers.Object(part))
    ring = container.deliverer().doorbell.ring
    link = StoreLink(_nothing, repair=None, breaker=container.store_breaker(), opened=ring)
    container.link.override(providers.Object(link))
