"""The breaker opens on consecutive failures, probes with one call, and is moved by nothing else."""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_memory.application.breaker import EMBEDDER, Breaker, BreakerState
from hermes_memory.domain.errors import EmbedderUnavailable, EmbeddingRejected


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def exact(delay: float) -> float:
    return delay


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def breaker(clock: Clock) -> Breaker:
    return Breaker(EMBEDDER, failures=3, delay=1.0, longest_delay=8.0, clock=clock, jitter=exact)


def fail(breaker: Breaker, retry_after: float | None = None) -> None:
    with suppress(EmbedderUnavailable), breaker.guard():
        raise EmbedderUnavailable("down", retry_after=retry_after)


def succeed(breaker: Breaker) -> None:
    with breaker.guard():
        pass


def opened(breaker: Breaker) -> None:
    for _ in range(3):
        fail(breaker)


def test_it_is_closed_at_first_and_stays_so_while_calls_succeed(breaker: Breaker) -> None:
    for _ in range(10):
        succeed(breaker)

    assert breaker.state is BreakerState.CLOSED
    assert breaker.allows()


def test_it_opens_with_the_last_of_the_consecutive_failures(breaker: Breaker) -> None:
    states = []
    for _ in range(3):
        fail(breaker)
        states.append(breaker.state)

    assert states == [BreakerState.CLOSED, BreakerState.CLOSED, BreakerState.OPEN]


def test_a_success_in_between_starts_the_count_anew(breaker: Breaker) -> None:
    for _ in range(5):
        fail(breaker)
        fail(breaker)
        succeed(breaker)

    assert breaker.state is BreakerState.CLOSED


def test_an_open_breaker_refuses_before_the_call_is_made_and_says_how_long(breaker: Breaker, clock: Clock) -> None:
    opened(breaker)
    clock.now += 0.25
    made = False

    with pytest.raises(EmbedderUnavailable) as caught, breaker.guard():
        made = True

    assert not made
    assert caught.value.retry_after == pytest.approx(0.75)


def test_a_refusal_by_the_breaker_itself_is_no_further_failure(breaker: Breaker, clock: Clock) -> None:
    opened(breaker)
    for _ in range(50):
        fail(breaker)
    clock.now += 1.0

    assert breaker.allows()


def test_after_the_delay_exactly_one_call_passes(breaker: Breaker, clock: Clock) -> None:
    opened(breaker)
    clock.now += 1.0
    refused = 0

    with breaker.guard():
        state = breaker.state
        for _ in range(5):
            with suppress(EmbedderUnavailable):
                succeed(breaker)
                continue
            refused += 1

    assert state is BreakerState.PROBING
    assert refused == 5
    assert breaker.state is BreakerState.CLOSED


async def test_of_many_tasks_that_wait_for_the_probe_one_gets_it(breaker: Breaker, clock: Clock) -> None:
    opened(breaker)
    clock.now += 1.0
    calls = 0

    async def call() -> bool:
        nonlocal calls
        with breaker.guard():
            calls += 1
            await asyncio.sleep(0)
            raise EmbedderUnavailable("still down")

    outcomes = await asyncio.gather(*(call() for _ in range(20)), return_exceptions=True)

    assert calls == 1
    assert all(isinstance(outcome, EmbedderUnavailable) for outcome in outcomes)
    assert breaker.state is BreakerState.OPEN


def test_looking_does_not_take_the_probe(breaker: Breaker, clock: Clock) -> None:
    opened(breaker)
    clock.now += 1.0

    assert [breaker.allows() for _ in range(3)] == [True] * 3
    assert breaker.state is BreakerState.OPEN


def test_failed_probes_double_the_delay_up_to_its_bound(breaker: Breaker, clock: Clock) -> None:
    opened(breaker)
    waits = []
    for _ in range(6):
        wait = breaker.retry_after
        assert wait is not None
        waits.append(wait)
        clock.now += wait
        fail(breaker)

    assert waits == [1.0, 2.0, 4.0, 8.0, 8.0, 8.0]


def test_a_success_of_the_probe_closes_it_and_the_next_opening_starts_with_the_first_delay(
    breaker: Breaker, clock: Clock
) -> None:
    opened(breaker)
    for wait in (1.0, 2.0):
        clock.now += wait
        fail(breaker)
    clock.now += 4.0
    succeed(breaker)
    fail(breaker)
    fail(breaker)
    state = breaker.state
    fail(breaker)

    assert state is BreakerState.CLOSED
    assert breaker.retry_after == 1.0


def test_the_wish_of_the_endpoint_counts_when_it_is_longer(breaker: Breaker, clock: Clock) -> None:
    fail(breaker)
    fail(breaker)
    fail(breaker, retry_after=30.0)
    first = breaker.retry_after
    clock.now += 30.0
    fail(breaker, retry_after=0.5)

    assert first == 30.0
    assert breaker.retry_after == 2.0


def test_a_rejected_text_shows_that_the_embedder_is_there(breaker: Breaker, clock: Clock) -> None:
    opened(breaker)
    clock.now += 1.0
    with suppress(EmbeddingRejected), breaker.guard():
        raise EmbeddingRejected("refused")

    assert breaker.state is BreakerState.CLOSED


def test_rejected_texts_never_open_it(breaker: Breaker) -> None:
    for _ in range(20):
        with suppress(EmbeddingRejected), breaker.guard():
            raise EmbeddingRejected("refused")

    assert breaker.state is BreakerState.CLOSED


