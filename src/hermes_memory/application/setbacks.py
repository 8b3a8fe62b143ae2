"""What can keep a batch from being applied, told apart by what follows from it."""

from __future__ import annotations


class Problem(Exception):
    """What became of a batch that was not applied.

    Attributes:
        reason: Short and free of content.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Refused(Problem):
    """One of the operations can never be applied."""


class Busy(Problem):
    """One of the lanes has to wait: the store is there, and somebody else holds what it needs."""


class Faulty(Problem):
    """Nobody knows what it is: an operation, the store, or this library."""


class Stopped(Exception):
    """Delivery as a whole has to pause.

    Attributes:
        seconds: For how long.
        obstacle: What an operator has to know or to mend, None when the store is merely out of reach.
    """

    def __init__(self, seconds: float, obstacle: str | None = None) -> None:
        super().__init__(obstacle)
        self.seconds = seconds
        self.obstacle = obstacle
