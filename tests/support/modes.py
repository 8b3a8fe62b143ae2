"""Looks at the modes of everything that was made below a directory."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

CODE: Final = "plugins"
"""Where the host finds what it executes: for all to read, where the home lets them in."""
_PASSED: Final = 0o011
"""What a directory of root's gives the account that runs Postgres: to pass, and to list nothing."""


def too_open(directory: Path) -> dict[str, str]:
    """Return the mode of each directory and file below one that others may read or change, by its path.

    Code that the host executes may be read, and no more. Nothing is left out.
    """
    return {
        str(path.relative_to(directory)): oct(mode)
        for path, mode in _everything(directory)
        if mode & ~_allowed(path.relative_to(directory), path.is_dir()) & 0o077
    }


def _everything(directory: Path) -> Iterator[tuple[Path, int]]:
    for folder, folders, files in os.walk(directory):
        for name in (*folders, *files):
            path = Path(folder, name)
            if not path.is_symlink():
                yield path, stat.S_IMODE(path.lstat().st_mode)


def _allowed(path: Path, is_directory: bool) -> int:
    if CODE in path.parts:
        return 0o755 if is_directory else 0o644
    return 0o700 | (_PASSED if os.geteuid() == 0 else 0) if is_directory else 0o600
