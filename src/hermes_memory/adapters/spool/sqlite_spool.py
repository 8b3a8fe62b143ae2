"""The durable spool: an SQLite file and its intake per home and destination, shared by the processes of the home."""

from __future__ import annotations

import logging
import os
import re
import sqlite3
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from hermes_memory.adapters.spool import changes, lookups, quarantine, work
from hermes_memory.adapters.spool.codec import encode
from hermes_memory.adapters.spool.database import Synchronous
from hermes_memory.adapters.spool.files import check_file, network_of, prepare_directory
from hermes_memory.adapters.spool.refusals import Refusals
from hermes_memory.adapters.spool.retractions import retractions
from hermes_memory.adapters.spool.row import LONGEST_HOLD, DamagedRow, lane_key
from hermes_memory.adapters.spool.spool_file import DiskFull, SpoolFile
from hermes_memory.domain.errors import ConfigurationError, InvalidInput, SpoolFull, StoreUnavailable
from hermes_memory.domain.model import OperationId
from hermes_memory.domain.operations import Operation, lane_of
from hermes_memory.ports.spool import DeadLetter, Kept, Spooled, SpoolStatus

logger = logging.getLogger(__name__)

PATH_MAX_BYTES: Final = 490
"""SQLite takes 511 bytes, some of them for the names of the files beside its own."""
_DESTINATION: Final = re.compile(r"[0-9a-z_]{1,64}")


