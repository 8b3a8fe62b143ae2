"""A bounded wait that can also be called off."""

from __future__ import annotations

import threading
import time

from hermes_memory.domain.errors import StoreUnavailable

_FIRST_PAUSE_SECONDS = 0.01
_LONGEST_PAUSE_SECONDS = 0.2


class Patience:
    """How long a call may still wait. Nothing tells us about a lock or a process, so we look again and again.

    Args:
        seconds: The whole time allowed.
        called_off: When set, the wait ends at the next pause.
    """

    __slots__ = ("_called_off", "_end", "_step")

    def __init__(self, seconds: float, called_off: threading.Event | None = None) -> None:
        self._end = time.monotonic() + seconds
        self._step = _FIRST_PAUSE_SECONDS
        self._called_off = called_off or threading.Event()

    @property
    def remaining(self) -> float:
        """Seconds left, never below zero."""
        return max(0.0, self._end - time.monotonic())

    def pause(self, waiting_for: str) -> None:
        """Sleep a moment before the next look, a little longer each time.

        Raises:
            StoreUnavailable: The time is over, or the wait was called off.
        """
        step, self._step = self._step, min(self._step * 1.5, _LONGEST_PAUSE_SECONDS)
        if self._called_off.wait(min(step, self.remaining)):
            raise StoreUnavailable("The embedded Postgres was released while it was being started")
        if self.remaining <= 0.0:
            raise StoreUnavailable(f"Time is over while waiting for {waiting_for}")
