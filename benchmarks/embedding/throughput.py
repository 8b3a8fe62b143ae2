"""How many rows a second get their vectors, through the whole product: capture, spool, delivery, endpoint, Postgres.

Two figures a latency: from the first capture to the last vector, and the embed stage alone with every row waiting. The
spool is not flushed to disk at each write, since one caller after another would measure the disk. On a machine that is
busy otherwise the processor's time a row says more than the clock: that of this process is measured as well.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Final

import anyio

from benchmarks.kit.embeddings import DIMENSION, MODEL
from benchmarks.writes.sides import Ours
from hermes_memory import Settings, open_memory
from hermes_memory.application.memory import Memory

PATIENCE: Final = 600.0
WARM_UP: Final = 100


async def measure_throughput(ours: Ours, latency_ms: int, rows: int, say: Callable[[str], None]) -> dict[str, Any]:
    """Measure at one latency of the endpoint, in a database and a home of its own."""
    say(f"throughput at {latency_ms} ms")
    bench = await ours.bench(latency_ms)
    settings = Settings(
        home=bench.home,
        dsn=bench.dsn,
        runtime_role=ours.role,
        embedder="openai",
        embed_url=bench.embed_url,
        embed_model=MODEL,
        embed_dim=DIMENSION,
        spool_sync="NORMAL",
    )
    return {"latency_ms": latency_ms, "rows": rows, **await _rates(settings, rows)}


async def _rates(settings: Settings, rows: int) -> dict[str, float]:
    async with open_memory(settings) as memory:
        # Vectors without a meaning cannot be measured, and trying again would be measured here.
        await memory.ready(timeout=PATIENCE)
        await memory.services.queue.calibrate(1, unrelated=0.1, related=0.9)
        await _store(memory, WARM_UP)
        await _settle(memory)
        started = time.perf_counter()
        await _store(memory, rows)
        await _settle(memory)
        whole = time.perf_counter() - started
    async with open_memory(settings.model_copy(update={"embedder": "none"})) as memory:
        await _store(memory, rows, session="s2")
        await memory.services.deliverer.drained(timeout=PATIENCE)
    async with open_memory(settings) as memory:
        started, used = time.perf_counter(), time.process_time()
        await _settle(memory)
        stage, used = time.perf_counter() - started, time.process_time() - used
    return {"whole_per_second": rows / whole, "stage_per_second": rows / stage, "processor_ms": used / rows * 1_000}


async def _store(memory: Memory, rows: int, *, session: str = "s1") -> None:
    """Capture `rows` turns, two an exchange."""
    desk = memory.view("bench", session=session)
    for number in range(rows // 2):
        await desk.capture(
            user=f"Question {number}: what did we decide about topic {number * 7919 % rows}?",
            assistant=f"Answer {number}: option {number % 13} for topic {number * 7919 % rows}, see note {number}.",
        )


async def _settle(memory: Memory) -> None:
    """Wait until every row has its vector."""
    with anyio.fail_after(PATIENCE):
        await memory.services.deliverer.drained(timeout=PATIENCE)
        while (await memory.services.queue.backlog()).waiting:  # noqa: ASYNC110 - the queue is in the database
            await anyio.sleep(0.1)
