"""A circuit breaker: stop asking a service that does not answer, and find out when it does again.

Readers and writers share the one of a service, so that a question fails in microseconds instead of at its deadline
once the writer has found the service down, and the other way round.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from hermes_memory.domain.errors import (
    DeliveryRejected,
    EmbedderUnavailable,
    EmbeddingRejected,
    HermesMemoryError,
    SchemaNotApplied,
    StoreUnavailable,
)

_GROWTH: Final = 2.0


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
    """

    state: BreakerState
    era: int
    failures: int
    delay: float
    due: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """A service that may be out of reach.

    Attributes:
        failure: The error that says so.
        answers: Errors that show that it is there.
        turn_away: Makes the error for a call that is not let through, from the seconds until one may pass.
    """

    failure: type[HermesMemoryError]
    answers: tuple[type[HermesMemoryError], ...]
    turn_away: Callable[[float | None], HermesMemoryError]


EMBEDDER: Final = Service(
    failure=EmbedderUnavailable,
    answers=(EmbeddingRejected,),
    turn_away=lambda wait: EmbedderUnavailable(
        "the embedder did not answer of late and is left alone", retry_after=wait
    ),
)
STORE: Final = Service(
    failure=StoreUnavailable,
    answers=(DeliveryRejected, SchemaNotApplied),
    turn_away=lambda _wait: StoreUnavailable(
        "the database is out of reach; what was accepted is kept and recall returns with it"
    ),
)


def _spread(delay: float) -> float:
    return delay * random.uniform(0.8, 1.2)  # noqa: S311 - spreads load, guards no secret


class Breaker:
    """Opens after consecutive failures; after a delay lets exactly one probe pass; its outcome closes or reopens.

    Use it from one event loop. `state`, `allows` and `retry_after` may be read from any thread.

    A failed probe makes the next delay longer and changes nothing else. A probe that is cancelled has no outcome:
    the next one comes after the same delay. Calls that began before the breaker opened or closed no longer count
    when they end.

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
        self._close(self._status)

    def _admit(self) -> _Status:
        """Return the status that the call begins under."""
        if not self.allows():
            raise self._service.turn_away(self.retry_after)
        if self._status.state is BreakerState.OPEN:
            self._status = replace(self._status, state=BreakerState.PROBING)
        return self._status

    def _succeeded(self, admitted: _Status) -> None:
        if admitted.era != self._status.era:
            return
        if admitted.state is BreakerState.PROBING:
            self._close(admitted)
        else:
            self._status = replace(self._status, failures=0)

    def _failed(self, admitted: _Status, wished: float | None) -> None:
        if admitted.era != self._status.era:
            return
        if admitted.state is BreakerState.PROBING:
            self._open(min(admitted.delay * _GROWTH, self._longest_delay), wished)
        elif self._status.failures + 1 < self._threshold:
            self._status = replace(self._status, failures=self._status.failures + 1)
        else:
            self._open(self._first_delay, wished)

    def _abandoned(self, admitted: _Status) -> None:
        # Not due at once: against an endpoint that hangs, every caller would wait as the probe until it gives up.
        if admitted.era == self._status.era and admitted.state is BreakerState.PROBING:
            self._open(admitted.delay, None)

    def _close(self, status: _Status) -> None:
        self._status = _Status(
            state=BreakerState.CLOSED, era=status.era + 1, failures=0, delay=self._first_delay, due=0.0
        )

    def _open(self, delay: float, wished: float | None) -> None:
        wait = max(self._jitter(delay), wished or 0.0)
        self._status = _Status(
            state=BreakerState.OPEN,
            era=self._status.era + 1,
            failures=0,
            delay=delay,
            due=self._clock() + wait,
        )
