"""A limit in time for a whole run, so that a slow machine yields fewer figures and not a longer wait."""

from __future__ import annotations

import time


class Clock:
    """Counts down from the construction on."""

    def __init__(self, seconds: float) -> None:
        """Allow `seconds` in all."""
        self.limit = seconds
        self._started = time.monotonic()

    @property
    def spent(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self._started

    @property
    def left(self) -> float:
        """Seconds that remain, 0 when none do."""
        return max(0.0, self.limit - self.spent)

    def within(self, seconds: float) -> float:
        """Return `seconds`, or what is left when that is less."""
        return min(seconds, self.left)

    def part(self, share: float) -> Clock:
        """Return the clock of a part that may take a share, up to 1, of what is left."""
        return Clock(self.left * share)
