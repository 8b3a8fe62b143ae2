"""Leaving no trace of what was dropped, neither in the unused parts of the database nor in its journal.

SQLite overwrites what is deleted where it lies. A page that was put together anew may hold older copies of it, though,
and the journal keeps pages as they were until it is written over; both go here. Who reads in the database meanwhile
keeps the journal as it is, so what is owed is noted in a file beside it, and whoever comes later goes on with it.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from hermes_memory.adapters.spool.database import BUSY_TIMEOUT
from hermes_memory.adapters.spool.files import open_private

_WHOLE: Final = b"whole"
_JOURNAL: Final = b"wal"
"""What is left to do: everything, or the journal alone."""
_BUSY: Final = 5
_BRIEFLY: Final = "PRAGMA busy_timeout = 20"
"""Milliseconds to wait for readers under the lock of those who write, who wait as long."""
_AS_EVER: Final = f"PRAGMA busy_timeout = {BUSY_TIMEOUT * 1000:.0f}"
_REBUILD: Final = "VACUUM"
_EMPTY_JOURNAL: Final = "PRAGMA wal_checkpoint(TRUNCATE)"


class Scrubbing:
    """What is owed to one database.

    Args:
        path: Of the database; the note lies beside it.
    """

    def __init__(self, path: Path) -> None:
        self._note = path.with_suffix(".scrub")
        self._name = os.fspath(self._note)

    def owed(self) -> bool:
        """Tell whether something is left to do. It costs one look into the directory."""
        return os.path.lexists(self._name)

    def owe(self) -> None:
        """Note that everything is to be done.

        Raises:
            ConfigurationError: The note is a link or another user's file.
            OSError: It cannot be written.
        """
        self._write(_WHOLE)

    def attempt(self, connection: sqlite3.Connection) -> bool:
        """Do what is left, under the lock of those who write; False while others use the database.

        Raises:
            ConfigurationError: The note is a link or another user's file.
            sqlite3.Error: The database cannot be written.
            OSError: The note cannot be read or written.
        """
        with _briefly(connection):
            if self._read() != _JOURNAL:
                if not _rebuilt(connection):
                    return False
                self._write(_JOURNAL)
            busy, _, _ = connection.execute(_EMPTY_JOURNAL).fetchone()
        if busy:
            return False
        self._note.unlink(missing_ok=True)
        return True

    def _read(self) -> bytes:
        descriptor = open_private(self._note)
        try:
            return os.pread(descriptor, len(_WHOLE), 0)
        finally:
            os.close(descriptor)

    def _write(self, left: bytes) -> None:
        descriptor = open_private(self._note)
        try:
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, left, 0)
        finally:
            os.close(descriptor)


@contextmanager
def _briefly(connection: sqlite3.Connection) -> Iterator[None]:
    """Have SQLite wait for others only briefly."""
    connection.execute(_BRIEFLY)
    try:
        yield
    finally:
        connection.execute(_AS_EVER)


def _rebuilt(connection: sqlite3.Connection) -> bool:
    """Write the database anew, from what it holds alone; False while another process writes."""
    try:
        connection.execute(_REBUILD)
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode & 0xFF != _BUSY:
            raise
        return False
    return True
