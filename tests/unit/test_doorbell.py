"""The doorbell: no ring is lost, many count as one, and any thread may ring."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable

import anyio
import pytest
from tests.support.inprocess import GUARD

from hermes_memory.application.doorbell import Doorbell


async def test_a_ring_ends_the_wait() -> None:
    bell = Doorbell()
    asyncio.get_running_loop().call_later(0.01, bell.ring)
    started = time.monotonic()
    await bell.wait(3_600.0)

    assert time.monotonic() - started < GUARD


async def test_a_ring_while_nobody_waits_is_heard_by_the_next_wait_and_by_that_one_alone() -> None:
    bell = Doorbell()
    for _ in range(5):
        bell.ring()
    started = time.monotonic()
    await bell.wait(3_600.0)
    heard = time.monotonic() - started
    with anyio.move_on_after(0.02) as second:
        await bell.wait(3_600.0)

    assert heard < GUARD
    assert second.cancelled_caught


async def test_without_a_ring_the_wait_ends_by_itself() -> None:
    with anyio.fail_after(GUARD):
        await Doorbell().wait(0.01)


async def test_another_thread_rings() -> None:
    bell = Doorbell()
    ringers = [threading.Thread(target=bell.ring_from_thread) for _ in range(5)]
    with anyio.fail_after(GUARD):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(bell.wait, 3_600.0)
            await anyio.sleep(0.01)
            for ringer in ringers:
                ringer.start()
    for ringer in ringers:
        ringer.join(GUARD)


async def test_threads_that_ring_before_an_answer_wake_the_loop_once(monkeypatch: pytest.MonkeyPatch) -> None:
    bell, loop = Doorbell(), asyncio.get_running_loop()
    await bell.wait(0.0)
    woken: list[Callable[[], None]] = []
    wake = loop.call_soon_threadsafe

    def waking(call: Callable[[], None]) -> asyncio.Handle:
        woken.append(call)
        return wake(call)

    monkeypatch.setattr(loop, "call_soon_threadsafe", waking)
    for _ in range(100):
        bell.ring_from_thread()
    with anyio.fail_after(GUARD):
        await bell.wait(3_600.0)
    bell.ring_from_thread()

    assert len(woken) == 2


async def test_a_ring_from_a_thread_before_anybody_ever_waited_is_heard() -> None:
    bell = Doorbell()
    ringer = threading.Thread(target=bell.ring_from_thread)
    ringer.start()
    ringer.join(GUARD)
    with anyio.fail_after(GUARD):
        await bell.wait(3_600.0)


async def test_threads_are_answered_when_they_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hermes_memory.application.doorbell.LONGEST_QUIET_SECONDS", 3_600.0)
    bell = Doorbell()
    bell.ring_from_thread()
    with anyio.fail_after(GUARD):
        rang = await bell.wait(3_600.0)

    assert rang
    assert not bell.ringing


async def test_threads_that_never_pause_are_answered_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hermes_memory.application.doorbell.QUIET_SECONDS", 3_600.0)
    bell = Doorbell()
    bell.ring_from_thread()
    with anyio.fail_after(GUARD):
        rang = await bell.wait(3_600.0)

    assert rang


@pytest.mark.parametrize("before", [True, False])
async def test_whoever_waits_in_the_loop_is_not_kept_waiting_by_threads(
    before: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hermes_memory.application.doorbell.QUIET_SECONDS", 3_600.0)
    monkeypatch.setattr("hermes_memory.application.doorbell.LONGEST_QUIET_SECONDS", 3_600.0)
    bell = Doorbell()
    bell.ring_from_thread()
    if before:
        bell.ring()
    else:
        asyncio.get_running_loop().call_later(0.01, bell.ring)
    with anyio.fail_after(GUARD):
        rang = await bell.wait(3_600.0)

    assert rang


def test_a_ring_after_the_end_of_the_loop_is_nothing() -> None:
    bell = Doorbell()
    asyncio.run(bell.wait(0.001))
    bell.ring_from_thread()
