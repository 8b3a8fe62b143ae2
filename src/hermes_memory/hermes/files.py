"""Writes files so that a reader sees the old one or the new one, never half of either."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final

BUFFER_BYTES: Final = 1 << 16
DRAFT: Final = ".draft"
"""What the name of a file ends with that is to take the place of another: nobody's own copy beside that ends so."""
_NAME_KEPT: Final = 50
"""Characters of a name that a file beside it begins with: the longest name has no room for more."""


def write_atomically(path: Path, text: str, *, mode: int = 0o644) -> None:
    """Replace a file by one rename, after its content has reached the disk.

    Args:
        path: The file; its directory must exist.
        text: Its whole new content, stored as UTF-8.
        mode: Permission bits of the new file, whatever the umask and the old file's bits.

    Raises:
        OSError: The directory cannot be written, or the disk is full. The old file is untouched.
    """
    with writing_atomically(path, mode=mode) as file:
        file.write(text.encode())


@contextmanager
def writing_atomically(path: Path, *, mode: int) -> Iterator[BinaryIO]:
    """Yield a file of a name of its own, which takes the place of `path` when the block ends, once it is on the disk.

    Args:
        path: As of `write_atomically`, and `mode` too.

    Raises:
        OSError: As `write_atomically`. The old file is untouched, as it is when the block raises anything.
    """
    try:
        descriptor, name = tempfile.mkstemp(prefix=f".{path.name[:_NAME_KEPT]}.", suffix=DRAFT, dir=path.parent)
    except OSError as error:
        # Nobody knows the file beside it by its name.
        raise OSError(error.errno, error.strerror, str(path)) from error
    try:
        with os.fdopen(descriptor, "wb", buffering=BUFFER_BYTES) as file:
            os.fchmod(file.fileno(), mode)
            yield file
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    _sync_directory(path.parent)


def _sync_directory(directory: Path) -> None:
    # The rename itself is durable only once the directory is.
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
