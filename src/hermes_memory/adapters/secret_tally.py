"""The count of the secrets that a home kept out, in a small file that all its processes share."""

from __future__ import annotations

import errno
import json
import logging
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from hermes_memory.adapters.brief_lock import lock_briefly
from hermes_memory.adapters.modes import PRIVATE_FILE, close_to_others, make_private
from hermes_memory.ports.secrets import SecretTotals

logger = logging.getLogger(__name__)

FILE_NAME: Final = "secrets.json"
_MOST_BYTES: Final = 65_536
_REDACTED: Final = "redacted"
_REFUSED: Final = "refused"
_PATIENCE: Final = 0.25
"""Seconds to wait for other processes that count. The host's turn waits with us."""


class FileSecretTally:
    """Counts in a file (0600) of a folder. The file is touched only when a secret was found, and to read the counts.

    The lock is the file's own, held for one reading and one writing, and waited for only briefly. A file that says
    nothing sensible counts as empty.

    Args:
        folder: Where the file is, or will be made.
        patience: Seconds to wait for another process that holds the lock, which may be stopped.
    """

    def __init__(self, folder: Path, *, patience: float = _PATIENCE) -> None:
        self._path = folder / FILE_NAME
        self._patience = patience

    def note(self, kinds: Mapping[str, int], *, refused: bool) -> None:
        """Add what was found in one text."""
        try:
            with _locked(self._path, os.O_RDWR | os.O_CREAT, self._patience) as descriptor:
                counts = _read(descriptor)
                counts[_REFUSED if refused else _REDACTED].update(kinds)
                _write(descriptor, counts)
        except OSError as error:
            logger.warning(
                "secrets were kept out and could not be counted",
                extra={"action": "secrets.uncounted", "cause": type(error).__name__},
            )

    def totals(self) -> SecretTotals:
        """Return the counts, none when they cannot be read."""
        try:
            with _locked(self._path, os.O_RDONLY, self._patience) as descriptor:
                counts = _read(descriptor)
        except FileNotFoundError:
            return SecretTotals()
        except OSError as error:
            logger.warning(
                "the count of secrets cannot be read",
                extra={"action": "secrets.unread", "cause": type(error).__name__},
            )
            return SecretTotals()
        return SecretTotals(redacted=dict(counts[_REDACTED]), refused=dict(counts[_REFUSED]))


@contextmanager
def _locked(path: Path, flags: int, patience: float) -> Iterator[int]:
    if flags & os.O_CREAT:
        make_private(path.parent)
    # Without waiting: somebody may have put a pipe there.
    descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK, PRIVATE_FILE)
    try:
        close_to_others(descriptor)
        lock_briefly(descriptor, patience)
        yield descriptor
    finally:
        os.close(descriptor)


def _read(descriptor: int) -> dict[str, Counter[str]]:
    try:
        document = json.loads(os.pread(descriptor, _MOST_BYTES, 0) or b"{}")
    except (ValueError, RecursionError):
        document = {}
    return {name: _counter(document, name) for name in (_REDACTED, _REFUSED)}


def _counter(document: object, name: str) -> Counter[str]:
    counts = document.get(name) if isinstance(document, dict) else None
    if not isinstance(counts, dict):
        return Counter()
    return Counter({str(kind): count for kind, count in counts.items() if type(count) is int and count > 0})


def _write(descriptor: int, counts: Mapping[str, Mapping[str, int]]) -> None:
    text = json.dumps(counts, sort_keys=True).encode("utf-8")
    before = os.pread(descriptor, _MOST_BYTES, 0)
    try:
        if os.pwrite(descriptor, text, 0) != len(text):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    except OSError:
        # A disk that fills up takes a part, which would be no sense. What stood there has its room.
        os.pwrite(descriptor, before, 0)
        text = before
        raise
    finally:
        os.ftruncate(descriptor, len(text))
