"""A circuit breaker: stop asking a service that does not answer, and find out when it does again.

Readers and writers share the one of a service, so that a question fails in microseconds instead of at its deadline
once the writer has found the service down, and the other way round.
"""

from __future__ import annotations

import random
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

import anyio

from hermes_memory.application.guarded import EMBEDDER, STORE, Service

__all__ = ["EMBEDDER", "PATIENCE", "STORE", "Breaker", "BreakerState", "Service"]

PATIENCE: Final = 1.0
"""Seconds for which a service that a probe has found away is waited for all the same, if the next one may answer."""
_GROWTH: Final = 2.0
_WAITING_SHARE: Final = 0.5
"""Share of a caller's time that may pass in waiting: the rest is for its call."""


class BreakerState(StrEnum):
    """Closed lets every call pass, open none, probing has let one pass and waits for its outcome."""

    CLOSED = "closed"
    OPEN = "open"
    PROBING = "probing"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Status:
    """Everything that changes, in one value: a reader in another thread sees it whole or not at all.

    Attributes:
        era: Grows with every opening and closing. Outcomes of calls that began in another era say nothing new.
        failures: Consecutive ones while closed.
        delay: Seconds to wait before the next probe, jitter apart.
        due: When that is, on the clock.
        confirmed: Whether a probe has failed since it opened: until then, the service is only suspected to be away.
    """

    state: BreakerState
    era: int
    failures: int
    delay: float
    due: float
    confirmed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class _Admission:
    """A call under way: the status it began under, and how many calls had succeeded by then."""

    status: _Status
    successes: int


def _spread(delay: float) -> float:
    return delay * random.uniform(0.8, 1.2)  # noqa: S311 - spreads load, guards no secret


