"""How much an endpoint is given: more while it is quick, less when it is slow, fails or asks for less."""

from __future__ import annotations

import pytest

from hermes_memory.application.throttle import TARGET_SECONDS, Throttle


class Clock:
    """Time that passes when told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Endpoint:
    """A throttle in front of calls that take as long as told."""

    def __init__(self, *, most: int = 8, size: int = 64) -> None:
        self.clock = Clock()
        self.throttle = Throttle(most=most, size=size, clock=self.clock)

    def answers(self, calls: int, seconds: float = 0.2) -> None:
        for _ in range(calls):
            began = self.clock.now
            self.clock.now += seconds
            self.throttle.answered(began)


@pytest.fixture
def endpoint() -> Endpoint:
    return Endpoint()


def test_a_quick_endpoint_is_soon_given_all_it_may_have(endpoint: Endpoint) -> None:
    before = endpoint.throttle.limit
    endpoint.answers(6)

    assert before == 2
    assert (endpoint.throttle.limit, endpoint.throttle.size) == (8, 64)
    endpoint.answers(100)
    assert endpoint.throttle.limit == 8


def test_one_call_at_a_time_stays_one() -> None:
    endpoint = Endpoint(most=1)
    endpoint.answers(50)

    assert endpoint.throttle.limit == 1


def test_a_slow_endpoint_is_given_fewer_calls_and_then_smaller_ones(endpoint: Endpoint) -> None:
    endpoint.answers(6)
    endpoint.answers(12, TARGET_SECONDS * 2)

    assert endpoint.throttle.limit == 1
    assert endpoint.throttle.size < 64
    endpoint.answers(200, TARGET_SECONDS * 2)
    assert (endpoint.throttle.limit, endpoint.throttle.size) == (1, 1)


def test_what_was_slow_gets_larger_calls_first_and_more_of_them_then(endpoint: Endpoint) -> None:
    endpoint.answers(40, TARGET_SECONDS * 2)
    small = endpoint.throttle.size
    endpoint.answers(4)
    larger, still = endpoint.throttle.size, endpoint.throttle.limit
    endpoint.answers(40)

    assert small < larger < 64
    assert still == 1
    assert (endpoint.throttle.limit, endpoint.throttle.size) == (8, 64)


def test_a_busy_endpoint_is_left_alone_for_as_long_as_it_asks_and_given_half(endpoint: Endpoint) -> None:
    endpoint.answers(6)
    endpoint.throttle.busy(endpoint.clock.now, 7.0)

    assert endpoint.throttle.limit == 4
    assert endpoint.throttle.pause == 7.0
    endpoint.clock.now += 7.0
    assert endpoint.throttle.pause == 0.0


def test_calls_that_fail_together_are_one_sign(endpoint: Endpoint) -> None:
    endpoint.answers(6)
    began = endpoint.clock.now
    endpoint.clock.now += 0.1
    for _ in range(8):
        endpoint.throttle.busy(began, 1.0)

    assert endpoint.throttle.limit == 4


def test_without_a_wish_the_pause_grows_up_to_a_bound_and_an_answer_ends_that(endpoint: Endpoint) -> None:
    pauses = []
    for _ in range(8):
        endpoint.throttle.busy(endpoint.clock.now, None)
        pauses.append(endpoint.throttle.pause)
        endpoint.clock.now += pauses[-1]
    endpoint.answers(1)
    endpoint.throttle.busy(endpoint.clock.now, None)

    assert pauses == [0.5, 1.0, 2.0, 4.0, 8.0, 10.0, 10.0, 10.0]
    assert endpoint.throttle.pause == 0.5


def test_after_a_setback_calls_are_added_slowly(endpoint: Endpoint) -> None:
    endpoint.answers(6)
    endpoint.throttle.busy(endpoint.clock.now, 0.0)
    endpoint.answers(4)

    assert endpoint.throttle.limit in {4, 5}


def test_a_call_without_an_answer_makes_calls_fewer_and_smaller(endpoint: Endpoint) -> None:
    endpoint.answers(6)
    endpoint.throttle.failed(endpoint.clock.now)

    assert (endpoint.throttle.limit, endpoint.throttle.size) == (4, 32)


def test_a_call_that_was_too_large_is_not_repeated_at_that_size_for_long(endpoint: Endpoint) -> None:
    endpoint.throttle.too_large(64)
    endpoint.answers(100)
    bounded = endpoint.throttle.size
    endpoint.answers(1_000)

    assert bounded == 32
    assert endpoint.throttle.size == 64
