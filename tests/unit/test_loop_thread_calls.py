"""The thread of a memory: calls from other threads, work in the background, and a bounded end."""

from __future__ import annotations

import asyncio
import gc
import logging
import threading
import time
import weakref
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import anyio
import pytest
from tests.support.inprocess import GUARD, InProcess
from tests.support.inprocess_runtime import eventually

from hermes_memory.adapters.inmemory.metrics import InMemoryTracer
from hermes_memory.application.memory import Memory
from hermes_memory.domain.errors import (
    ConfigurationError,
    DeadlineExceeded,
    InvalidInput,
    NotVisible,
    StoreUnavailable,
)
from hermes_memory.domain.model import Origin, Target
from hermes_memory.hermes.loop_thread import THREAD_NAME, LoopThread
from hermes_memory.ports.metrics import Timing
from hermes_memory.testing.making import DESK


@dataclass
class Bench:
    """A memory over rows in this process, on a thread of its own.

    Attributes:
        may_open: Not set, the memory is still being opened.
        holds_on: While it is set, the memory does not close.
    """

    may_open: threading.Event = field(default_factory=threading.Event)
    error: Exception | None = None
    fails_at_the_end: Exception | None = None
    holds_on: threading.Event = field(default_factory=threading.Event)
    closed: bool = False

    def __post_init__(self) -> None:
        self.thread = LoopThread(self._opening)

    @asynccontextmanager
    async def _opening(self) -> AsyncIterator[Memory]:
        while not self.may_open.is_set():
            await anyio.sleep(0.001)
        if self.error:
            raise self.error
        async with InProcess().running() as memory:
            yield memory
            while self.holds_on.is_set():
                await anyio.sleep(0.001)
        if self.fails_at_the_end:
            raise self.fails_at_the_end
        self.closed = True

    def opened(self) -> LoopThread:
        self.may_open.set()
        eventually(lambda: self.thread.memory)
        return self.thread


@pytest.fixture
def bench() -> Iterator[Bench]:
    bench = Bench()
    yield bench
    bench.may_open.set()
    assert bench.thread.stop(timeout=GUARD)


async def hang(memory: Memory) -> None:
    await anyio.sleep_forever()


async def name_thread(memory: Memory) -> str:
    return threading.current_thread().name


async def remember(memory: Memory) -> str:
    return (await memory.view_of(DESK).remember("Launch on 3 May")).content


def test_what_a_caller_asks_for_is_traced_within_the_callers_span(bench: Bench) -> None:
    tracer, thread = InMemoryTracer(), bench.opened()

    async def answer(memory: Memory) -> None:
        with tracer.span(Timing.RECALL):
            await anyio.sleep(0)

    with tracer.span(Timing.ACCEPT):
        thread.call(answer, timeout=GUARD)
    thread.call(answer, timeout=GUARD)

    assert tracer.spans == [
        (Timing.RECALL, Timing.ACCEPT, None),
        (Timing.ACCEPT, None, None),
        (Timing.RECALL, None, None),
    ]


def test_a_call_runs_on_the_memorys_own_thread_and_returns_its_answer(bench: Bench) -> None:
    thread = bench.opened()

    assert thread.call(name_thread, timeout=GUARD) == THREAD_NAME
    assert thread.call(remember, timeout=GUARD) == "Launch on 3 May"
    assert thread.ident not in {None, threading.get_ident()}
    assert thread.alive


def test_what_a_call_raises_reaches_its_caller(bench: Bench) -> None:
    async def fail(memory: Memory) -> None:
        raise NotVisible("no such memory")

    with pytest.raises(NotVisible, match="no such memory"):
        bench.opened().call(fail, timeout=GUARD)


def test_a_call_that_takes_too_long_is_given_up_and_its_work_is_cancelled(bench: Bench) -> None:
    ended = threading.Event()

    async def endless(memory: Memory) -> None:
        try:
            await anyio.sleep_forever()
        finally:
            ended.set()

    thread = bench.opened()
    started = time.monotonic()
    with pytest.raises(DeadlineExceeded):
        thread.call(endless, timeout=0.05)

    assert time.monotonic() - started < GUARD
    assert ended.wait(GUARD)
    assert thread.call(name_thread, timeout=GUARD)


