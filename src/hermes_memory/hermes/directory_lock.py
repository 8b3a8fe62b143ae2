"""Lets one process at a time change what lies in a directory of the host, where several may be at it at once.

The lock is the kernel's, on the directory itself: no file is left behind for it, nothing has to be made where nothing
can be written, and every path that leads to the directory leads to the same lock.
"""

from __future__ import annotations

import fcntl
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from hermes_memory.adapters.brief_lock import lock_briefly
from hermes_memory.domain.errors import HermesMemoryError

logger = logging.getLogger(__name__)

PATIENCE: Final = 10.0
"""Seconds to wait for others. Each of them needs a few hundredths of one."""


class DirectoryBusy(HermesMemoryError):
    """Another process keeps a directory to itself all the time, and nothing was changed. Try again."""


@contextmanager
def alone_in(directory: Path, *, patience: float = PATIENCE) -> Iterator[None]:
    """Keep others who ask for the same directory out until the block ends. It must not be asked for twice over.

    Where there are no locks, as on some network file systems, the block runs without one, and that is logged.

    Args:
        directory: It must exist.
        patience: Seconds to wait for others.

    Raises:
        DirectoryBusy: Somebody else was there all the time. The block did not run.
    """
    descriptor = _locked(directory, patience)
    try:
        yield
    finally:
        if descriptor is not None:
            # A child that was forked meanwhile has the descriptor too, and would keep the lock.
            fcntl.flock(descriptor, fcntl.LOCK_UN)
            os.close(descriptor)


def _locked(directory: Path, patience: float) -> int | None:
    descriptor = None
    try:
        descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        lock_briefly(descriptor, patience)
    except OSError as error:
        if descriptor is not None:
            os.close(descriptor)
        if isinstance(error, TimeoutError):
            raise DirectoryBusy(f"cannot change {directory}: {error.strerror}; try again") from error
        logger.warning(
            "a directory cannot be locked: what several processes change in it at once may get lost",
            extra={"action": "home.unlocked", "cause": type(error).__name__},
        )
        return None
    return descriptor
