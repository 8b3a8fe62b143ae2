"""Who has time waits for a service that may be there: for the first probe, and for the outcome of one under way."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import anyio
import pytest
from tests.support.inprocess import GUARD

from hermes_memory.application import breaker as module
from hermes_memory.application.breaker import STORE, Breaker, BreakerState
from hermes_memory.domain.errors import StoreUnavailable

AWAY = StoreUnavailable("the database is away")
LONG = 3_600.0


def fail(breaker: Breaker) -> None:
    with suppress(StoreUnavailable), breaker.guard():
        raise AWAY


def suspected() -> Breaker:
    """Return a breaker that opened a moment ago and lets a probe pass in a moment."""
    breaker = Breaker(STORE, failures=1, delay=0.05)
    fail(breaker)
    return breaker


async def confirmed() -> Breaker:
    """Return a breaker whose last probe failed and which lets the next one pass now."""
    breaker = Breaker(STORE, failures=1, delay=0.001, longest_delay=0.001)
    fail(breaker)
    await due(breaker)
    fail(breaker)
    await due(breaker)
    return breaker


async def due(breaker: Breaker) -> None:
    with anyio.fail_after(GUARD):
        while not breaker.allows():
            await anyio.sleep(0.001)


@asynccontextmanager
async def probed(breaker: Breaker, ending: StoreUnavailable | None, end: anyio.Event) -> AsyncIterator[None]:
    """Have a probe under way that ends at `end`."""
    begun = anyio.Event()

    async def probe() -> None:
        with suppress(StoreUnavailable), breaker.guard():
            begun.set()
            await end.wait()
            if ending:
                raise ending

    with anyio.fail_after(GUARD):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(probe)
            await begun.wait()
            yield
            end.set()


async def ask(breaker: Breaker, timeout: float, answers: list[str]) -> None:
    try:
        async with breaker.awaited(timeout=timeout):
            answers.append("answered")
    except StoreUnavailable:
        answers.append("turned away")


async def test_while_all_is_well_nobody_waits_and_all_the_time_is_left() -> None:
    async with Breaker(STORE).awaited(timeout=LONG) as left:
        pass

    assert LONG - GUARD < left <= LONG


async def test_a_service_that_failed_once_is_waited_for_and_asked_again() -> None:
    breaker = suspected()
    with anyio.fail_after(GUARD):
        async with breaker.awaited(timeout=LONG) as left:
            state = breaker.state

    assert state is BreakerState.PROBING
    assert breaker.state is BreakerState.CLOSED
    assert left < LONG


@pytest.mark.parametrize(
    ("ending", "answer"), [(None, "answered"), (AWAY, "turned away")], ids=["it answers", "it does not"]
)
@pytest.mark.parametrize("known", [False, True], ids=["suspected", "known to be away"])
async def test_whoever_asks_during_a_probe_gets_its_outcome(
    ending: StoreUnavailable | None, answer: str, known: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PATIENCE", LONG)
    breaker = await confirmed() if known else suspected()
    await due(breaker)
    answers: list[str] = []
    end = anyio.Event()
    async with probed(breaker, ending, end), anyio.create_task_group() as askers:
        for _ in range(5):
            askers.start_soon(ask, breaker, LONG, answers)
        await anyio.wait_all_tasks_blocked()
        answers.append("the probe ends")
        monkeypatch.setattr(breaker, "_jitter", lambda _: LONG * 2)
        end.set()

    assert answers == ["the probe ends", *[answer] * 5]


async def test_of_many_who_wait_for_the_first_probe_one_makes_it_and_the_others_get_its_outcome() -> None:
    breaker = suspected()
    most = under_way = 0
    states: list[BreakerState] = []

    async def call() -> None:
        nonlocal most, under_way
        async with breaker.awaited(timeout=LONG):
            states.append(breaker.state)
            under_way += breaker.state is BreakerState.PROBING
            most = max(most, under_way)
            await anyio.sleep(0.01)

    with anyio.fail_after(GUARD):
        async with anyio.create_task_group() as tasks:
            for _ in range(5):
                tasks.start_soon(call)

    assert states == [BreakerState.PROBING, *[BreakerState.CLOSED] * 4]
    assert most == 1


async def test_a_probe_is_waited_for_during_half_of_the_callers_time_at_most() -> None:
    breaker = suspected()
    await due(breaker)
    answers: list[str] = []
    async with probed(breaker, None, anyio.Event()):
        await ask(breaker, 0.1, answers)

    assert answers == ["turned away"]


async def test_a_probe_of_a_service_known_to_be_away_is_waited_for_no_longer_than_a_moment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "PATIENCE", 0.01)
    breaker = await confirmed()
    answers: list[str] = []
    async with probed(breaker, None, anyio.Event()):
        await ask(breaker, LONG, answers)

    assert answers == ["turned away"]


async def test_a_service_that_is_away_is_not_waited_for() -> None:
    breaker = Breaker(STORE, failures=1, delay=LONG, longest_delay=LONG)
    fail(breaker)
    answers: list[str] = []
    with anyio.fail_after(GUARD):
        await ask(breaker, LONG * 4, answers)

    assert answers == ["turned away"]


async def test_whoever_has_too_little_time_for_the_first_probe_is_turned_away_at_once() -> None:
    breaker = Breaker(STORE, failures=1, delay=module.PATIENCE, jitter=lambda delay: delay)
    fail(breaker)
    answers: list[str] = []
    await ask(breaker, 0.01, answers)

    assert answers == ["turned away"]
    assert breaker.state is BreakerState.OPEN


async def test_a_service_that_is_seen_to_answer_lets_everybody_pass_who_waits() -> None:
    breaker = suspected()
    await due(breaker)
    answers: list[str] = []
    async with probed(breaker, AWAY, anyio.Event()), anyio.create_task_group() as askers:
        askers.start_soon(ask, breaker, LONG, answers)
        await anyio.wait_all_tasks_blocked()
        breaker.restore()

    assert answers == ["answered"]