def test_a_call_waits_for_a_memory_that_is_being_opened_but_not_longer_than_it_may(bench: Bench) -> None:
    with pytest.raises(DeadlineExceeded, match="still starting"):
        bench.thread.call(name_thread, timeout=0.02)
    threading.Timer(0.02, bench.may_open.set).start()

    assert bench.thread.call(name_thread, timeout=GUARD) == THREAD_NAME


def test_a_call_from_the_memorys_own_thread_is_refused_instead_of_waiting_for_itself(bench: Bench) -> None:
    thread = bench.opened()

    async def call_again(memory: Memory) -> None:
        thread.call(name_thread, timeout=GUARD)

    with pytest.raises(RuntimeError, match="wait for itself"):
        thread.call(call_again, timeout=GUARD)


def test_calls_of_many_threads_do_not_wait_for_each_other(bench: Bench) -> None:
    thread = bench.opened()
    together = asyncio.Event()
    count = 0

    async def meet(memory: Memory) -> None:
        nonlocal count
        count += 1
        if count == 8:
            together.set()
        await together.wait()

    callers = [threading.Thread(target=thread.call, args=(meet,), kwargs={"timeout": GUARD}) for _ in range(8)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join(GUARD)

    assert count == 8
    assert not any(caller.is_alive() for caller in callers)


def test_work_asked_for_before_the_memory_is_open_runs_once_it_is_in_order(bench: Bench) -> None:
    done: list[int] = []
    for number in range(5):

        async def work(memory: Memory, number: int = number) -> None:
            done.append(number)

        bench.thread.spawn(work, action="test")
    early = list(done)
    bench.opened()
    eventually(lambda: len(done) == 5)

    assert early == []
    assert done == list(range(5))


def test_work_in_the_background_does_not_hold_up_its_caller(bench: Bench) -> None:
    thread, done = bench.opened(), threading.Event()

    async def work(memory: Memory) -> None:
        await memory.view_of(DESK).remember("Launch on 3 May")
        done.set()

    thread.spawn(hang, action="test")
    thread.spawn(work, action="test")

    assert done.wait(GUARD)


@pytest.mark.parametrize(
    ("error", "level"),
    [(ZeroDivisionError("secret"), logging.ERROR), (StoreUnavailable("away"), logging.INFO)],
)
def test_a_failure_in_the_background_is_logged_and_ends_nothing_else(
    bench: Bench, caplog: pytest.LogCaptureFixture, error: Exception, level: int
) -> None:
    caplog.set_level(logging.INFO, logger="hermes_memory.hermes.loop_thread")

    async def fail(memory: Memory) -> None:
        raise error

    thread = bench.opened()
    thread.spawn(fail, action="test.fails")
    eventually(lambda: caplog.records)
    thread.call(name_thread, timeout=GUARD)

    assert [(entry.levelno, vars(entry).get("action")) for entry in caplog.records] == [(level, "test.fails")]


def test_a_ring_reaches_the_memory_and_is_nothing_before_and_after(bench: Bench) -> None:
    bench.thread.ring()
    thread = bench.opened()
    memory = thread.memory
    assert memory is not None
    acceptor = memory.services.acceptor
    operation = acceptor.add(DESK, "Launch on 3 May", target=Target.MEMORY, origin=Origin.USER)
    thread.ring()
    outcome = thread.call(lambda memory: memory.services.deliverer.wait(operation, timeout=GUARD), timeout=GUARD)
    thread.stop(timeout=GUARD)
    thread.ring()

    assert outcome.row is not None


def test_the_end_closes_the_memory_cancels_what_runs_and_is_told(bench: Bench) -> None:
    thread = bench.opened()
    cancelled = threading.Event()

    async def work(memory: Memory) -> None:
        try:
            await anyio.sleep_forever()
        finally:
            cancelled.set()

    thread.spawn(work, action="test")
    thread.call(name_thread, timeout=GUARD)
    bench.holds_on.set()
    thread.stop_soon()
    ended_before_the_memory_closed = cancelled.wait(GUARD)
    bench.holds_on.clear()
    ended = thread.stop(timeout=GUARD)

    assert ended_before_the_memory_closed
    assert ended
    assert bench.closed
    assert not thread.alive
    assert thread.memory is None
    assert thread.stop(timeout=GUARD)


def test_the_end_is_waited_for_no_longer_than_allowed() -> None:
    bench = Bench()
    thread = bench.opened()
    bench.holds_on.set()
    ended = thread.stop(timeout=0.02)
    bench.holds_on.clear()

    assert not ended
    assert thread.stop(timeout=GUARD)


def test_a_memory_may_be_stopped_before_it_is_open() -> None:
    bench = Bench()
    bench.thread.stop_soon()
    bench.may_open.set()

    assert bench.thread.stop(timeout=GUARD)
    assert not bench.thread.alive


def test_after_the_end_a_call_is_refused_and_work_is_let_go(bench: Bench) -> None:
    thread = bench.opened()
    thread.stop(timeout=GUARD)
    thread.spawn(hang, action="test")
    with pytest.raises(StoreUnavailable):
        thread.call(name_thread, timeout=GUARD)


def test_a_call_under_way_at_the_end_is_told_so(bench: Bench) -> None:
    thread = bench.opened()
    begun = threading.Event()
    raised: list[BaseException] = []

    async def work(memory: Memory) -> None:
        begun.set()
        await anyio.sleep_forever()

    def call() -> None:
        try:
            thread.call(work, timeout=GUARD)
        except BaseException as error:  # noqa: BLE001
            raised.append(error)

    caller = threading.Thread(target=call)
    caller.start()
    assert begun.wait(GUARD)
    thread.stop(timeout=GUARD)
    caller.join(GUARD)

    assert [type(error) for error in raised] == [StoreUnavailable]


@pytest.mark.parametrize("error", [ConfigurationError("the home cannot be used"), InvalidInput("no")])
def test_why_a_memory_could_not_be_opened_is_told_to_whoever_calls(
    error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    bench = Bench(error=error)
    bench.may_open.set()
    for _ in range(2):
        with pytest.raises(type(error), match=str(error)):
            bench.thread.call(name_thread, timeout=GUARD)
    eventually(lambda: not bench.thread.alive)

    assert [vars(entry).get("action") for entry in caplog.records] == ["runtime.failed"]


def test_a_memory_that_an_error_ends_is_told_by_that_errors_kind_and_place(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    bench.fails_at_the_end = ZeroDivisionError("postgresql://someone:s3cret@host")
    thread = bench.opened()
    thread.stop(timeout=GUARD)

    (entry,) = caplog.records
    assert (entry.getMessage(), vars(entry)["cause"]) == ("the memory has ended by an error", "ZeroDivisionError")
    assert "_opening" in caplog.text
    assert "s3cret" not in caplog.text


def test_an_unexpected_reason_is_told_by_its_kind_alone(caplog: pytest.LogCaptureFixture) -> None:
    bench = Bench(error=ZeroDivisionError("postgresql://someone:s3cret@host"))
    bench.may_open.set()
    with pytest.raises(StoreUnavailable) as caught:
        bench.thread.call(name_thread, timeout=GUARD)

    assert "s3cret" not in str(caught.value) + caplog.text


class Agent:
    """Something that asks for background work and is dropped."""


@pytest.mark.parametrize("early", [True, False], ids=["before", "after"])
def test_nothing_of_work_that_is_done_stays_behind(bench: Bench, early: bool) -> None:
    if not early:
        bench.opened()
    done = threading.Event()

    def ask() -> weakref.ref[Agent]:
        agent = Agent()

        async def work(memory: Memory) -> Agent:
            done.set()
            return agent

        bench.thread.spawn(work, action="test")
        return weakref.ref(agent)

    reference = ask()
    bench.opened()
    assert done.wait(GUARD)
    bench.thread.call(name_thread, timeout=GUARD)
    gc.collect()

    assert reference() is None
