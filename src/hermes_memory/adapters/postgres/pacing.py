"""Keeps a large batch from holding up the event loop, on which searches go on meanwhile."""

from __future__ import annotations

import time
from typing import Final

from anyio.lowlevel import checkpoint

HOLD_SECONDS: Final = 0.002
"""How long work may go on before others get their turn. Asking more often would cost more than the work itself."""
VALUES_A_STATEMENT: Final = 1_000
"""The driver encodes so many values of arrays in about a millisecond, and lets nobody else run meanwhile."""


class Pace:
    """Gives the loop a turn when work has held it for a while."""

    __slots__ = ("_since",)

    def __init__(self) -> None:
        self._since = time.perf_counter()

    async def breathe(self) -> None:
        """Let others run if this task has run for long enough. To be called after each short piece of work."""
        if time.perf_counter() - self._since > HOLD_SECONDS:
            await checkpoint()
            self._since = time.perf_counter()
