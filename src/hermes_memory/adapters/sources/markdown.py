"""Reads MEMORY.md and USER.md of a home, as the host writes them."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from hermes_memory.adapters.sources.files import key_of, read_bounded
from hermes_memory.domain.errors import InvalidInput
from hermes_memory.domain.foreign import Foreign, ForeignEntry, Whose
from hermes_memory.domain.model import Target
from hermes_memory.domain.notebook import FILE_NAMES, parse

NAME: Final = "markdown"
MAX_BYTES: Final = 67_108_864


def read_notebooks(path: Path) -> list[Foreign]:
    """Read the notebooks; each entry is as old as its file.

    Args:
        path: A home, its `memories` folder, or one of the two files.

    Raises:
        InvalidInput: There is no notebook, or one cannot be read.
    """
    files = [(target, file) for target, name in FILE_NAMES.items() for file in [_find(path, name)] if file]
    if not files:
        raise InvalidInput(f"there is neither MEMORY.md nor USER.md in {path}")
    return [item for target, file in files for item in _entries(target, file)]


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
    return [
        ForeignEntry(
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
