"""One SQLite connection to the spool file, opened when it is needed and again when the file was replaced."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from hermes_memory.adapters.spool import database, journal, lookups, quarantine
from hermes_memory.adapters.spool.database import Synchronous
from hermes_memory.adapters.spool.faults import UNSOUND, Fault, fault_of
from hermes_memory.adapters.spool.files import identity_under
from hermes_memory.adapters.spool.write_lock import WriteLock

_INHERITED: Final[list[sqlite3.Connection]] = []
"""Connections that were at work in the parent process when it forked, kept from being collected and so closed."""


class SpoolConnection:
    """Hands out the connection to the file that is now in place. Guarded by its owner, one thread at a time."""

    def __init__(self, path: Path, synchronous: Synchronous, lock: WriteLock) -> None:
        self._path = path
        self._name = os.fspath(path)
        self._synchronous: Synchronous = synchronous
        self._lock = lock
        self._connection: sqlite3.Connection | None = None
        self._identity: tuple[int, int] | None = None
        self._version = 0

    def get(self) -> sqlite3.Connection:
        """Return the connection, to a file that looked sound when it was opened.

        Raises:
            ConfigurationError: The file is a link or another user's, or a newer version made it.
            StoreUnavailable: Another process keeps the spool locked.
            Damaged: It is damaged again as soon as it was replaced.
            sqlite3.Error: The file cannot be opened.
            OSError: It cannot be made or set aside.
        """
        if self._connection is not None and self._identity == identity_under(self._name):
            return self._connection
        with self._lock:
            self.close()
            self._connection = self._open()
            self.reserve()
            self._identity = identity_under(self._name)
        return self._connection

    @contextmanager
    def relaxed(self) -> Iterator[None]:
        """Commit without waiting for the disk: what is done meanwhile, a power cut may undo, in order.

        Later work on the connection waits for the disk again, and what was done before then lasts with it.
        """
        connection = self.get()
        connection.execute(database.SYNCHRONOUS["NORMAL"])
        try:
            yield
        finally:
            if connection is self._connection:
                self._restore(connection)

    def _restore(self, connection: sqlite3.Connection) -> None:
        """Have the connection wait for the disk as it did; one that cannot be told so is used no more."""
        try:
            connection.execute(database.SYNCHRONOUS[self._synchronous])
        except sqlite3.Error:
            self.close()
            raise

    def changed(self) -> bool:
        """Tell whether another connection committed since this was last asked."""
        before, self._version = self._version, lookups.data_version(self.get())
        return before != self._version

    def replace_file(self) -> None:
        """Set the damaged file aside and go on with what can be read, unless another process did so already."""
        with self._lock:
            if self._connection is None or self._identity == identity_under(self._name):
                self._begin_anew()
            self.close()

    def replace_file_if_damaged(self) -> bool:
        """Look at the file afresh; True when it was damaged, and is replaced."""
        with self._lock:
            self.close()
            try:
                database.open_checked(self._path, self._synchronous, thorough=True).close()
            except UNSOUND as error:
                if fault_of(error) is not Fault.DAMAGED:
                    raise
                self.replace_file()
                return True
        return False

    def reserve(self) -> None:
        """Make room in the journal before it is needed, where writes wait for the disk. Under the lock.

        Raises:
            OSError: The journal cannot be opened or written, for another reason than a full disk.
        """
        if self._synchronous == "FULL":
            journal.reserve(self._path)

    def checkpoint(self) -> None:
        """Write the journal back into the file, so that its space can be used again."""
        if self._connection is not None:
            lookups.checkpoint(self._connection)

    def close(self) -> None:
        """Close the connection. SQLite leaves the journal alone when the file was moved."""
        connection, self._connection = self._connection, None
        self._version = 0
        if connection is not None:
            connection.close()

    def __del__(self) -> None:
        self.close()  # a write after the end of its owner opened the file again

    def abandon(self, *, idle: bool) -> None:
        """Let go of a connection that belongs to the process this one was forked from.

        An idle one is closed: while it lives, SQLite takes the locks of the parent for ours and takes none for the
        next connection, whose journal the parent may then remove. One that was at work cannot be touched at all.
        """
        connection, self._connection = self._connection, None
        if connection is None:
            return
        if idle and not connection.in_transaction:
            connection.close()
        else:
            _INHERITED.append(connection)

    def _open(self) -> sqlite3.Connection:
        if quarantine.begun(self._path) or not self._path.exists():
            self._begin_anew()
        try:
            return database.open_checked(self._path, self._synchronous)
        except UNSOUND as error:
            if fault_of(error) is not Fault.DAMAGED:
                raise
        self._begin_anew()
        return database.open_checked(self._path, self._synchronous)

    def _begin_anew(self) -> None:
        self._lock.spoil()  # what is kept afterwards may be less
        quarantine.begin_anew(self._path)