class Breaker:
    """Opens after consecutive failures; after a delay lets exactly one probe pass; its outcome closes or reopens.

    Use it from one event loop. `state`, `allows` and `retry_after` may be read from any thread.

    A failed probe makes the next delay longer and changes nothing else. A probe that is cancelled has no outcome:
    the next one comes after the same delay. Calls that began before the breaker opened or closed no longer count
    when they end, nor does the failure of a call that began before another one succeeded: the success is the news.

    Args:
        service: What is guarded: which errors are failures, which are answers, and how a call is turned away.
        failures: Consecutive failures that open it, from 1.
        delay: Seconds from opening to the first probe; doubles with each failed probe.
        longest_delay: Seconds that the delay never exceeds. What the endpoint itself asks for is kept even so.
        clock: Seconds that only grow.
        jitter: Spreads a delay, so that the processes of a fleet do not probe together.
    """

    def __init__(
        self,
        service: Service,
        *,
        failures: int = 3,
        delay: float = 1.0,
        longest_delay: float = 60.0,
        clock: Callable[[], float] = time.monotonic,
        jitter: Callable[[float], float] = _spread,
    ) -> None:
        self._service = service
        self._threshold = failures
        self._first_delay = delay
        self._longest_delay = longest_delay
        self._clock = clock
        self._jitter = jitter
        self._status = _Status(state=BreakerState.CLOSED, era=0, failures=0, delay=delay, due=0.0)
        self._successes = 0
        self._turned = anyio.Event()

    @property
    def state(self) -> BreakerState:
        """What it does with calls now. Open also when the next call would be the probe."""
        return self._status.state

    @property
    def retry_after(self) -> float | None:
        """Seconds until a call may pass, 0 when it may pass now, None while a probe is under way."""
        status = self._status
        match status.state:
            case BreakerState.CLOSED:
                return 0.0
            case BreakerState.OPEN:
                return max(0.0, status.due - self._clock())
            case BreakerState.PROBING:
                return None

    def allows(self) -> bool:
        """Tell whether a call would pass now. Takes nothing: the next `guard` may still find the probe taken."""
        return self.retry_after == 0.0

    @property
    def away(self) -> bool:
        """Whether waiting is in vain: it is open, and a probe has failed since or none is due for a while."""
        wait = self.retry_after or 0.0
        return wait > 0 and (self._status.confirmed or wait > PATIENCE)

    @asynccontextmanager
    async def awaited(self, *, timeout: float) -> AsyncIterator[float]:
        """Let a call pass as `guard` does, but wait a while for a service that may be there.

        A service that failed once is probed within moments, and a probe under way ends soon: who has time for it is
        told what is so, not what was. A service that is `away` is not waited for.

        Args:
            timeout: Seconds that the call may take, waiting included. At most half of them pass in waiting.

        Yields:
            The seconds that are left.

        Raises:
            HermesMemoryError: As `guard` does.
        """
        started = anyio.current_time()
        await self._wait(started, timeout * _WAITING_SHARE)
        with self.guard():
            yield timeout - (anyio.current_time() - started)

    @contextmanager
    def guard(self) -> Iterator[None]:
        """Let one call pass, and learn from its outcome.

        A normal end is a success, and so is an error that only a service that is there can give. Any other end,
        cancellation among them, says nothing.

        Raises:
            HermesMemoryError: It is open, or another call is the probe: the service's own failure, raised at once,
                before the body runs.
        """
        admitted = self._admit()
        try:
            yield
        except self._service.failure as error:
            self._failed(admitted, getattr(error, "retry_after", None))
            raise
        except self._service.answers:
            self._succeeded(admitted)
            raise
        except BaseException:
            self._abandoned(admitted)
            raise
        self._succeeded(admitted)

    def restore(self) -> None:
        """Close: the service has just been seen to answer. Calls that began before no longer count when they end."""
        self._successes += 1
        self._close()

    async def _wait(self, started: float, longest: float) -> None:
        """Wait until a call may pass, waiting is in vain, or the time for it is over."""
        while not self.allows() and not self.away:
            allowed = min(longest, PATIENCE) if self._status.confirmed else longest
            left = started + allowed - anyio.current_time()
            wait = self.retry_after
            if left <= 0 or (wait or 0.0) > left:
                return
            with anyio.move_on_after(left if wait is None else wait):
                await self._turned.wait()

    def _admit(self) -> _Admission:
        if not self.allows():
            raise self._service.turn_away(self.retry_after)
        if self._status.state is BreakerState.OPEN:
            self._turn(replace(self._status, state=BreakerState.PROBING))
        return _Admission(status=self._status, successes=self._successes)

    def _succeeded(self, admitted: _Admission) -> None:
        if admitted.status.era != self._status.era:
            return
        self._successes += 1
        if admitted.status.state is BreakerState.PROBING:
            self._close()
        else:
            self._status = replace(self._status, failures=0)

    def _failed(self, admitted: _Admission, wished: float | None) -> None:
        if admitted.status.era != self._status.era or admitted.successes != self._successes:
            return
        if admitted.status.state is BreakerState.PROBING:
            self._open(min(admitted.status.delay * _GROWTH, self._longest_delay), wished, confirmed=True)
        elif self._status.failures + 1 < self._threshold:
            self._status = replace(self._status, failures=self._status.failures + 1)
        else:
            self._open(self._first_delay, wished, confirmed=False)

    def _abandoned(self, admitted: _Admission) -> None:
        # Not due at once: against an endpoint that hangs, every caller would wait as the probe until it gives up.
        status = admitted.status
        if status.era == self._status.era and status.state is BreakerState.PROBING:
            self._open(status.delay, None, confirmed=status.confirmed)

    def _close(self) -> None:
        era = self._status.era + 1
        self._turn(_Status(state=BreakerState.CLOSED, era=era, failures=0, delay=self._first_delay, due=0.0))

    def _open(self, delay: float, wished: float | None, *, confirmed: bool) -> None:
        wait = max(self._jitter(delay), wished or 0.0)
        self._turn(
            _Status(
                state=BreakerState.OPEN,
                era=self._status.era + 1,
                failures=0,
                delay=delay,
                due=self._clock() + wait,
                confirmed=confirmed,
            )
        )

    def _turn(self, status: _Status) -> None:
        """Take another state and tell those who wait for it."""
        self._status = status
        self._turned.set()
        self._turned = anyio.Event()
