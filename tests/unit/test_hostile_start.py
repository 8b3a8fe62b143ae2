"""A memory that starts with work left over: what was turned away before the store served is not held against it."""

from __future__ import annotations

import asyncio

import pytest

from hermes_memory.application.breaker import STORE, Breaker, BreakerState
from hermes_memory.application.link import StoreLink
from hermes_memory.domain.errors import StoreUnavailable

GUARD = 60.0
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
