"""Importing in the background: a process that forks meanwhile waits, or its child would have half a module for ever."""

from __future__ import annotations

import os
import threading
from types import TracebackType
from typing import Final

WAIT_SECONDS: Final = 30.0
"""Longest that a fork waits, because the thread that forks may hold what an import needs. On a machine that others keep
busy loading everything takes ten seconds and more."""


class Loading:
    """Held by a thread, as a context manager, while it imports. A thread may hold it again."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._held_for_fork = False
        os.register_at_fork(before=self._before, after_in_parent=self._in_parent, after_in_child=self._in_child)

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lock.release()

    def _before(self) -> None:
        self._held_for_fork = self._lock.acquire(timeout=WAIT_SECONDS)

    def _in_parent(self) -> None:
        if self._held_for_fork:
            self._held_for_fork = False
            self._lock.release()

    def _in_child(self) -> None:
        # Whoever held it is not there, and a fork by C code comes here without the one before.
        self._lock = threading.RLock()
        self._held_for_fork = False


LOADING: Final = Loading()
"""The one of this process."""
