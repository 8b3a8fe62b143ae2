"""Running a piece of work on the spool file, whatever threads, processes, forks, full disks and damage do to it."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final, TypeVar, assert_never

from hermes_memory.adapters.spool import changes
from hermes_memory.adapters.spool.ballast import Ballast
from hermes_memory.adapters.spool.contents import SpoolContents, Work
from hermes_memory.adapters.spool.database import Synchronous
from hermes_memory.adapters.spool.faults import TROUBLE, Fault, fault_of
from hermes_memory.adapters.spool.forks import watch_forks
from hermes_memory.adapters.spool.write_lock import WriteLock
from hermes_memory.domain.errors import ConfigurationError, SpoolFull, StoreUnavailable

RECLAIMED_AT_ONCE: Final = 16
"""MiB of its own that a full disk's spool looks for before it refuses a write."""
SCRUB_PAUSE_SECONDS: Final = 0.05
SCRUB_AGAIN_SECONDS: Final = 5.0
"""After a try to finish in passing what another process could not."""
SCRUB_TROUBLE_SECONDS: Final = 300.0
"""After one that met a full disk, or more than can be cleaned in a moment, which it stays for a while."""
T = TypeVar("T")


class DiskFull(StoreUnavailable):
    """The disk is too full even with the reserve."""


