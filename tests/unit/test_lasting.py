"""Work that lasts as long as a memory: what becomes of it, and of the rest, when it meets an error nobody foresaw."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable

import anyio
import pytest
from tests.support.faulty import Faults
from tests.support.inprocess import GUARD, until

from hermes_memory.application.faults import RepeatedFaults
from hermes_memory.application.lasting import lasting
from hermes_memory.domain.errors import StoreUnavailable

pytestmark = pytest.mark.usefixtures("hurried")


async def keep(work: Callable[[], Awaitable[None]]) -> None:
    await lasting(work, RepeatedFaults(logging.getLogger(__name__)), "some.fault")


async def test_work_begins_again_after_each_error_and_ends_when_it_is_done(caplog: pytest.LogCaptureFixture) -> None:
    work = Faults()
    work.come(ZeroDivisionError("s3cret"), StoreUnavailable("nobody dealt with it"), ZeroDivisionError())
    with anyio.fail_after(GUARD):
        await keep(work.meet)

    assert work.calls == 4
    told = [vars(entry)["cause"] for entry in caplog.records if entry.levelno == logging.ERROR]
    assert told == ["ZeroDivisionError", "StoreUnavailable"]
    assert "s3cret" not in caplog.text


async def test_work_that_lasts_ends_when_it_is_cancelled_and_that_is_no_fault(caplog: pytest.LogCaptureFixture) -> None:
    work = Faults()
    work.hangs = True
    with anyio.fail_after(GUARD):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(keep, work.meet)
            await until(lambda: work.calls)
            tasks.cancel_scope.cancel()

    assert (work.calls, caplog.records) == (1, [])


async def test_another_error_that_comes_in_a_group_is_told_as_well(caplog: pytest.LogCaptureFixture) -> None:
    errors: list[Exception] = [ZeroDivisionError(), ZeroDivisionError(), KeyError()]

    async def fail() -> None:
        raise errors.pop(0)

    async def work() -> None:
        if errors:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(fail)

    with anyio.fail_after(GUARD):
        await keep(work)

    levels = [entry.levelno for entry in caplog.records]
    assert (levels.count(logging.ERROR), errors) == (2, [])
