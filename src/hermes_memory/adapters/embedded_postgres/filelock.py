"""Locks that the kernel drops when their holder dies, however it dies.

Each lock is an ``flock`` on its own open file description. That gives three properties the supervisor rests on: two
locks exclude each other also inside one process, a descriptor handed to a child keeps the lock held for the life
of that child, and no lock outlives its processes.
"""

from __future__ import annotations

import fcntl
import os
import weakref
from pathlib import Path
from types import TracebackType
from typing import Final

from hermes_memory.adapters.embedded_postgres.files import open_private
from hermes_memory.adapters.embedded_postgres.patience import Patience


class FileLock:
    """One open lock file. It holds nothing until one of the ``try_`` methods says so.

    Args:
        path: The lock file, created empty when missing. It is never removed, because a new file of the same name would
            be a different lock.
        create: Whether to create it.

    Raises:
        OSError: The file cannot be opened.
    """

    def __init__(self, path: Path, *, create: bool = True) -> None:
        self._descriptor = -1
        self._descriptor = open_private(path, os.O_RDWR | (os.O_CREAT if create else 0))
        _open_locks.add(self)

    @property
    def descriptor(self) -> int:
        """The open file descriptor, to be handed to a child that shall hold the lock too."""
        return self._descriptor

    @property
    def inode(self) -> int:
        """The number of the file, unique for as long as anybody has it open."""
        return os.fstat(self._descriptor).st_ino

    def try_exclusive(self) -> bool:
        """Take the lock alone, or return False when anybody else holds it."""
        return self._try(fcntl.LOCK_EX)

    def try_shared(self) -> bool:
        """Take the lock among others, or return False when somebody holds it alone."""
        return self._try(fcntl.LOCK_SH)

    def wait_exclusive(self, patience: Patience) -> None:
        """Take the lock alone, waiting for it.

        Raises:
            StoreUnavailable: Others held it until the time was over.
        """
        while not self.try_exclusive():
            patience.pause("another process that starts or stops the embedded Postgres")

    def release(self) -> None:
        """Give the lock up, also on behalf of any copy of the descriptor, and close the file. May be called twice."""
        if self._descriptor >= 0:
            fcntl.flock(self._descriptor, fcntl.LOCK_UN)
        self.abandon()

    def abandon(self) -> None:
        """Close the file only: children that were handed the descriptor go on holding the lock. May be called twice."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    def __enter__(self) -> FileLock:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()

    def __del__(self) -> None:
        self.abandon()

    def _try(self, operation: int) -> bool:
        try:
            fcntl.flock(self._descriptor, operation | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


_open_locks: Final[weakref.WeakSet[FileLock]] = weakref.WeakSet()


def _leave_locks_to_the_parent() -> None:
    for lock in list(_open_locks):
        lock.abandon()


# A forked child shares the descriptions of its parent and would keep the parent's locks alive after its death.
os.register_at_fork(after_in_child=_leave_locks_to_the_parent)
