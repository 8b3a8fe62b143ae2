"""Disk space kept in reserve, so that delivered operations can be forgotten on a full disk."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from hermes_memory.adapters.spool.files import NO_SPACE, has_room, open_private

SIZE: Final = 256 * 1024
"""Bytes of the reserve: room for the pages that forgetting a large batch writes to the journal."""

ROOM: Final = 3 * SIZE
"""Bytes that the disk has before it is made, so that what it keeps is not the last that others find."""


class Ballast:
    """A file of random bytes (file systems compress others away) that is dropped in need and made again later."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def keep(self) -> bool:
        """Make the reserve unless it is there; False while the disk has too little room for it and more beside it."""
        try:
            return os.access(self._path, os.F_OK) or self._make()
        except FileExistsError:  # another thread or process was faster
            return True
        except OSError as error:  # any other trouble is for the work itself to meet
            return error.errno not in NO_SPACE

    def drop(self) -> None:
        """Give the reserve back to the file system."""
        self._path.unlink(missing_ok=True)

    def _make(self) -> bool:
        if not has_room(self._path.parent, ROOM):
            return False
        descriptor = open_private(self._path, exclusive=True)
        written = 0
        try:
            written = os.write(descriptor, os.urandom(SIZE))
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
            if written < SIZE:
                self._path.unlink()
        return written == SIZE
