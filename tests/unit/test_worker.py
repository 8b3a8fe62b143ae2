"""The worker: blocking work off the loop, one piece at a time, and the spool behind it."""

from __future__ import annotations

import threading
import time
from uuid import uuid4

import anyio
import pytest
from tests.support.inprocess import GUARD

from hermes_memory.adapters.inmemory.spool import InMemorySpool
from hermes_memory.application.spool_access import SpoolAccess
from hermes_memory.application.worker import Worker, call_aside
from hermes_memory.domain.errors import DeadlineExceeded
from hermes_memory.domain.model import OperationId
from hermes_memory.testing.making import add


async def test_the_worker_does_one_piece_of_work_at_a_time_off_the_loop() -> None:
    worker, under_way, most, threads = Worker(), 0, 0, set[int]()

    def work(number: int) -> int:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        threads.add(threading.get_ident())
        time.sleep(0.001)
        under_way -= 1
        return number

    answers: list[int] = []

    async def call(number: int) -> None:
        answers.append(await worker.call(lambda: work(number)))

    async with anyio.create_task_group() as tasks:
        for number in range(10):
            tasks.start_soon(call, number)

    assert sorted(answers) == list(range(10))
    assert most == 1
    assert threading.get_ident() not in threads


async def test_what_work_raises_reaches_the_caller() -> None:
    def fail() -> None:
        raise DeadlineExceeded("slow")

    with pytest.raises(DeadlineExceeded):
        await Worker().call(fail)


@pytest.mark.parametrize("abandon", [True, False])
async def test_a_cancelled_call_waits_for_its_work_unless_that_may_be_abandoned(abandon: bool) -> None:
    worker, begun, let_go, done = Worker(), threading.Event(), threading.Event(), threading.Event()

    def work() -> None:
        begun.set()
        let_go.wait(GUARD)
        done.set()

    async def cancel_once_begun(scope: anyio.CancelScope) -> None:
        while not begun.is_set():
            await anyio.sleep(0.001)
        scope.cancel()
        if not abandon:
            timer.start()

    timer = threading.Timer(0.05, let_go.set)
    scope = anyio.CancelScope()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(cancel_once_begun, scope)
        with scope:
            await worker.call(work, abandon=abandon)
        waited = done.is_set()
        let_go.set()
        timer.cancel()

        assert waited is not abandon
        assert done.wait(GUARD)


async def test_work_beside_the_worker_does_not_wait_for_it() -> None:
    worker, let_go = Worker(), threading.Event()
    with anyio.fail_after(GUARD):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(worker.call, lambda: let_go.wait(GUARD))
            await anyio.sleep(0.01)
            # The work that waits is let go by work that must therefore not wait behind it.
            await call_aside(let_go.set)


async def test_the_spool_is_reached_from_the_loop_with_every_answer() -> None:
    spool = InMemorySpool()
    access = SpoolAccess(spool, Worker())
    first, second, third = add("one"), add("two"), add("three")
    for operation in (first, second, third):
        spool.put(operation)
    await access.bury(second.stamp.operation, "refused")
    await access.done([first.stamp.operation])

    assert [item.operation for item in await access.due(5)] == [third]
    assert await access.due(0) == []
    assert (await access.pending(third.stamp.operation), await access.pending(first.stamp.operation)) == (True, False)
    assert (await access.pending_before(), await access.pending_before(2), await access.last_sequence()) == (1, 0, 3)
    assert [letter.operation for letter in await access.dead()] == [second]
    assert await access.dead_reason(second.stamp.operation) == "refused"
    assert await access.dead_reason(OperationId(uuid4())) is None
    assert await access.status() == spool.status()
    assert await access.call(lambda: 7) == 7
