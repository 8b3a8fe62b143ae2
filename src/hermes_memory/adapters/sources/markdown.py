"""Reads MEMORY.md and USER.md of a home, as the host writes them, without the lines that may be some contact's."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from hermes_memory.adapters.notebook_files import LINES, NotebookFiles
from hermes_memory.adapters.sources.files import key_of, read_bounded
from hermes_memory.domain.errors import InvalidInput
from hermes_memory.domain.foreign import Foreign, ForeignEntry, Unreadable, Whose
from hermes_memory.domain.model import HomeId, Target
from hermes_memory.domain.notebook import FILE_NAMES, parse

NAME: Final = "markdown"
MAX_BYTES: Final = 67_108_864
_NOT_EVERYBODYS: Final = (
    "it came in talk with somebody, or may have, and an import would show it to everyone: "
    "`hermes-memory add` keeps it for whom it is meant"
)


def read_notebooks(path: Path) -> list[Foreign]:
    """Read the notebooks; each entry is as old as its file. What the home knows not to be everybody's is left out.

    Args:
        path: A home, its `memories` folder, or one of the two files.

    Raises:
        InvalidInput: There is no notebook, or one cannot be read.
    """
    files = [(target, file) for target, name in FILE_NAMES.items() for file in [_find(path, name)] if file]
    if not files:
        raise InvalidInput(f"there is neither MEMORY.md nor USER.md in {path}")
    return [item for target, file in files for item in _entries(target, file)]


def _shared(file: Path) -> frozenset[str] | None:
    """Return the lines that the home a notebook lies in knows to be everybody's, None where no contact ever came."""
    home = file.parent.parent if file.parent.name == "memories" else file.parent
    if not os.path.lexists(home / LINES):
        return None
    return NotebookFiles(home, identity=HomeId("")).standing().shared


def _find(path: Path, name: str) -> Path | None:
    if path.is_file():
        return path if path.name == name else None
    return next((file for file in (path / "memories" / name, path / name) if file.is_file()), None)


def _entries(target: Target, file: Path) -> list[Foreign]:
    text = read_bounded(file, MAX_BYTES).decode("utf-8", errors="replace").replace("\r\n", "\n").replace("\r", "\n")
    try:
        at = datetime.fromtimestamp(file.stat().st_mtime, UTC)
    except OSError as error:
        raise InvalidInput(f"{file} cannot be read ({type(error).__name__})") from None
    shared = _shared(file)
    return [
        Unreadable(place=f"{file.name} entry {number}", reason=_NOT_EVERYBODYS)
        if shared is not None and content not in shared
        else ForeignEntry(
            place=f"{file.name} entry {number}",
            key=key_of(target, content),
            whose=Whose(),
            target=target,
            content=content,
            at=at,
            metadata={"imported": {"from": file.name}},
        )
        for number, content in enumerate(parse(text), 1)
    ]
