"""The heads of the chain of history that were published outside of the database: a file that is only added to."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from hermes_memory.adapters.brief_lock import lock_briefly
from hermes_memory.domain.chain import Head
from hermes_memory.domain.errors import ConfigurationError
from hermes_memory.ports.seals import Sealed

_PRIVATE: Final = 0o600
_PATIENCE: Final = 1.0
"""Seconds to wait for other processes that add."""
_LONGEST_LINE: Final = 65_536


def publish(path: Path, seals: Iterable[Sealed]) -> None:
    """Add heads to the file, durably, a JSON object a line; the file is made for us alone when it is missing.

    Several processes may add at once: each locks the file. All heads are added or none.

    Raises:
        ConfigurationError: The file is a link, another user's, or cannot be written. The message does not name it, so
            that it may be logged.
    """
    lines = "".join(f"{json.dumps(_plain(each))}\n" for each in seals).encode()
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
    try:
        descriptor = os.open(path, flags, _PRIVATE)
        try:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid():
                raise ConfigurationError("the file of the published heads is no plain file of this user's: remove it")
            lock_briefly(descriptor, _PATIENCE)
            _add(descriptor, lines)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise ConfigurationError(f"the file of the published heads cannot be written: {error.strerror}") from error


def published(path: Path) -> Sequence[Head]:
    """Return the heads in a file, oldest first; none when there is no file. A line cut off at the end is left out.

    Raises:
        ConfigurationError: It cannot be read, or holds something else.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return []
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{path} cannot be read: {type(error).__name__}") from error
    whole, _, _cut = text.rpartition("\n")
    return [_head(path, line) for line in whole.splitlines() if line]


def latest(heads: Iterable[Head]) -> Sequence[Head]:
    """Return the newest head of each theme."""
    newest: dict[str, Head] = {}
    for head in heads:
        if head.theme not in newest or head.seal >= newest[head.theme].seal:
            newest[head.theme] = head
    return list(newest.values())


def _add(descriptor: int, lines: bytes) -> None:
    length = _drop_cut_line(descriptor)
    try:
        while lines:
            lines = lines[os.write(descriptor, lines) :]
        os.fsync(descriptor)
    except OSError:
        # A disk that fills up takes a part. What is added next would be glued to it, and nobody could read that.
        os.ftruncate(descriptor, length)
        raise


def _drop_cut_line(descriptor: int) -> int:
    """Take away what a process that died while it wrote left of its last line; return the length of the file."""
    length = os.fstat(descriptor).st_size
    end = os.pread(descriptor, _LONGEST_LINE, max(length - _LONGEST_LINE, 0))
    cut = len(end) - (end.rfind(b"\n") + 1)
    if cut == _LONGEST_LINE:
        raise ConfigurationError("the file of the published heads holds a line that is no published head")
    if cut:
        os.ftruncate(descriptor, length - cut)
    return length - cut


def _plain(sealed: Sealed) -> dict[str, str | int]:
    head = sealed.head
    return {
        "theme": head.theme,
        "seal": head.seal,
        "changes": sealed.changes,
        "chained": head.chained.hex(),
        "at": sealed.at.isoformat(),
    }


def _head(path: Path, line: str) -> Head:
    with suppress(ValueError, KeyError, TypeError):
        told = json.loads(line)
        return Head(theme=str(told["theme"]), seal=int(told["seal"]), chained=bytes.fromhex(told["chained"]))
    raise ConfigurationError(f"{path} holds a line that is no published head")