def test_a_cancelled_call_says_nothing(breaker: Breaker) -> None:
    fail(breaker)
    fail(breaker)
    with suppress(asyncio.CancelledError), breaker.guard():
        raise asyncio.CancelledError
    state = breaker.state
    fail(breaker)

    assert state is BreakerState.CLOSED
    assert breaker.state is BreakerState.OPEN


def test_a_cancelled_probe_gives_its_place_away_after_the_same_delay(breaker: Breaker, clock: Clock) -> None:
    opened(breaker)
    clock.now += 1.0
    with suppress(asyncio.CancelledError), breaker.guard():
        raise asyncio.CancelledError

    assert breaker.state is BreakerState.OPEN
    assert breaker.retry_after == 1.0


def test_a_late_failure_of_a_call_from_before_the_opening_changes_nothing(breaker: Breaker, clock: Clock) -> None:
    with suppress(EmbedderUnavailable), breaker.guard():
        opened(breaker)
        clock.now += 1.0
        raise EmbedderUnavailable("late", retry_after=500.0)

    assert breaker.allows()


def test_a_late_success_of_a_call_from_before_the_opening_does_not_close_it(breaker: Breaker) -> None:
    with breaker.guard():
        opened(breaker)

    assert breaker.state is BreakerState.OPEN


def test_a_late_failure_from_before_the_opening_does_not_count_once_it_is_closed_again(
    breaker: Breaker, clock: Clock
) -> None:
    with suppress(EmbedderUnavailable), breaker.guard():
        opened(breaker)
        clock.now += 1.0
        succeed(breaker)
        fail(breaker)
        fail(breaker)
        raise EmbedderUnavailable("late")

    assert breaker.state is BreakerState.CLOSED


def test_a_failed_probe_does_not_disturb_what_is_still_under_way(breaker: Breaker, clock: Clock) -> None:
    with breaker.guard():
        opened(breaker)
        clock.now += 1.0
        fail(breaker)
        wait = breaker.retry_after

    assert wait == 2.0
    assert breaker.retry_after == 2.0


def test_the_failure_of_a_call_that_began_before_another_one_succeeded_is_no_news(clock: Clock) -> None:
    breaker = Breaker(EMBEDDER, failures=1, clock=clock, jitter=exact)
    with suppress(EmbedderUnavailable), breaker.guard():
        succeed(breaker)
        raise EmbedderUnavailable("refused just before it came back")

    assert breaker.state is BreakerState.CLOSED


def test_the_failure_of_a_call_that_began_after_the_last_success_is_news_whatever_ended_in_between(
    clock: Clock,
) -> None:
    breaker = Breaker(EMBEDDER, failures=2, clock=clock, jitter=exact)
    succeed(breaker)
    with suppress(EmbedderUnavailable), breaker.guard():
        fail(breaker)
        raise EmbedderUnavailable("down")

    assert breaker.state is BreakerState.OPEN


def test_a_service_is_away_once_a_probe_has_failed_and_until_the_next_one(breaker: Breaker, clock: Clock) -> None:
    seen = [breaker.away]
    opened(breaker)
    seen.append(breaker.away)
    clock.now += 1.0
    fail(breaker)
    seen.append(breaker.away)
    clock.now += 2.0
    seen.append(breaker.away)
    with breaker.guard():
        seen.append(breaker.away)
    seen.append(breaker.away)

    assert seen == [False, False, True, False, False, False]


def test_a_service_that_asks_to_be_left_alone_for_long_is_away_from_the_first_failure_on(breaker: Breaker) -> None:
    fail(breaker)
    fail(breaker)
    fail(breaker, retry_after=30.0)

    assert breaker.away


def test_delays_are_spread_by_the_given_jitter(clock: Clock) -> None:
    breaker = Breaker(EMBEDDER, failures=1, delay=4.0, clock=clock, jitter=lambda delay: delay / 2)
    fail(breaker)

    assert breaker.retry_after == 2.0


def test_the_default_jitter_stays_near_the_delay() -> None:
    for _ in range(100):
        breaker = Breaker(EMBEDDER, failures=1, delay=10.0, clock=lambda: 0.0)
        fail(breaker)

        assert breaker.retry_after is not None
        assert 8.0 <= breaker.retry_after <= 12.0


def test_another_thread_reads_the_state(breaker: Breaker) -> None:
    opened(breaker)
    seen: list[tuple[BreakerState, bool]] = []
    reader = threading.Thread(target=lambda: seen.append((breaker.state, breaker.allows())))
    reader.start()
    reader.join(60)

    assert seen == [(BreakerState.OPEN, False)]


@given(st.lists(st.tuples(st.sampled_from(["fail", "succeed", "cancel", "reject"]), st.floats(0, 5)), max_size=60))
def test_whatever_happens_it_lets_calls_pass_again_once_the_longest_delay_is_over(
    steps: list[tuple[str, float]],
) -> None:
    clock = Clock()
    breaker = Breaker(EMBEDDER, failures=2, delay=1.0, longest_delay=8.0, clock=clock, jitter=exact)
    ends: dict[str, BaseException] = {
        "fail": EmbedderUnavailable("down"),
        "cancel": asyncio.CancelledError(),
        "reject": EmbeddingRejected("refused"),
    }
    for step, wait in steps:
        clock.now += wait
        with suppress(EmbedderUnavailable, EmbeddingRejected, asyncio.CancelledError), breaker.guard():
            if step in ends:
                raise ends[step]
    clock.now += 8.0

    assert breaker.allows()
    assert breaker.state is not BreakerState.PROBING
