"""Measures embedded rows a second through the whole product: capture, spool, delivery, endpoint, Postgres.

    python -m benchmarks.embedding.throughput --rows 3000 --latency 0 0.03 0.2

Two figures a latency: from the first capture to the last vector, and the embed stage alone with every row waiting. The
spool is not flushed to disk at each write, since one caller after another would measure the disk. On a machine that is
busy otherwise the processor's time a row says more than the clock: that of this process is shown as well.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio

from hermes_memory import Settings, open_memory
from hermes_memory.application.memory import Memory


@contextmanager
def endpoint(dimension: int, latency: float) -> Iterator[str]:
    """Run the endpoint and yield its base URL."""
    command = [sys.executable, "-m", "benchmarks.embedding.endpoint", "--dimension", str(dimension)]
    with subprocess.Popen(
        [*command, "--latency", str(latency)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        yield f"http://127.0.0.1:{process.stdout.readline().strip()}"
        process.stdin.close()


async def store(memory: Memory, rows: int, *, session: str = "s1") -> None:
    """Capture `rows` turns, two an exchange."""
    desk = memory.view("bench", session=session)
    for number in range(rows // 2):
        await desk.capture(
            user=f"Question {number}: what did we decide about topic {number * 7919 % rows}?",
            assistant=f"Answer {number}: option {number % 13} for topic {number * 7919 % rows}, see note {number}.",
        )


async def settle(memory: Memory) -> None:
    """Wait until every row has its vector."""
    with anyio.fail_after(600):
        await memory.services.deliverer.drained(timeout=600)
        while (await memory.services.queue.backlog()).waiting:  # noqa: ASYNC110 - the queue is in the database
            await anyio.sleep(0.1)


async def measure(settings: Settings, rows: int) -> str:
    """Return rows a second end to end, those of the embed stage alone, and what a row of the latter costs."""
    async with open_memory(settings) as memory:
        await store(memory, 100)  # makes the generation
        await settle(memory)
        # Vectors without a meaning cannot be measured, and trying again would be measured here.
        await memory.services.queue.calibrate(1, unrelated=0.1, related=0.9)
        started = time.perf_counter()
        await store(memory, rows)
        await settle(memory)
        whole = rows / (time.perf_counter() - started)
    async with open_memory(settings.model_copy(update={"embedder": "none"})) as memory:
        await store(memory, rows, session="s2")
        await memory.services.deliverer.drained(timeout=600)
    async with open_memory(settings) as memory:
        started, used = time.perf_counter(), time.process_time()
        await settle(memory)
        stage = rows / (time.perf_counter() - started)
        cost = (time.process_time() - used) / rows * 1_000
    return f"{whole:6.0f} rows/s end to end, {stage:6.0f} rows/s embed stage ({cost:.2f} ms of processor a row)"


def main() -> None:
    """Measure every latency asked for and print a line each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=3_000)
    parser.add_argument("--latency", type=float, nargs="+", default=[0.0, 0.03, 0.2], help="seconds")
    parser.add_argument("--dimension", type=int, default=768)
    chosen = parser.parse_args()
    for latency in chosen.latency:
        with endpoint(chosen.dimension, latency) as url, tempfile.TemporaryDirectory() as home:
            Path(home).chmod(0o755)
            settings = Settings(
                home=Path(home),
                embedder="openai",
                embed_url=url,
                embed_model="bench",
                embed_dim=chosen.dimension,
                spool_sync="NORMAL",
            )
            found = anyio.run(measure, settings, chosen.rows)
        print(f"{latency * 1000:5.0f} ms: {found}", flush=True)


if __name__ == "__main__":
    main()
