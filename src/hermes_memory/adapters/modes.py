"""Modes of the directories and files that we make: what they are meant to be, whatever the umask."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Final

PRIVATE_FILE: Final = 0o600
READABLE: Final = 0o755
OTHERS: Final = 0o077
"""What anybody but the owner may do."""
OTHERS_WRITE: Final = 0o022


def private_mode() -> int:
    """Return the mode of a directory that is nobody else's.

    For root another account runs Postgres, and has to pass on its way to the cluster of a home. It can list nothing.
    """
    return 0o711 if os.geteuid() == 0 else 0o700


def make_private(directory: Path) -> None:
    """Make a directory, and what is missing above it, for us alone. Those that are there stay as they are.

    Raises:
        OSError: It cannot be made, or something else has its name.
    """
    _make(directory, private_mode())


def make_readable(directory: Path) -> None:
    """Make a directory, and what is missing above it, for all to read and nobody else to change, as `make_private`.

    Raises:
        OSError: It cannot be made, or something else has its name.
    """
    _make(directory, READABLE)


def close_to_others(descriptor: int) -> bool:
    """Keep everybody else from an open file of ours; tell whether it was open to them. Another user's stays as it is.

    Raises:
        OSError: Its mode cannot be changed.
    """
    found = os.fstat(descriptor)
    if found.st_uid != os.geteuid() or not found.st_mode & OTHERS:
        return False
    os.fchmod(descriptor, PRIVATE_FILE)
    return True


def keep_writers_out(path: Path) -> None:
    """Let nobody else write to a directory of ours, or to a file of ours. Another user's stays as it is.

    Raises:
        OSError: It is not there, or its mode cannot be changed.
    """
    found = path.stat()
    if found.st_uid == os.geteuid() and found.st_mode & OTHERS_WRITE:
        path.chmod(stat.S_IMODE(found.st_mode) & ~OTHERS_WRITE)


def is_open_to_writers(path: Path) -> bool:
    """Tell whether anybody but its owner may write to what stands under a name, or behind the link that does.

    Raises:
        OSError: It cannot be looked at.
    """
    try:
        return bool(path.stat().st_mode & OTHERS_WRITE)
    except FileNotFoundError:  # or a link that leads nowhere
        return False


def _make(directory: Path, mode: int) -> None:
    try:
        _make_one(directory, mode)
    except FileNotFoundError:
        # Each once: some systems say so where the directory above is there, and nothing can be made in it.
        for place in (*reversed(directory.parents), directory):
            _make_one(place, mode)


def _make_one(directory: Path, mode: int) -> None:
    try:
        directory.mkdir(mode=mode)
    except OSError:
        if not directory.is_dir():
            raise
    else:
        if directory.stat().st_mode & 0o777 != mode:  # a narrow umask has taken some away
            directory.chmod(mode)
