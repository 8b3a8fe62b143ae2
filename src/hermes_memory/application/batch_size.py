"""How many operations go into one transaction: more while the store is quick, fewer when it is not."""

from __future__ import annotations

from typing import Final

QUICK_SECONDS: Final = 0.25
"""A full batch that takes less may be followed by a larger one."""
SLOW_SECONDS: Final = 1.0
"""One that takes longer holds locks, and whoever waits for its own write, for too long."""
SMALL_BATCH: Final = 100
"""What takes long even so takes even longer in smaller parts: then the whole machine is slow."""
_GROWTH: Final = 1.5


class BatchSize:
    """Adapts to how long batches take.

    Args:
        start: Operations at first.
        most: Operations at most.

    Attributes:
        limit: Operations that the next batch may have, from 1.
    """

    def __init__(self, start: int, *, most: int) -> None:
        self._most = max(start, most)
        self.limit = start

    def took(self, seconds: float, operations: int) -> None:
        """Learn from a batch that was applied. What was not full tells nothing of a larger one."""
        if seconds > SLOW_SECONDS:
            self.limit = min(self.limit, max(SMALL_BATCH, operations // 2))
        elif seconds < QUICK_SECONDS and operations >= self.limit:
            self.limit = min(self._most, int(self.limit * _GROWTH) + 1)

    def failed(self, seconds: float, operations: int) -> None:
        """Learn from a batch that was not applied. One that failed at once did not fail for its size."""
        if seconds > SLOW_SECONDS:
            self.limit = max(1, min(self.limit, operations) // 2)