class SpoolFile:
    """The file, its locks and its reserve. Any thread may call; one piece of work runs at a time.

    Args:
        path: Of the database; the lock and the reserve lie beside it.
        lock_timeout: Seconds to wait for other processes at most.
        repair: Work that sets damaged rows of a sound file aside.
    """

    def __init__(
        self,
        path: Path,
        *,
        synchronous: Synchronous,
        lock_timeout: float,
        repair: Callable[[sqlite3.Connection], object],
    ) -> None:
        self._repair = repair
        self._threads = threading.RLock()
        self._processes = WriteLock(path.with_suffix(".lock"), timeout=lock_timeout)
        self._contents = SpoolContents(path, synchronous=synchronous, lock=self._processes)
        self._connection = self._contents.connection
        self._ballast = Ballast(path.with_suffix(".ballast"))
        self._scrub_at = 0.0
        self._pid = os.getpid()
        watch_forks(self)

    def open(self) -> None:
        """Open the files and make what is missing of them.

        Raises:
            StoreUnavailable: They cannot be used for now.
            ConfigurationError: They are not ours, or a newer version made them.
        """
        self._perform(self._contents.prepare, reserve=True)
        self._ballast.keep()

    def read(self, work: Work[T]) -> T:
        """Run work that changes nothing, on all that was accepted.

        Raises:
            DiskFull: The disk is too full to bring what was accepted last to the rest.
            StoreUnavailable: The file cannot be used for now.
            ConfigurationError: It is not ours, or a newer version made it.
        """
        return self._perform(lambda: self._contents.look(work), reserve=True)

    def read_beginning(self, work: Work[T]) -> T:
        """Run work that changes nothing, on a disk that is too full for the rest without what was accepted last.

        Raises:
            StoreUnavailable: The file cannot be used for now.
            ConfigurationError: It is not ours, or a newer version made it.
        """
        try:
            return self.read(work)
        except DiskFull:
            self._fold_some()
            return self.read_known(work)

    def read_known(self, work: Work[T]) -> T:
        """Run work that changes nothing, on what a read before has found. What was accepted since may be missing.

        Raises:
            StoreUnavailable: The file cannot be used for now.
            ConfigurationError: It is not ours, or a newer version made it.
        """
        return self._perform(lambda: work(self._connection.get()), reserve=True)

    def fold(self) -> None:
        """Move what lies in the intake into the database.

        Raises:
            StoreUnavailable: The file cannot be used for now.
            ConfigurationError: It is not ours, or a newer version made it.
        """
        self._perform(self._contents.fold, reserve=True)

    def append(self, operation: bytes, lane: bytes, body: bytes, bounds: changes.Bounds) -> float | None:
        """Keep an operation in the intake; return how full the spool is then.

        Returns:
            None when nothing was kept and `accept` is to be asked: there may be no room, or it is not known.

        Raises:
            SpoolFull: The disk is full.
            StoreUnavailable: The files cannot be used for now.
            ConfigurationError: They are not ours.
        """
        append, keeps = self._contents.append, self._ballast.keep
        return self._perform(lambda: append(operation, lane, body, bounds, keeps), reserve=False)

    def accept(self, work: Work[T]) -> T:
        """Run work that adds, in one transaction, after all that was accepted before.

        Raises:
            SpoolFull: The disk is full, but for the reserve that is kept for `settle`.
            StoreUnavailable: The file cannot be used for now.
            ConfigurationError: It is not ours, or a newer version made it.
        """
        if not self._ballast.keep() and not self._reclaim():
            raise self._verdict(Fault.FULL, reserve=False)
        return self._perform(lambda: self._contents.transact(work), reserve=False)

    def settle(self, work: Work[T], *, lasting: bool = True) -> T:
        """Run work that frees space or only marks, in one transaction; on a full disk it may use the reserve.

        Args:
            lasting: A power cut must not undo it, so wait for the disk.

        Raises:
            DiskFull: The disk is too full for it; a smaller piece of work may fit.
            StoreUnavailable: The file cannot be used for now.
            ConfigurationError: It is not ours, or a newer version made it.
        """
        settle = self._contents.settle if lasting else self._contents.settle_relaxed
        with contextlib.suppress(DiskFull):  # what is asked for lies in the database, and may make room there
            self._perform(self._contents.sweep, reserve=True)
        settled = self._perform(lambda: settle(work), reserve=True)
        self._ballast.keep()
        return settled

    def scrub(self, timeout: float) -> bool:
        """Leave nothing in the files of what was dropped, waiting for others for so many seconds.

        Returns:
            False when others used the files all the time, or the disk is full: `finish_scrub` goes on with it.

        Raises:
            StoreUnavailable: The files cannot be used for now, or hold too much to keep others waiting for.
            ConfigurationError: They are not ours, or a newer version made them.
        """
        deadline = time.monotonic() + timeout
        try:
            self._perform(self._contents.owe_scrub, reserve=False)
            while not (done := self._perform(self._contents.scrub, reserve=False)) and time.monotonic() < deadline:
                time.sleep(SCRUB_PAUSE_SECONDS)
        except SpoolFull:
            return False
        return done

    def finish_scrub(self) -> None:
        """Go on with what `scrub` could not finish, in whatever process, once in a while. Trouble is left for later."""
        if not self._contents.scrubbing.owed() or time.monotonic() < self._scrub_at:
            return
        self._scrub_at = time.monotonic() + SCRUB_AGAIN_SECONDS
        try:
            self._perform(self._contents.scrub, reserve=False)
        except (SpoolFull, StoreUnavailable, ConfigurationError):  # whoever uses the files for anything else is told
            self._scrub_at = time.monotonic() + SCRUB_TROUBLE_SECONDS

    def changed(self) -> bool:
        """Tell whether another object appended or committed since this was last asked."""
        return self._perform(self._contents.changed, reserve=True)

    def close(self) -> None:
        """Let go of the files until the next call."""
        self._check_process()
        with self._threads:
            self._contents.close()
            self._processes.forget()

    def before_fork(self) -> None:
        """Close the connection, so that the child has none that SQLite would take for its own."""
        self._threads.acquire()
        with contextlib.suppress(sqlite3.Error):  # the fork comes all the same
            self._connection.close()

    def after_fork_in_parent(self) -> None:
        """Go on; the next call opens the file again."""
        self._threads.release()

    def after_fork_in_child(self) -> None:
        """Begin anew with locks of this process."""
        idle = self._threads.acquire(blocking=False)  # else a thread that does not exist here was at work
        self._threads = threading.RLock()
        self._processes.forget()
        self._connection.abandon(idle=idle)
        self._pid = os.getpid()

    def _check_process(self) -> None:
        if self._pid != os.getpid():  # forked by code that runs no hooks
            self.after_fork_in_child()

    def _perform(self, attempt: Callable[[], T], *, reserve: bool) -> T:
        self._check_process()
        with self._threads:
            mended: frozenset[Fault] = frozenset()
            while True:
                try:
                    return attempt()
                except TROUBLE as error:
                    fault = fault_of(error)
                    if fault in mended or not self._mend(fault, reserve=reserve):
                        raise self._verdict(fault, reserve=reserve) from error
                    mended |= {fault}

    def _mend(self, fault: Fault, *, reserve: bool) -> bool:
        """Do what helps against a fault; True when it is worth another try."""
        try:
            match fault:
                case Fault.FULL:
                    self._make_room(reserve=reserve)
                case Fault.DAMAGED:
                    self._connection.replace_file()
                case Fault.DOUBTFUL:
                    return self._connection.replace_file_if_damaged()
                case Fault.ROW:
                    if not self._connection.replace_file_if_damaged():
                        self._contents.transact(self._repair)
                case Fault.MOVED:
                    self._connection.close()
                case Fault.UNAVAILABLE:
                    return False
                case _:
                    assert_never(fault)
        except TROUBLE as error:
            raise self._verdict(fault_of(error), reserve=reserve) from error
        return True

    def _reclaim(self) -> bool:
        """Give back what the file itself holds and does not use, and tell whether there is room for the reserve now.

        Otherwise a spool that was emptied on a full disk would refuse everything for ever: it shrinks when something
        is done, and nothing comes to be done.
        """
        self._check_process()
        with self._threads, contextlib.suppress(*TROUBLE):
            for _ in range(RECLAIMED_AT_ONCE):
                more = self._contents.settle(changes.shrink)
                self._connection.checkpoint()
                if not more or self._ballast.keep():
                    break
        return self._ballast.keep()

    def _make_room(self, *, reserve: bool) -> None:
        if reserve:
            self._ballast.drop()
        with contextlib.suppress(sqlite3.Error):  # the next try tells whether it helped
            self._connection.checkpoint()

    def _verdict(self, fault: Fault, *, reserve: bool) -> StoreUnavailable | SpoolFull:
        if fault is Fault.FULL:
            if reserve:
                return DiskFull("the disk of the local spool is full: make room; what was accepted is kept")
            return SpoolFull("the disk of the local spool is full: nothing was accepted")
        with contextlib.suppress(sqlite3.Error):  # a handle that failed is not used again
            self._connection.close()
        return StoreUnavailable("the local spool cannot be used for now; what was accepted is kept")

    def _fold_some(self) -> None:
        """Move half of what lies in the intake, or half of that, as far as a full disk lets it."""
        count = self._perform(self._contents.waiting, reserve=True) // 2
        while count:
            with contextlib.suppress(DiskFull):
                self._perform(partial(self._contents.fold, count), reserve=True)
                return
            count //= 2
