"""A memory that starts with work left over: what was turned away before the store served is not held against it."""

from __future__ import annotations

import asyncio

import anyio
import pytest
from tests.support.inprocess import GUARD, InProcess

from hermes_memory.application.breaker import STORE, Breaker, BreakerState
from hermes_memory.application.link import StoreLink
from hermes_memory.domain.errors import StoreUnavailable

AWAY = StoreUnavailable("the embedded database is still starting")


def opened() -> Breaker:
    breaker = Breaker(STORE, failures=1, delay=3_600.0)
    with pytest.raises(StoreUnavailable), breaker.guard():
        raise AWAY
    return breaker


async def test_a_store_that_has_just_become_usable_answers_the_first_question() -> None:
    breaker = opened()

    async def prepare() -> None:
        return

    link = StoreLink(prepare, repair=None, breaker=breaker, opened=lambda: None)
    running = asyncio.ensure_future(link.run())
    await link.ready(timeout=GUARD)
    await running

    assert breaker.state is BreakerState.CLOSED


def test_a_call_from_before_says_nothing_of_a_restored_service() -> None:
    breaker = Breaker(STORE, failures=1, delay=3_600.0)

    def fail_late() -> None:
        with breaker.guard():
            breaker.restore()
            raise AWAY

    with pytest.raises(StoreUnavailable):
        fail_late()

    assert breaker.state is BreakerState.CLOSED


async def test_a_refusal_that_comes_back_late_turns_no_question_away_after_one_was_answered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    parts = InProcess()
    monkeypatch.setattr(parts.store_breaker, "_jitter", lambda _: 3_600.0)
    begun, comes_back = anyio.Event(), anyio.Event()

    async def refuse_once() -> None:
        if not begun.is_set():
            begun.set()
            await comes_back.wait()
            raise AWAY

    monkeypatch.setattr(parts.delivery.applying, "meet", refuse_once)
    async with parts.running() as memory:
        desk = memory.view("marketing", session="s1")
        await desk.capture_turn("When do we launch?")
        await begun.wait()
        before = await desk.profile()
        comes_back.set()
        settled = await memory.settled(timeout=GUARD / 2)
        after = await desk.profile()

    assert settled
    assert before == after == []
    assert parts.store_breaker.state is BreakerState.CLOSED
