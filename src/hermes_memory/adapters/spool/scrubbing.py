"""Leaving no trace of what was dropped, neither in the unused parts of the database nor in its journal.

SQLite overwrites what is deleted where it lies. A page that was put together anew may hold older copies of it, though,
and the journal keeps pages as they were until it is written over; both go here. Who reads in the database meanwhile
keeps the journal as it is, so what is owed is noted in a file beside it, and whoever comes later goes on with it.

Other processes that write wait while the database is put together anew, some ten milliseconds for each MiB that is
kept. What takes too long is given up, and comes off when less is kept. What was written to the journal goes into the
database without their lock, which is taken again to empty the journal. Threads of the same process wait for all of it.
"""

from __future__ import annotations

import errno
import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from hermes_memory.adapters.spool import journal
from hermes_memory.adapters.spool.ballast import ROOM
from hermes_memory.adapters.spool.database import AUTOCHECKPOINT, BUSY_TIMEOUT
from hermes_memory.adapters.spool.files import has_room, open_private

_OWED: Final = b"owed"
_REBUILT: Final = b"rebuilt"
"""How far it is: everything is to be done, or whoever put the database together anew has the journal to empty."""
LONGEST_SECONDS: Final = 1.5
"""Of putting the database together, after which it is given up. SQLite needs nearly as long again to write it down, and
that cannot be broken off; all of it is less than others wait for their lock."""
_STEPS: Final = 1_000
"""Of SQLite's, after which it looks at the clock."""
_BUSY: Final = 5
_BRIEFLY: Final = "PRAGMA busy_timeout = 20"
"""Milliseconds to wait for readers under the lock of those who write, who wait as long."""
_AS_EVER: Final = f"PRAGMA busy_timeout = {BUSY_TIMEOUT * 1000:.0f}"
_PAGES: Final = "PRAGMA page_count"
_UNUSED: Final = "PRAGMA freelist_count"
_REBUILD: Final = "VACUUM"
_ALL_IN_THE_JOURNAL: Final = "PRAGMA wal_autocheckpoint = 0"
_JOURNAL_AS_EVER: Final = f"PRAGMA wal_autocheckpoint = {AUTOCHECKPOINT}"
_EMPTY_JOURNAL: Final = "PRAGMA wal_checkpoint(TRUNCATE)"


class Scrubbing:
    """What is owed to one database.

    Args:
        path: Of the database; the note lies beside it.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._note = path.with_suffix(".scrub")
        self._name = os.fspath(self._note)
        self._rebuilt = False

    def owed(self) -> bool:
        """Tell whether something is left to do. It costs one look into the directory."""
        return os.path.lexists(self._name)

    def owe(self) -> None:
        """Note that everything is to be done. Under the lock of those who write, so that nobody takes it for done.

        Raises:
            ConfigurationError: The note is a link or another user's file.
            OSError: It cannot be written.
        """
        self._write(_OWED)

    def rebuild(self, connection: sqlite3.Connection) -> bool:
        """Write the database anew, from what it holds alone, unless that is done; False while another process writes.

        Under the lock of those who write. What takes too long is interrupted, and changes nothing. It does not wait for
        the disk: a power cut leaves the database as it was, and nobody who knows that it was written anew.

        Raises:
            ConfigurationError: The note is a link or another user's file.
            sqlite3.Error: The database cannot be written, or takes too long.
            OSError: The note cannot be read or written, or the disk has no room for all that is kept once more.
        """
        if not self.owed() or self._is_rebuilt():
            return True
        more = _kept_bytes(connection) - journal.length(self._path)
        if more > 0 and not has_room(self._path.parent, more + ROOM):
            raise OSError(errno.ENOSPC, "the disk has no room for the database once more")
        with _briefly(connection):
            if not _written_anew(connection):
                return False
        self._write(_REBUILT)
        self._rebuilt = True
        return True

    def empty_journal(self, connection: sqlite3.Connection) -> bool:
        """Empty the journal of a database that was written anew; False while others read, or when it is owed again.

        Under the lock of those who write.

        Raises:
            ConfigurationError: The note is a link or another user's file.
            sqlite3.Error: The database cannot be written.
            OSError: The note cannot be read.
        """
        if not self.owed():  # somebody else has finished it
            return True
        if not self._is_rebuilt():
            return False
        with _briefly(connection):
            busy, _, _ = connection.execute(_EMPTY_JOURNAL).fetchone()
        if busy:
            return False
        self._note.unlink(missing_ok=True)
        self._rebuilt = False
        return True

    def _is_rebuilt(self) -> bool:
        """Tell whether this object wrote the database anew since it was owed, or another one did so after it."""
        return self._read() == _REBUILT and self._rebuilt

    def _read(self) -> bytes:
        descriptor = open_private(self._note)
        try:
            return os.pread(descriptor, len(_REBUILT), 0)
        finally:
            os.close(descriptor)

    def _write(self, far: bytes) -> None:
        descriptor = open_private(self._note)
        try:
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, far, 0)
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


def _kept_bytes(connection: sqlite3.Connection) -> int:
    """Return how much of the journal the pages take that the database uses."""
    (pages,), (unused,) = (connection.execute(ask).fetchone() for ask in (_PAGES, _UNUSED))
    return (int(pages) - int(unused)) * journal.FRAME


def _written_anew(connection: sqlite3.Connection) -> bool:
    """Write the database anew into the journal; False while another process writes."""
    deadline = time.monotonic() + LONGEST_SECONDS
    connection.execute(_ALL_IN_THE_JOURNAL)
    connection.set_progress_handler(lambda: time.monotonic() > deadline, _STEPS)
    try:
        connection.execute(_REBUILD)
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode & 0xFF != _BUSY:
            raise
        return False
    finally:
        connection.set_progress_handler(None, 0)
        connection.execute(_JOURNAL_AS_EVER)
    return True
