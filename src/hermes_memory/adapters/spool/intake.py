"""The file in front of the database: accepting an operation appends it here, with one write and one flush.

Its room is made beforehand, so that a record changes neither the length of the file nor what of the disk belongs to it,
and a disk that fills up does not matter. What lies here is moved into the database, in the order of acceptance, by
whoever reads or changes anything there; the file is zeroed afterwards. A process that dies in between leaves records
that the database knows already: they are passed over by their ids.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from hermes_memory.adapters.spool import records
from hermes_memory.adapters.spool.files import (
    NO_SPACE,
    has_room,
    identity_under,
    lengthen,
    open_private,
    sync_content,
    sync_directory,
)
from hermes_memory.adapters.spool.records import END, HEAD, MOVED, OVERHEAD, RETIRED, Record

SIZE: Final = 256 * 1024
"""Bytes of the file. Moving so much takes some milliseconds, and is worth it every few hundred operations."""
LARGEST: Final = 32 * 1024
"""Bytes of the largest record; a larger one goes into the database itself, which then costs less than its bytes do."""
_ROOM: Final = 4 * SIZE
"""Bytes that the disk has for others when the first record is appended: what moving a full intake takes at most, in the
database and its journal. With less, an operation goes where it is to stay at once."""
_FREE: Final = bytes(4)
_LAST: Final = END + _FREE


class Intake:
    """The file that is now in place under a name. Guarded by its owner, one thread at a time.

    Args:
        lasting: A power cut must not undo what is appended, so wait for the disk.
    """

    def __init__(self, path: Path, *, lasting: bool) -> None:
        self._path = path
        self._name = os.fspath(path)
        self._folder = os.fspath(path.parent)
        self._lasting = lasting
        self._descriptor: int | None = None
        self._identity = (0, 0)
        self._former: int | None = None

    @property
    def identity(self) -> tuple[int, int]:
        """What tells the open file from any other on this machine."""
        return self._identity

    def empty(self) -> bool:
        """Tell whether there is nothing to move. No lock is needed: what is appended meanwhile was not accepted yet.

        Raises:
            ConfigurationError: The file is a link or another user's.
            OSError: It cannot be read.
        """
        if self._former is not None:
            return False
        if not self._current():
            return self._descriptor is None
        return not os.pread(self._opened(), HEAD, 0).strip(b"\0")

    def blank(self) -> bool:
        """Tell whether there is nothing at all, not even what a power cut has left of what was moved. Under the lock.

        Raises:
            ConfigurationError: The file is a link or another user's.
            OSError: It cannot be read.
        """
        return self.empty() and not any(records.used(_content(file)) for file in self._files())

    def takes(self, tail: int, body: bytes) -> bool:
        """Tell whether a record with this body can be appended at `tail`: it fits, and nothing is there.

        What a process that died had begun to write, or a file that somebody replaced or cut, is told by that too.
        """
        size = len(body) + OVERHEAD
        if size > LARGEST or tail + size > SIZE or not self._current():
            return False
        if tail == 0:
            return os.pread(self._opened(), len(_FREE), 0) == _FREE and has_room(self._folder, _ROOM)
        return os.pread(self._opened(), len(_LAST), tail - len(END)) == _LAST

    def append(self, tail: int, record: bytes) -> None:
        """Write a record at `tail`, durably, or leave nothing of it. Under the lock.

        Raises:
            OSError: It cannot be written.
        """
        descriptor = self._opened()
        try:
            if os.pwrite(descriptor, record, tail) != len(record):
                raise OSError("the record was cut short")
            self._flush(descriptor)
        except BaseException:
            os.pwrite(descriptor, bytes(len(record)), tail)
            raise

    def prepare(self) -> None:
        """Open the file that is in place, or make it as long as it gets. Under the lock.

        Where the disk has no room for it, it is left as it is, and takes nothing. One that was removed while it was
        open is kept beside the new one until what lies there was moved too.

        Raises:
            ConfigurationError: It is a link or another user's.
            OSError: It cannot be made or opened, for another reason than a full disk.
        """
        if self._descriptor is not None and not self._current():
            if self._former is None:
                self._former, self._descriptor = self._descriptor, None
            else:
                self._let_go()
        if self._descriptor is None or os.fstat(self._descriptor).st_size < SIZE:
            self._open()

    def waiting(self) -> Sequence[Record]:
        """Return the records, in the order of acceptance. Under the lock, after `prepare`.

        Raises:
            OSError: The file cannot be read.
        """
        return [record for descriptor in self._files() for record in records.read(_content(descriptor))]

    def retire(self, count: int) -> None:
        """Mark the first ones of those that wait, which lie in the database now. Under the lock.

        Raises:
            OSError: The file cannot be written.
        """
        files = self._files()
        places = [(file, record.start) for file in files for record in records.read(_content(file))]
        for file, start in places[:count]:
            os.pwrite(file, RETIRED, start)
        for file in files:
            self._flush(file)

    def clear(self) -> None:
        """Overwrite everything with zeros, which lies in the database now. Under the lock.

        A first mark says so and is on the disk before anything else is touched: whatever a death or a power cut leaves
        behind it counts for nothing. It is taken away when the zeros are on the disk, so that zeros at the beginning
        prove that zeros follow. That the mark is gone need not last: until the next record is flushed it is true.

        Raises:
            OSError: The file cannot be written.
        """
        for file in self._files():
            if length := records.used(_content(file)):
                os.pwrite(file, MOVED, 0)
                self._flush(file)
                os.pwrite(file, bytes(max(length - HEAD, 0)), HEAD)
                self._flush(file)
                os.pwrite(file, bytes(HEAD), 0)
        self._let_go_of_former()

    def close(self) -> None:
        """Let go of the file until it is used again."""
        self._let_go()
        self._let_go_of_former()

    def __del__(self) -> None:
        self.close()

    def _files(self) -> list[int]:
        return [file for file in (self._former, self._descriptor) if file is not None]

    def _opened(self) -> int:
        if self._descriptor is None:
            raise OSError("the intake is not open")
        return self._descriptor

    def _current(self) -> bool:
        """Tell whether the open file is the one in place, which is opened when there is one and none is open."""
        found = identity_under(self._name)
        if self._descriptor is None and found is not None:
            self._take(open_private(self._path))
        return found is not None and found == self._identity

    def _open(self) -> None:
        try:
            if self._descriptor is None:
                self._take(open_private(self._path))
            if self._lasting:
                sync_directory(self._path.parent)
            lengthen(self._opened(), SIZE, lasting=self._lasting)
        except OSError as error:
            if error.errno not in NO_SPACE:
                raise

    def _take(self, descriptor: int) -> None:
        opened = os.fstat(descriptor)
        self._descriptor, self._identity = descriptor, (opened.st_dev, opened.st_ino)

    def _let_go(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _let_go_of_former(self) -> None:
        if self._former is not None:
            os.close(self._former)
            self._former = None

    def _flush(self, descriptor: int) -> None:
        if self._lasting:
            sync_content(descriptor)


def _content(descriptor: int) -> bytes:
    return os.pread(descriptor, max(os.fstat(descriptor).st_size, 1), 0)
