"""A fork while a connection begins: the child inherits no lock that the driver has taken meanwhile."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import textwrap
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest

from hermes_memory.adapters.postgres.connecting import begun_whole

PROGRAM = """
    import asyncio, os, threading, time, warnings
    from hermes_memory.adapters.postgres.connecting import begun_whole

    warnings.simplefilter("ignore")
    begun, set_up = threading.Event(), threading.Event()

    async def work():
        begun.set()
        time.sleep(0.3)
        set_up.set()
        await asyncio.sleep(30)

    async def main():
        await begun_whole(work())

    threading.Thread(target=asyncio.run, args=(main(),), daemon=True).start()
    begun.wait(30)
    child = os.fork()
    if child == 0:
        print("child", set_up.is_set(), flush=True)
        os._exit(0)
    os.waitpid(child, 0)
    os._exit(0)
"""


def test_a_fork_waits_until_a_connection_has_begun() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(PROGRAM)],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        cwd=Path(__file__).parents[2],
    )

    assert ended.stdout.splitlines() == ["child True"]


async def test_what_has_begun_is_awaited_to_its_end() -> None:
    async def work() -> str:
        for _ in range(3):
            await asyncio.sleep(0)
        return "done"

    async def at_once() -> str:
        return "at once"

    assert await begun_whole(work()) == "done"
    assert await begun_whole(at_once()) == "at once"


async def test_errors_timeouts_and_cancellation_reach_what_has_begun() -> None:
    met: list[type[BaseException]] = []

    async def work(error: Exception | None = None) -> None:
        try:
            await asyncio.sleep(0)
            if error is not None:
                raise error
            await asyncio.sleep(30)
        except BaseException as raised:
            met.append(type(raised))
            raise

    with pytest.raises(KeyError):
        await begun_whole(work(KeyError("no")))
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await begun_whole(work())
    task = asyncio.create_task(_awaited(work()))
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert met == [KeyError, asyncio.CancelledError, asyncio.CancelledError]


async def _awaited(work: Coroutine[Any, Any, None]) -> None:
    await begun_whole(work)
