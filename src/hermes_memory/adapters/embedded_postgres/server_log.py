"""The server's log, kept below a bound.

The server holds the file open in append mode for as long as it lives, so it is cut in place and never renamed.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import IO

from hermes_memory.adapters.embedded_postgres.files import open_private

LARGEST_BYTES = 4 << 20
KEPT_BYTES = 1 << 20


def open_log(path: Path) -> IO[bytes]:
    """Open the log for appending, first moving most of an overlong one out of the way.

    Its last mebibyte goes to a file beside it with the suffix ``.1``; lines written during the cut may be lost.

    Raises:
        OSError: The file cannot be opened or written.
    """
    log = os.fdopen(open_private(path, os.O_RDWR | os.O_CREAT | os.O_APPEND), "ab", buffering=0)
    try:
        if os.fstat(log.fileno()).st_size > LARGEST_BYTES:
            _cut(log.fileno(), path.with_name(f"{path.name}.1"))
    except BaseException:
        log.close()
        raise
    return log


def _cut(descriptor: int, older: Path) -> None:
    size = os.fstat(descriptor).st_size
    tail = os.pread(descriptor, KEPT_BYTES, size - KEPT_BYTES)
    with os.fdopen(open_private(older, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "wb") as file:
        file.write(tail)
    os.ftruncate(descriptor, 0)
