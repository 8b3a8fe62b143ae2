"""The database and the intake in front of it, as one: what is appended there comes before all that is done here."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias, TypeVar

from hermes_memory.adapters.spool import changes, folding, lookups, records, standing
from hermes_memory.adapters.spool.connection import SpoolConnection
from hermes_memory.adapters.spool.database import Synchronous
from hermes_memory.adapters.spool.intake import Intake
from hermes_memory.adapters.spool.scrubbing import Scrubbing
from hermes_memory.adapters.spool.standing import Standing
from hermes_memory.adapters.spool.write_lock import WriteLock

T = TypeVar("T")
Work: TypeAlias = Callable[[sqlite3.Connection], T]


class SpoolContents:
    """Appends, moves and changes what a spool holds. Guarded by its owner, one thread at a time.

    Everything raises what the files raise: `hermes_memory.adapters.spool.faults.TROUBLE`.

    Args:
        path: Of the database; the intake lies beside it.
        lock: Held by whoever appends or changes anything.
    """

    def __init__(self, path: Path, *, synchronous: Synchronous, lock: WriteLock) -> None:
        self.connection = SpoolConnection(path, synchronous, lock)
        self.scrubbing = Scrubbing(path)
        self._intake = Intake(path.with_suffix(".intake"), lasting=synchronous == "FULL")
        self._lock = lock
        self._appended = 0
        self._appended_by_others: int | None = None

    def prepare(self) -> None:
        """Open the files and make what is missing of them."""
        self.connection.get()
        with self._lock:
            self._intake.prepare()

    def append(
        self, operation: bytes, lane: bytes, body: bytes, bounds: changes.Bounds, can_begin: Callable[[], bool]
    ) -> float | None:
        """Keep an operation in the intake; return how full the spool is then.

        Args:
            can_begin: Asked before the first record that is to be moved together with those after it.

        Returns:
            None when nothing was kept and the database is to be asked: there may be no room, or it is not known.
        """
        with self._lock:
            found = standing.unpacked(self._lock.told(), self._intake.identity)
            if found is None:
                return None
            tail, kept, kept_bytes = found.tail, found.kept + 1, found.kept_bytes + len(body)
            if kept > bounds.rows or kept_bytes > bounds.stored_bytes or not self._intake.takes(tail, body):
                return None
            if tail == 0 and not can_begin():
                return None
            record = records.framed(operation, lane, body)
            self._intake.append(tail, record)
            stands = Standing(found.intake, tail + len(record), kept, kept_bytes, found.appended + 1)
            with contextlib.suppress(OSError):  # it is kept; whoever comes next finds it and asks the database
                self._lock.tell(standing.packed(stands))
        self._appended += 1
        return bounds.fill(kept, kept_bytes)

    def look(self, work: Work[T]) -> T:
        """Run work that changes nothing on all that was accepted, or is about to be."""
        self.fold()
        return work(self.connection.get())

    def fold(self, count: int | None = None) -> None:
        """Move what lies in the intake into the database, or the first `count` of it, in a transaction of its own.

        What comes after may drop what is moved here: were it in one transaction, a process that dies before the intake
        is cleared would have it come back.
        """
        if self._intake.empty():
            return
        with self._lock:
            self._intake.prepare()
            if not self._intake.empty():  # nobody was faster
                self._move(count)

    def _move(self, count: int | None = None) -> None:
        waiting = self._intake.waiting()[:count]
        _, counted = self._commit(lambda connection: folding.fold(connection, waiting))
        if count is None:
            self._intake.clear()
            self._tell(counted)
        else:
            self._intake.retire(count)

    def sweep(self) -> None:
        """Move all that lies in the intake, also what a power cut has left behind zeros, where `fold` does not look.

        It comes before every change: what is dropped from the database while it still lies there would come back.
        """
        with self._lock:
            if not self._blank():
                self._intake.prepare()
                self._move()

    def waiting(self) -> int:
        """Count what lies in the intake."""
        with self._lock:
            self._intake.prepare()
            return len(self._intake.waiting())

    def transact(self, work: Work[T]) -> T:
        """Run work that may change anything, in one transaction, after all that was accepted before."""
        with self._lock:
            self._intake.prepare()
            self.sweep()
            return self.settle(work)

    def settle(self, work: Work[T]) -> T:
        """Run work on what lies in the database, in one transaction."""
        with self._lock:
            blank = self._blank()
            result, counted = self._commit(work)
            if blank:
                self._tell(counted)
        return result

    def settle_relaxed(self, work: Work[T]) -> T:
        """Settle without waiting for the disk."""
        with self._lock, self.connection.relaxed():
            return self.settle(work)

    def owe_scrub(self) -> None:
        """Note that the files are to hold nothing that was dropped."""
        with self._lock:
            self.scrubbing.owe()

    def scrub(self) -> bool:
        """Do what is left to do so that the files hold nothing that was dropped; False while others use them."""
        with self._lock:
            self._intake.prepare()
            self.sweep()
            with self.connection.relaxed():
                if not self.scrubbing.rebuild(self.connection.get()):
                    return False
        self.connection.checkpoint()  # most of it, while other processes write
        with self._lock:
            done = self.scrubbing.empty_journal(self.connection.get())
            if done:
                self.connection.reserve()
        return done

    def changed(self) -> bool:
        """Tell whether another object appended or committed since this was last asked."""
        others = standing.appended_in(self._lock.told()) - self._appended
        before, self._appended_by_others = self._appended_by_others, others
        return self.connection.changed() or before != others

    def close(self) -> None:
        """Let go of the files until they are used again."""
        self.connection.close()
        self._intake.close()

    def _blank(self) -> bool:
        """Tell whether nothing lies in the intake. Under the lock.

        Its head tells that only as long as what was told is trusted; else the whole file is read.
        """
        if not self._intake.empty():
            return False
        found = standing.unpacked(self._lock.told(), self._intake.identity)
        return (found is not None and found.tail == 0) or self._intake.blank()

    def _commit(self, work: Work[T]) -> tuple[T, lookups.Counters]:
        """Run work in one transaction; return also what is kept then."""
        connection = self.connection.get()
        self._lock.spoil()
        connection.execute("BEGIN IMMEDIATE")
        try:
            result = work(connection)
            counted = lookups.counters(connection)
            connection.execute("COMMIT")
        except BaseException:
            with contextlib.suppress(sqlite3.Error):
                connection.execute("ROLLBACK")
            raise
        return result, counted

    def _tell(self, counted: lookups.Counters) -> None:
        """Note how the spool stands with nothing in the intake, which is what the database counts."""
        with contextlib.suppress(OSError):  # it is done; whoever comes next asks the database
            appended = standing.appended_in(self._lock.told())
            stands = Standing(self._intake.identity, 0, counted.kept, counted.kept_bytes, appended)
            self._lock.tell(standing.packed(stands))