class SqliteSpool:
    """Keeps operations in `directory`/spool-`destination`.db until they are delivered. Any thread may call.

    A put appends to an intake beside that file; every other call first moves what lies there.

    Every call opens the file when it has to: after `close`, in a forked child, or when another process replaced a
    damaged file. A call that cannot use the file raises `StoreUnavailable`, and has kept and dropped nothing.

    Args:
        directory: Of the home, this user's alone; made when it is missing.
        destination: Short digest that names the database the operations belong to. Another one is another file, so
            that a home that is pointed elsewhere never delivers what was meant for the old place.
        synchronous: FULL survives a power cut, NORMAL the death of the process.
        max_rows: Operations kept at most, dead letters included.
        max_bytes: Size of their encoded bodies at most, dead letters included.
        max_item_bytes: Size of one encoded body at most.
        lock_timeout: Seconds to wait for other processes at most.
        open_early: Call `open` now. Otherwise the first use opens the file, and `open` is to be called where the
            milliseconds that making a new file takes do not matter.
        now: Clock in seconds since 1970, by which operations are held back and dead letters are dated.

    Raises:
        ConfigurationError: The directory or file is a link or another user's, its path is too long, `destination` is
            not a digest, or a newer version of the library made the file (which is seen when it is opened).
    """

    def __init__(
        self,
        *,
        directory: Path,
        destination: str,
        synchronous: Synchronous = "FULL",
        max_rows: int = 100_000,
        max_bytes: int = 256 * 1024 * 1024,
        max_item_bytes: int = 1024 * 1024,
        lock_timeout: float = 5.0,
        open_early: bool = True,
        now: Callable[[], float] = time.time,
    ) -> None:
        if not _DESTINATION.fullmatch(destination):
            raise ConfigurationError("a spool destination is a short digest: up to 64 of a-z, 0-9 and _")
        if sqlite3.sqlite_version_info < (3, 35):
            raise ConfigurationError(f"the spool needs SQLite 3.35, Python has {sqlite3.sqlite_version}: upgrade it")
        prepare_directory(directory)
        self._path = directory / f"spool-{destination}.db"
        if len(os.fsencode(self._path.absolute())) > PATH_MAX_BYTES:
            raise ConfigurationError(f"the home's path is too long for its spool: {PATH_MAX_BYTES} bytes are the most")
        check_file(self._path)
        self._network = network_of(directory)
        self._file = SpoolFile(self._path, synchronous=synchronous, lock_timeout=lock_timeout, repair=self._repair)
        self._bounds = changes.Bounds(rows=max_rows, stored_bytes=max_bytes)
        self._max_item_bytes = max_item_bytes
        self._now = now
        self._refusals = Refusals()
        if open_early:
            self.open()

    def open(self) -> None:
        """Open the file and reserve its room on the disk now. A passing fault is logged; every later call tries again.

        Raises:
            ConfigurationError: A newer version of the library made the file.
        """
        try:
            self._file.open()
        except StoreUnavailable as error:
            logger.warning(
                "the local spool cannot be opened yet, every later call tries again",
                extra={"action": "spool.unavailable", "reason": str(error)},
            )

    def put(self, operation: Operation) -> None:
        """Keep an operation durably.

        Raises:
            SpoolFull: A bound is reached, or the disk is full.
            InvalidInput: The operation is larger than `max_item_bytes`, or its metadata is not JSON.
            StoreUnavailable: The file cannot be used for now.
        """
        body = encode(operation)
        if len(body) > self._max_item_bytes:
            self._refusals.add()
            raise InvalidInput(
                f"an operation may have {self._max_item_bytes} bytes, this one has {len(body)}: shorten the text"
            )
        fill = None if self._refusals.unnoted else self._append(operation, body)
        self._refusals.accepted(self._insert(operation, body) if fill is None else fill)

    def due(self, limit: int) -> Sequence[Spooled]:
        """Return up to `limit` operations that may be delivered now, oldest first; a prefix of every lane.

        Raises:
            ConfigurationError: A newer version of the library wrote one of them.
        """
        self._file.finish_scrub()
        now = self._now()
        rows = self._file.read_beginning(partial(lookups.due, now=now, limit=limit))
        try:
            return work.spooled(rows)  # while others may use the file
        except DamagedRow:
            return self._file.read(partial(work.due, now=now, limit=limit))  # which sets it aside

    def done(self, operations: Sequence[OperationId]) -> None:
        """Forget delivered operations, all in one transaction unless the disk is too full for that."""
        self._forget(_ids(operations))

    def postpone(self, operations: Sequence[OperationId], seconds: float) -> None:
        """Hold operations, and so their lanes, back for a time, a week at most, and count the attempt."""
        hold = partial(
            changes.postpone, operations=_ids(operations), now=self._now(), seconds=min(seconds, LONGEST_HOLD)
        )
        self._file.settle(hold)

    def bury(self, operation: OperationId, reason: str) -> None:
        """Move an operation to the dead letters, which frees its lane."""
        self._file.settle(partial(changes.bury, operation=operation.bytes, reason=reason, now=self._now()))

    def pending(self, operation: OperationId) -> bool:
        """Tell whether an operation still waits for delivery."""
        return self._file.read(partial(lookups.pending, operation=operation.bytes))

    def still_pending(self, operations: Sequence[OperationId]) -> frozenset[OperationId]:
        """Return which of these operations, all of them once returned by `due`, still wait."""
        waiting = self._file.read_known(partial(lookups.still_pending, operations=_ids(operations)))
        return frozenset(operation for operation in operations if operation.bytes in waiting)

    def pending_before(self, sequence: int | None = None) -> int:
        """Count the operations that wait, up to and with `sequence` when it is given."""
        return self._file.read(partial(lookups.pending_before, sequence=sequence))

    def retractions(self) -> Sequence[OperationId]:
        """Return the waiting operations that take something away, oldest first, those held back included."""
        return self._file.read(retractions)

    def last_sequence(self) -> int:
        """Return the sequence of the newest operation ever accepted."""
        return self._file.read(lookups.counters).last_sequence

    def changed(self) -> bool:
        """Tell whether another process, or another object, changed the spool since this was last asked."""
        return self._file.changed()

    def dead(self) -> Sequence[DeadLetter]:
        """Return the dead letters, oldest first."""
        return self._file.read(work.dead)

    def dead_reason(self, operation: OperationId) -> str | None:
        """Return why an operation was buried, or None when it was not."""
        return self._file.read(partial(lookups.dead_reason, operation=operation.bytes))

    def retry_dead(self, operations: Sequence[OperationId] | None = None) -> int:
        """Put dead letters that are not damaged back at their old place in line; return how many."""
        return self._file.settle(
            partial(changes.raise_dead, operations=None if operations is None else _ids(operations))
        )

    def kept(self, limit: int, *, after: int = 0) -> Sequence[Kept]:
        """Return up to `limit` operations, waiting or dead, accepted after the one of that sequence, oldest first."""
        return self._file.read(partial(work.kept, now=self._now(), after=after, limit=limit))

    def discard(self, operations: Sequence[OperationId], *, dead_only: bool = False) -> int:
        """Drop operations, waiting or dead, without delivering them; return how many."""
        return self._file.settle(partial(changes.discard, operations=_ids(operations), dead_only=dead_only))

    def scrub(self, timeout: float) -> bool:
        """Leave nothing in the files of what was delivered or dropped; see `Spool.scrub`."""
        return self._file.scrub(timeout)

    def full(self) -> bool:
        """Tell whether writes are refused for want of room, since one was and until there is some again."""
        return self._refusals.are_due_to_room

    def status(self) -> SpoolStatus:
        """Return a snapshot for operators."""
        counted, oldest = self._file.read(work.snapshot)
        return SpoolStatus(
            depth=counted.waiting,
            stored_bytes=counted.waiting_bytes,
            oldest_accepted_at=oldest,
            dead=counted.kept - counted.waiting,
            max_rows=self._bounds.rows,
            max_bytes=self._bounds.stored_bytes,
            fill=self._bounds.fill(counted.kept, counted.kept_bytes),
            accepted=counted.last_sequence,
            delivered=counted.delivered,
            buried=counted.buried,
            discarded=counted.discarded,
            refused=counted.refused + self._refusals.unnoted,
            quarantined=len(quarantine.set_aside(self._path)),
            network=self._network,
        )

    def set_aside(self) -> Sequence[Path]:
        """Return the damaged files that are kept beside the spool."""
        return quarantine.set_aside(self._path)

    def remove_set_aside(self) -> int:
        """Remove the damaged files that are kept beside the spool; return how many.

        Raises:
            OSError: One of them cannot be removed.
        """
        return quarantine.remove(self._path)

    def close(self) -> None:
        """Let go of the files. A later call opens them again."""
        refused = self._refusals.take()
        try:
            if refused:
                self._file.settle(partial(changes.count_refused, refused=refused))
            else:
                self._file.fold()
        except (StoreUnavailable, ConfigurationError):  # nothing is lost, and a later call does it
            self._refusals.add(refused)
        self._file.close()

    def _append(self, operation: Operation, body: bytes) -> float | None:
        """Keep an operation in the intake; None when the database has to be asked."""
        try:
            return self._file.append(operation.stamp.operation.bytes, lane_key(lane_of(operation)), body, self._bounds)
        except SpoolFull:
            self._refuse(1)
            raise

    def _insert(self, operation: Operation, body: bytes) -> float:
        """Keep an operation in the database, and note there what was refused before; return how full the spool is."""
        refused = self._refusals.take()
        try:
            fill = self._file.accept(
                partial(work.insert, operation=operation, body=body, bounds=self._bounds, refused=refused)
            )
        except SpoolFull:
            self._refuse(refused + 1)
            raise
        except BaseException:
            self._refusals.add(refused)
            raise
        if fill is None:
            self._refusals.full(of="spool")
            raise SpoolFull("the local spool is full: nothing is accepted until the database takes what waits")
        return fill

    def _refuse(self, refused: int) -> None:
        """Count what the disk has no room for."""
        self._refusals.add(refused)
        self._refusals.full(of="disk")

    def _forget(self, operations: list[bytes]) -> None:
        try:
            # Should a power cut undo it, they are delivered again, which has no effect: no need to wait for the disk.
            self._file.settle(partial(changes.forget, operations=operations), lasting=False)
        except DiskFull:
            if len(operations) < 2:
                raise
            middle = len(operations) // 2
            self._forget(operations[:middle])
            self._forget(operations[middle:])

    def _repair(self, connection: sqlite3.Connection) -> None:
        buried = changes.bury_damaged(connection, self._now())
        if buried:
            logger.error(
                "writes were damaged in the local spool: they are kept among the dead letters",
                extra={"action": "spool.damaged", "buried": buried},
            )


def _ids(operations: Sequence[OperationId]) -> list[bytes]:
    return [operation.bytes for operation in operations]
