"""Clocks that go as a test wants them to."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import count


def ticking() -> Callable[[], datetime]:
    """Return a clock that is a second later each time that it is asked."""
    seconds = count(1)
    return lambda: datetime(2024, 6, 1, tzinfo=UTC) + timedelta(seconds=next(seconds))
