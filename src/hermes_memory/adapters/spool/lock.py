"""Locks between processes, and the long one that makes a leader."""

from __future__ import annotations

import fcntl
import os
import threading
import time
from pathlib import Path
from typing import Final

from hermes_memory.adapters.spool.files import identity_under, open_private, prepare_directory
from hermes_memory.adapters.spool.forks import watch_forks
from hermes_memory.domain.errors import StoreUnavailable

_AT_ONCE: Final = fcntl.LOCK_EX | fcntl.LOCK_NB


class LockFile:
    """A file on which one holder at a time has the flock. Not thread-safe, and not aware of forks: its owner is."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._name = os.fspath(path)
        self._descriptor: int | None = None
        self._identity = (0, 0)

    def try_lock(self) -> bool:
        """Lock if nobody else does; also False when the file was replaced under the lock (ask again)."""
        try:
            fcntl.flock(self._opened(), _AT_ONCE)
        except BlockingIOError:
            return False
        if identity_under(self._name) == self._identity:
            return True
        self.forget()
        return False

    def current(self) -> bool:
        """Tell whether the descriptor still is the file that others would open under this name."""
        return self._descriptor is not None and identity_under(self._name) == self._identity

    def read(self, size: int) -> bytes:
        """Return the beginning of the file that was locked, or of the one that would be. It may be about to change."""
        return os.pread(self._opened(), size, 0)

    def renew(self) -> None:
        """Let go of a file that was replaced. Not under the lock."""
        if self._descriptor is not None and not self.current():
            self.forget()

    def write(self, text: bytes) -> None:
        """Put a text at the beginning of the file, in the place of one as long, or leave none. Under the lock."""
        descriptor = self._opened()
        try:
            os.pwrite(descriptor, text, 0)
        except OSError:  # a full disk, mostly
            os.ftruncate(descriptor, 0)

    def sign(self, text: bytes) -> None:
        """Write who holds the lock into the file. Under the lock."""
        if self._descriptor is not None:
            os.ftruncate(self._descriptor, 0)
            os.pwrite(self._descriptor, text, 0)

    def unlock(self) -> None:
        """Unlock for good, also for children that share the descriptor, and keep the file open."""
        if self._descriptor is not None:
            fcntl.flock(self._descriptor, fcntl.LOCK_UN)

    def forget(self) -> None:
        """Close the descriptor. The lock of another process that shares it stays."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _opened(self) -> int:
        if self._descriptor is None:
            self._descriptor = open_private(self._path)
            opened = os.fstat(self._descriptor)
            self._identity = opened.st_dev, opened.st_ino
        return self._descriptor

    def __del__(self) -> None:
        self.forget()


LEASE_SECONDS: Final = 10.0
"""How long a leader may show no sign of life. More than a busy machine keeps a process waiting."""


class FileLeadership:
    """Leadership by flock on a file: the kernel gives it back when the process dies, however it dies.

    A leader that is alive and stands still, stopped or hung, loses the seat after a while: whoever contends for it
    removes the file from under its lock and locks a new one. Should it go on, it finds that it leads no more; what it
    was about to deliver at that moment comes twice, which the store takes for once.

    A forked child does not lead, and does not keep the seat of a parent that died.

    Args:
        path: The lock file; its directory is made private when it is missing.
        lease: Seconds after which a leader that did not call `try_acquire` again is taken for hung.

    Raises:
        ConfigurationError: The directory or file is a link or another user's.
    """

    def __init__(self, path: Path, *, lease: float = LEASE_SECONDS) -> None:
        prepare_directory(path.parent)
        self._path = path
        self._lease = lease
        self._seen: tuple[tuple[int, int], float] | None = None
        self._file = LockFile(path)
        self._lock = threading.Lock()
        self._leads = False
        self._pid = os.getpid()
        watch_forks(self)

    def try_acquire(self) -> bool:
        """Become the leader if nobody is, or the one who is shows no life; a leader shows it by this.

        Raises:
            StoreUnavailable: The lock file cannot be opened.
        """
        self._check_process()
        with self._lock:
            try:
                if self._leads and self._file.current():
                    os.utime(self._path)
                    return True
                if self._leads:
                    self._file.forget()
                self._leads = self._file.try_lock() or self._file.try_lock() or self._take_over()
                if self._leads:
                    self._file.sign(b"%d" % os.getpid())
                    self._seen = None
            except OSError as error:
                raise StoreUnavailable("the lock file of the leader cannot be opened") from error
            return self._leads

    def _take_over(self) -> bool:
        """Take the seat from a leader that shows no life, as long as no one else is about to."""
        if not self._stale():
            return False
        rivals = LockFile(self._path.with_suffix(".succession"))
        try:
            if not rivals.try_lock() or not self._stale():
                return False
            self._path.unlink()
        finally:
            rivals.forget()
        self._file.forget()
        return self._file.try_lock()

    def _stale(self) -> bool:
        """Tell whether the file that is there shows the same sign of life for longer than the lease.

        Only this process's own clock counts, so that a clock that is set makes nobody look dead.
        """
        try:
            found = self._path.lstat()
        except FileNotFoundError:
            return False
        sign, now = (found.st_ino, found.st_mtime_ns), time.monotonic()
        if self._seen is None or self._seen[0] != sign:
            self._seen = sign, now
        return now - self._seen[1] > self._lease

    def release(self) -> None:
        """Stop leading."""
        self._check_process()
        with self._lock:
            if self._leads:
                self._file.unlock()
            self._file.forget()
            self._leads = False

    def leader(self) -> int | None:
        """Return the process id of the leader, as its own machine or container counts, 0 when it is not known.

        Raises:
            StoreUnavailable: The lock file cannot be opened.
        """
        self._check_process()
        if self._leads:
            return os.getpid()
        try:
            return _holder(self._path)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise StoreUnavailable("the lock file of the leader cannot be opened") from error

    def before_fork(self) -> None:
        """Keep other threads out while the process forks."""
        self._lock.acquire()

    def after_fork_in_parent(self) -> None:
        """Let them in again."""
        self._lock.release()

    def after_fork_in_child(self) -> None:
        """Drop what was inherited, without unlocking it."""
        self._lock = threading.Lock()
        self._file.forget()
        self._leads = False
        self._seen = None
        self._pid = os.getpid()

    def _check_process(self) -> None:
        if self._pid != os.getpid():  # forked by code that runs no hooks
            self.after_fork_in_child()


def _holder(path: Path) -> int | None:
    """Read who holds a lock, without waiting for it; None when nobody does.

    The shared lock that tells is kept for microseconds. A process that is turned away by it asks again.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        signed = os.pread(descriptor, 20, 0)
        return int(signed) if signed.isdigit() else 0
    finally:
        os.close(descriptor)
    return None
