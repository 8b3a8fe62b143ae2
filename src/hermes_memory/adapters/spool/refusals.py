"""Counting what the spool refuses, and telling once that it is full and once that it has room again."""

from __future__ import annotations

import logging
import threading
from typing import Final

logger = logging.getLogger(__name__)

ROOM_AGAIN: Final = 0.9
"""Share of a bound below which a spool that was full has room again: at the bound itself it would flutter."""


class Refusals:
    """Any thread may call."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._unnoted = 0
        self._full = False

    @property
    def unnoted(self) -> int:
        """How many refusals the file does not know of yet."""
        return self._unnoted

    @property
    def are_due_to_room(self) -> bool:
        """Whether something was refused for want of room, and there has been none since."""
        return self._full

    def take(self) -> int:
        """Return the refusals to note in the file; give them back when that fails."""
        with self._lock:
            taken, self._unnoted = self._unnoted, 0
        return taken

    def add(self, refused: int = 1) -> None:
        """Count refusals that are not in the file."""
        with self._lock:
            self._unnoted += refused

    def full(self, *, of: str) -> None:
        """Note that something was refused for want of room, in the spool or on the disk."""
        with self._lock:
            told, self._full = self._full, True
        if not told:
            logger.error(
                "the local spool is full: new writes are refused until there is room, what was accepted is kept",
                extra={"action": "spool.full", "of": of},
            )

    def accepted(self, fill: float) -> None:
        """Note that something was accepted, and which share of the bounds is taken now."""
        if not self._full or fill >= ROOM_AGAIN:
            return
        with self._lock:
            told, self._full = not self._full, False
        if not told:
            logger.info("the local spool has room again", extra={"action": "spool.room"})
