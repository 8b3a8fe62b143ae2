"""How much work an endpoint is given at a time: more while it answers quickly, less when it is slow, fails or says so.

Additive increase, multiplicative decrease (Chiu and Jain, 1989), with a doubling start as in TCP. Calls in flight are
given up before the size of a call, because a question of somebody who waits queues behind all of them.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

TARGET_SECONDS: Final = 1.0
"""A call that takes longer is a sign of a queue at the endpoint, in which questions wait as well."""
_CUT: Final = 0.5
_EASE: Final = 0.8
_GROW: Final = 1.25
_FIRST_PAUSE: Final = 0.5
_LONGEST_PAUSE: Final = 10.0
_START: Final = 2
_FORGET: Final = 500
"""Answered calls after which larger ones are tried again: the endpoint may have changed, or stumbled once."""


class Throttle:
    """Tells how many calls may be under way and how large each may be. All methods belong to the event loop.

    A call that began before the last decrease says nothing about what holds since then.

    Args:
        most: Calls under way at most, from 1.
        size: Texts a call at most, from 1.
        clock: Seconds that only grow.
    """

    def __init__(self, *, most: int, size: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._most = most
        self._allowed = size
        self._largest = size
        self._until_forgotten = 0
        self._clock = clock
        self._limit = float(min(_START, most))
        self._size = float(size)
        self._starting = True
        self._changed_at = clock()
        self._resume_at = 0.0
        self._pause = _FIRST_PAUSE

    @property
    def limit(self) -> int:
        """Calls that may be under way now."""
        return max(int(self._limit), 1)

    @property
    def size(self) -> int:
        """Texts that a call may hold now."""
        return max(int(self._size), 1)

    @property
    def pause(self) -> float:
        """Seconds until the endpoint wants to be asked again; 0 when it may be asked now."""
        return max(self._resume_at - self._clock(), 0.0)

    def answered(self, began: float) -> None:
        """Learn from a call that was answered.

        Args:
            began: When it began, on the clock.
        """
        self._pause = _FIRST_PAUSE
        self._until_forgotten -= 1
        if self._until_forgotten <= 0:
            self._largest = self._allowed
        if self._clock() - began > TARGET_SECONDS:  # which a busy machine of our own may cause, too
            self._decrease(began, _EASE)
        elif self._size < self._largest:
            self._size = min(self._size * _GROW + 1, self._largest)
        else:
            self._limit = min(self._limit + (1.0 if self._starting else 1.0 / self._limit), self._most)

    def busy(self, began: float, wished: float | None) -> None:
        """Learn from a call that the endpoint turned away; ask it again after what it wished, or a growing pause."""
        self._starting = False
        self._decrease(began, _CUT)
        self._resume_at = max(self._resume_at, self._clock() + (self._pause if wished is None else wished))
        if wished is None:
            self._pause = min(self._pause * 2, _LONGEST_PAUSE)

    def failed(self, began: float) -> None:
        """Learn from a call that had no answer in time, or was cut off: it may have been too large."""
        if began >= self._changed_at:
            self._size = max(self._size * _CUT, 1.0)
        self._starting = False
        self._decrease(began, _CUT)

    def too_large(self, size: int) -> None:
        """Remember that a call of `size` texts was refused and its halves answered: none is that large for long."""
        self._until_forgotten = _FORGET
        self._largest = min(self._largest, max(size // 2, 1))
        self._size = min(self._size, self._largest)

    def _decrease(self, began: float, factor: float) -> None:
        if began < self._changed_at:
            return
        if self._limit > 1:
            self._limit = max(self._limit * factor, 1.0)
        else:
            self._size = max(self._size * factor, 1.0)
        self._changed_at = self._clock()
