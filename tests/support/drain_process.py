"""A process of a home that delivers: `python -m tests.support.drain_process SPOOL_DIRECTORY DSN LEASE`.

It prints "ready", and "leads" with the time whenever it becomes the leader, on the clock that all processes share.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio

from hermes_memory.adapters.postgres.delivery import PostgresDelivery
from hermes_memory.adapters.postgres.pool import Pool
from hermes_memory.adapters.spool.lock import FileLeadership
from hermes_memory.application.breaker import STORE, Breaker
from hermes_memory.application.deliver import Deliverer
from hermes_memory.application.spool_access import SpoolAccess
from hermes_memory.application.worker import Worker
from tests.support.spool_process import open_spool

_ROOT = Path(__file__).parents[2]


@contextmanager
def drainer(directory: Path, dsn: str, *, lease: float = 10.0) -> Iterator[subprocess.Popen[str]]:
    """Start the process; at the end it is killed, if it did not end before. It is up once it has printed "ready"."""
    command = [sys.executable, "-m", "tests.support.drain_process", str(directory), dsn, str(lease)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=_ROOT) as process:
        try:
            assert line_of(process) == "ready"
            yield process
        finally:
            process.kill()


def line_of(process: subprocess.Popen[str]) -> str:
    """Return the next line that a process prints."""
    assert process.stdout
    return process.stdout.readline().strip()


async def _main(directory: Path, dsn: str, lease: float) -> None:
    spool = open_spool(directory)
    leadership = FileLeadership(directory / "drain.lock", lease=lease)
    pool = Pool(dsn, connect_timeout=30.0)
    deliverer = Deliverer(
        SpoolAccess(spool, Worker()),
        leadership,
        PostgresDelivery(pool, analyze=str.split),
        breaker=Breaker(STORE, failures=1, delay=0.1, longest_delay=1.0),
    )
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(deliverer.run)
        print("ready", flush=True)
        led = False
        while True:
            if deliverer.leads and not led:
                print("leads", time.monotonic(), flush=True)
            led = deliverer.leads
            await anyio.sleep(0.01)


if __name__ == "__main__":
    anyio.run(_main, Path(sys.argv[1]), sys.argv[2], float(sys.argv[3]))
