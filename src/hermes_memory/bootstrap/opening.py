"""Opening a memory: the lifetimes of all its parts, in one place."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final

import anyio

from hermes_memory.adapters.embedding.machine import MachineEmbedder
from hermes_memory.application.faults import RepeatedFaults, tell_fault
from hermes_memory.application.lasting import lasting
from hermes_memory.application.memory import Memory
from hermes_memory.application.worker import call_aside
from hermes_memory.bootstrap.container import Container
from hermes_memory.bootstrap.exposing import Exposure, exposure_of, listened
from hermes_memory.bootstrap.home import LocalHalf, open_local_half
from hermes_memory.domain.errors import HermesMemoryError
from hermes_memory.ports.metrics import Metrics
from hermes_memory.settings import Settings

logger = logging.getLogger(__name__)

START_SECONDS: Final = 90.0
CLOSE_SECONDS: Final = 1.0
WARM_UP_SECONDS: Final = 60.0


@asynccontextmanager
async def open_memory(
    settings: Settings | None = None,
    *,
    local: LocalHalf | None = None,
    secret: Callable[[str], str | None] = os.environ.get,
    wait: float = START_SECONDS,
    metrics: Metrics | None = None,
    serves_metrics: bool = False,
) -> AsyncIterator[Memory]:
    """Open the memory of a home, and close it at the end of the block.

    Writes that were accepted and not delivered when it closes wait in the spool and are delivered by the next opening.

    Args:
        settings: The installation's settings; read from their sources by default.
        local: The local half, when the caller has opened it already; it stays the caller's to close.
        secret: Reads the embedding endpoint's key by the name of its variable.
        wait: Seconds to wait for the database before the block begins; the local embedder is loaded by then too. 0
            begins at once and connects meanwhile.
        metrics: Takes the memory's numbers.
        serves_metrics: Show them to Prometheus too, where the settings say so, as the provider of an agent does.

    Raises:
        ConfigurationError: A setting is wrong, or the home's state cannot be used safely.
        StoreUnavailable: The database did not serve in `wait` seconds.
        SchemaNotApplied: It has no schema, or an older one. The message names the command to run.

    Example:
        ```python
        async with open_memory(Settings()) as memory:
            entry = await memory.view("marketing").remember("Launch moved to 3 May")
        ```
    """
    settings = settings or Settings()
    half = local or open_local_half(settings)
    container = Container(settings=settings, local=half, secret=secret)
    grace = settings.shutdown_timeout if local is None else 0.0
    exposure = exposure_of(settings, half.telemetry) if serves_metrics else None
    async with opened(
        container, half, owned=local is None, grace=grace, wait=wait, metrics=metrics, exposure=exposure
    ) as memory:
        yield memory


@asynccontextmanager
async def opened(
    container: Container,
    half: LocalHalf,
    *,
    owned: bool,
    grace: float,
    wait: float,
    metrics: Metrics | None = None,
    exposure: Exposure | None = None,
) -> AsyncIterator[Memory]:
    """Run what a container holds for the length of the block; see `open_memory`.

    Args:
        half: The local half that the container was made with.
        owned: Close the local half, too.
        grace: Seconds that the end of the block waits for what is not delivered yet.
        exposure: Serves the numbers for the length of the block.
    """
    memory = container.memory()
    failure: BaseException | None = None
    warm = anyio.Event()
    faults = RepeatedFaults(logger)
    listeners = listened(container.settings, half.telemetry, metrics)
    try:
        await container.worker().call(half.spool.open)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lasting, container.link().run, faults, "memory.fault")
            tasks.start_soon(lasting, container.deliverer().run, faults, "memory.fault")
            tasks.start_soon(lasting, container.monitor().run, faults, "memory.fault")
            if exposure:
                tasks.start_soon(lasting, exposure.run, faults, "memory.fault")
            tasks.start_soon(lasting, container.folding().run, faults, "memory.fault")
            tasks.start_soon(lasting, container.sealing().run, faults, "memory.fault")
            if stage := container.stage():
                tasks.start_soon(lasting, stage.run, faults, "memory.fault")
            if isinstance(embedder := container.embedder(), MachineEmbedder):
                tasks.start_soon(_warm_up, memory, embedder, warm)
            else:
                warm.set()
            try:
                if wait > 0:
                    await memory.ready(timeout=wait)
                    await warm.wait()
                yield memory
                await _deliver(memory, grace)
            except (Exception, KeyboardInterrupt, SystemExit) as error:  # noqa: BLE001 - raised below, outside the group
                failure = error
            tasks.cancel_scope.cancel()
    except asyncio.CancelledError:
        # A task group of the block may leave its own cancellation of this task behind (CPython 3.11 does when a child
        # fails), which the end of ours then takes for the caller's. The error of the block says what happened.
        if failure is None:
            raise
    finally:
        listeners.close()
        try:
            await _close(container)
        finally:
            if owned:
                await _let_go(half)
    if failure is not None:
        raise failure


async def _warm_up(memory: Memory, embedder: MachineEmbedder, warm: anyio.Event) -> None:
    """Load the weights once there is something to search, so that the first question does not wait for them."""
    await memory.services.link.usable()
    try:
        await embedder.warm_up(timeout=WARM_UP_SECONDS)
    except HermesMemoryError as error:
        facts = {"action": "embed.warm_up", "cause": type(error).__name__, "reason": str(error)}
        logger.warning("the embedder does not load", extra=facts)
    except Exception as error:  # noqa: BLE001 - what is embedded loads it later, and recall works by words until then
        tell_fault(logger, "loading the embedder met an unexpected error", error, action="embed.fault")
    warm.set()


async def _deliver(memory: Memory, seconds: float) -> None:
    """Give what was accepted last a chance to arrive before the connections close."""
    if seconds > 0:
        await memory.services.deliverer.drained(timeout=seconds)


async def _let_go(half: LocalHalf) -> None:
    """Close the spool, which moves what lies in its intake: that waits for the disk, and for other processes."""
    with anyio.CancelScope(shield=True):
        await call_aside(half.spool.close)


async def _close(container: Container) -> None:
    with anyio.CancelScope(shield=True):
        with anyio.move_on_after(CLOSE_SECONDS * 2):
            await container.pool().close(CLOSE_SECONDS)
        if (embedder := container.embedder()) is not None:
            await embedder.aclose()
        await container.host().aclose()
