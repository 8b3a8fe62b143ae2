"""Where verbs write a file: what stands there already is kept, unless somebody says otherwise."""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from typing import Final

from hermes_memory.domain.errors import InvalidInput

_LONGEST_HEAD: Final = 4096


def force_option(parser: argparse.ArgumentParser) -> None:
    """Add the option to replace what stands in the place of the file."""
    parser.add_argument("--force", action="store_true", help="replace whatever file is there")


def require_place(path: Path, *, force: bool, head: str | None = None) -> None:
    """Make sure that a file can be written to a place, and that nobody misses what it replaces.

    Args:
        force: Whether any file may be replaced, and a symbolic link by the file.
        head: The `kind` in the first line of an earlier output, which the next one replaces; None has no such line.

    Raises:
        InvalidInput: It cannot, or somebody might. The message names the place and the remedy.
    """
    folder = path.parent
    if not folder.is_dir():
        raise InvalidInput(f"{path} cannot be written: there is no folder {folder}. Make it, or name another file")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InvalidInput(f"{path} cannot be written: this account may not write to {folder}. Name another file")
    if path.exists() and not path.is_file():
        raise InvalidInput(f"{path} is no regular file, and the output would take its place: name another one")
    if force:
        return
    if path.is_symlink():
        raise InvalidInput(f"{path} is a symbolic link, and a file would take its place: name another one, or --force")
    if path.exists() and not (head and _may_go(path, head)):
        raise InvalidInput(
            f"{path} exists{' and is no earlier output of this verb' if head else ''}: name another file, or --force"
        )


def _may_go(path: Path, head: str) -> bool:
    """Tell whether a file is empty, or begins as an earlier output does."""
    try:
        with path.open("rb") as file:
            line = file.readline(_LONGEST_HEAD)
        found = json.loads(line) if line else {"kind": head}
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(found, dict) and found.get("kind") == head
