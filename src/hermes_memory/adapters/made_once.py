"""Small private files that are made once, whole, whoever else makes them at the same moment."""

from __future__ import annotations

import os
import re
import secrets
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

from hermes_memory.adapters.modes import PRIVATE_FILE, make_private
from hermes_memory.adapters.spool.files import sync_directory

ABANDONED: Final = 60.0
"""Seconds after which a draft is nobody's any more. It lives for some milliseconds, unless its process is killed."""
_DRAFT: Final = re.compile(r"\.[0-9]{1,10}\.[0-9a-f]{8}")


def make_once(path: Path, text: str) -> None:
    """Make a file (0600) that holds a text, on the disk, unless something of this name is there.

    What somebody who was killed at that has left is removed: it may be the file itself, under another name.

    Raises:
        OSError: It cannot be made.
    """
    make_private(path.parent)
    try:
        links = path.lstat().st_nlink
    except FileNotFoundError:
        links = 0
    if links != 1:
        _remove_abandoned(path)
    if not links:
        _make(path, text)


def _make(path: Path, text: str) -> None:
    draft = path.with_name(f"{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, PRIVATE_FILE)
    try:
        rest = text.encode("ascii")
        while rest:  # a disk that fills up takes a part, then says so
            rest = rest[os.write(descriptor, rest) :]
        os.fsync(descriptor)
        # A hard link is made by one of several rivals only, and never shows a half-written file.
        with suppress(FileExistsError):
            path.hardlink_to(draft)
    finally:
        os.close(descriptor)
        draft.unlink(missing_ok=True)
    sync_directory(path.parent)


def _remove_abandoned(path: Path) -> None:
    for draft in path.parent.glob(f"{path.name}.*"):
        with suppress(OSError):
            if _DRAFT.fullmatch(draft.name.removeprefix(path.name)) and _age_of(draft) > ABANDONED:
                draft.unlink()


def _age_of(path: Path) -> float:
    return time.time() - path.lstat().st_mtime
