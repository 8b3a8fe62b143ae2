"""Room in SQLite's journal, made before it is needed.

A commit that makes the journal longer has the file system write down its new length too, which takes as long again as
the commit itself. Once the journal has been as long as it gets it is written over, and stays; only the first commits
after each opening would pay. Nor can a disk that fills up then take the journal's room away.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from hermes_memory.adapters.spool.files import NO_SPACE, lengthen

FRAME: Final = 4096 + 24
"""Bytes that a page takes in the journal."""
BYTES: Final = 160 * FRAME + 32
"""Frames of a page each, and the header: what is written between two checkpoints, and a large commit more."""


def reserve(database: Path) -> None:
    """Make the journal of an open database as long as it gets, under the lock of those who write.

    What SQLite finds beyond its own frames it takes for the rest of an older journal, and zeros for none at all. A
    disk without room leaves the journal as it is. SQLite has no locks on this file that closing it could drop.

    Raises:
        OSError: The journal cannot be opened or written, for another reason than a full disk.
    """
    try:
        descriptor = os.open(f"{database}-wal", os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:  # SQLite has not made it yet
        return
    try:
        lengthen(descriptor, BYTES)
    except OSError as error:
        if error.errno not in NO_SPACE:
            raise
    finally:
        os.close(descriptor)


def length(database: Path) -> int:
    """Return how long the journal of a database is, 0 when there is none."""
    try:
        return os.lstat(f"{database}-wal").st_size
    except FileNotFoundError:
        return 0
