"""Disk space kept in reserve, so that delivered operations can be forgotten on a full disk."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Final

from hermes_memory.adapters.spool.files import open_private

SIZE: Final = 256 * 1024
"""Bytes of the reserve: room for the pages that forgetting a large batch writes to the journal."""

_ROOM: Final = 3 * SIZE


class Ballast:
    """A file of random bytes (file systems compress others away) that is dropped in need and made again later."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def keep(self) -> None:
        """Make the reserve unless it is there; not while the disk has little room left beside it."""
        with contextlib.suppress(OSError):  # no room is no fault; the next call tries again
            if not self._path.exists():
                self._make()

    def drop(self) -> None:
        """Give the reserve back to the file system."""
        self._path.unlink(missing_ok=True)

    def _make(self) -> None:
        room = os.statvfs(self._path.parent)
        if room.f_bavail * room.f_frsize < _ROOM:
            return
        descriptor = open_private(self._path, exclusive=True)
        written = 0
        try:
            written = os.write(descriptor, os.urandom(SIZE))
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
            if written < SIZE:
                self._path.unlink()
