"""The kernel's lock on an open file, waited for only briefly: a process that stands still holds nobody else up."""

from __future__ import annotations

import errno
import fcntl
import random
import time
from typing import Final

_PAUSE: Final = (0.0005, 0.002)


def lock_briefly(descriptor: int, patience: float, *, shared: bool = False) -> None:
    """Lock a file for this descriptor alone, until it is closed. A few short tries, then no more.

    Args:
        descriptor: The open file.
        patience: Seconds to try.
        shared: Lock it together with others that do so as well. What the descriptor had for itself alone it gives up.

    Raises:
        TimeoutError: Somebody else held the lock all the time.
        OSError: The file cannot be locked.
    """
    deadline = time.monotonic() + patience
    kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
    while True:
        try:
            fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
        except BlockingIOError as error:
            if time.monotonic() >= deadline:
                raise TimeoutError(errno.ETIMEDOUT, "another process keeps it locked") from error
        else:
            return
        time.sleep(random.uniform(*_PAUSE))  # noqa: S311 - spreads the waiters, guards nothing
