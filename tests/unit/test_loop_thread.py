"""The thread of a memory: what is asked of it before it is open, and after it could not be opened."""

from __future__ import annotations

import gc
import logging
import threading
import time
import weakref
from types import TracebackType

import pytest

from hermes_memory.application.memory import Memory
from hermes_memory.domain.errors import ConfigurationError, StoreUnavailable
from hermes_memory.hermes.guard import never_raises, nothing
from hermes_memory.hermes.loop_thread import LoopThread

GUARD = 60.0


class Marked:
    """Something that a piece of background work refers to."""


class Refusal:
    """The opening of a memory that cannot be opened, once it is let go on."""

    def __init__(self) -> None:
        self.may_go_on = threading.Event()

    async def __aenter__(self) -> Memory:
        self.may_go_on.wait(GUARD)
        raise ConfigurationError("the home cannot be used")

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nothing was opened."""


async def test_work_for_a_memory_that_could_not_be_opened_is_not_kept() -> None:
    opening = Refusal()
    thread = LoopThread(lambda: opening)
    kept: list[weakref.ref[Marked]] = []

    def ask() -> None:
        mark = Marked()
        kept.append(weakref.ref(mark))

        async def work(memory: Memory) -> Marked:
            return mark

        thread.spawn(work, action="test")

    ask()
    opening.may_go_on.set()
    deadline = time.monotonic() + GUARD
    while thread.alive and time.monotonic() < deadline:
        time.sleep(0.01)
    for _ in range(100):
        ask()
    gc.collect()

    assert not thread.alive
    assert [reference() for reference in kept] == [None] * 101


@pytest.mark.parametrize(("accepts", "level"), [(False, logging.INFO), (True, logging.WARNING)])
def test_a_write_that_was_not_accepted_is_told_louder_than_a_question_without_an_answer(
    caplog: pytest.LogCaptureFixture, accepts: bool, level: int
) -> None:
    @never_raises(nothing, accepts=accepts)
    def hook() -> None:
        raise StoreUnavailable("the local spool cannot be used for now")

    with caplog.at_level(logging.DEBUG, logger="hermes_memory.hermes.guard"):
        hook()

    assert [record.levelno for record in caplog.records] == [level]
