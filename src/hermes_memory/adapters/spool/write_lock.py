"""The short lock between processes in front of every write."""

from __future__ import annotations

import random
import time
from pathlib import Path
from typing import Final

from hermes_memory.adapters.spool import standing
from hermes_memory.adapters.spool.lock import LockFile
from hermes_memory.domain.errors import StoreUnavailable

_PAUSE: Final = (0.0001, 0.0005)
"""Seconds between two tries. Longer ones let those who come back at once overtake those who wait."""


class WriteLock:
    """The flock in front of SQLite's own write lock, whose waiters sleep longer and longer and so starve.

    The kernel's own queue would be a little fairer, but waits for ever for a process that stands still.

    It is held within `with`, and may be taken again while it is. Its owner guards it with a lock between threads.

    Args:
        timeout: Seconds to wait at most.
    """

    def __init__(self, path: Path, *, timeout: float) -> None:
        self._file = LockFile(path)
        self._timeout = timeout
        self._depth = 0

    def __enter__(self) -> None:
        """Hold the lock.

        Raises:
            StoreUnavailable: Another process keeps it, or its file cannot be opened.
        """
        if self._depth == 0 and not self._locked():
            self._wait()
        self._depth += 1

    def __exit__(self, *_: object) -> None:
        """Hold it no more, unless it was taken before."""
        self._depth -= 1
        if self._depth == 0:
            self._file.unlock()

    def told(self) -> bytes:
        """Return what those who held the lock noted; without it, what may be about to change.

        Raises:
            OSError: The file cannot be read.
        """
        if self._depth == 0:
            self._file.renew()
        return self._file.read(standing.SIZE)

    def tell(self, stored: bytes) -> None:
        """Note for those who will hold the lock how the spool stands; where there is no room for it, nothing.

        Raises:
            OSError: The file cannot be written at all.
        """
        self._file.write(stored)

    def spoil(self) -> None:
        """Have whoever holds the lock next ask the database how the spool stands."""
        self.tell(standing.spoilt(self.told()))

    def forget(self) -> None:
        """Let go of the file without unlocking it for a process that shares the descriptor."""
        self._file.forget()
        self._depth = 0

    def _wait(self) -> None:
        deadline = time.monotonic() + self._timeout
        while not self._locked():
            if time.monotonic() > deadline:
                raise StoreUnavailable("another process keeps the local spool locked: is it stopped or hung?")
            time.sleep(random.uniform(*_PAUSE))  # noqa: S311 - spreads the waiters, guards nothing

    def _locked(self) -> bool:
        try:
            return self._file.try_lock()
        except OSError as error:
            raise StoreUnavailable("the lock file of the local spool cannot be opened") from error
