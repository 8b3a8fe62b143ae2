"""The host's notebooks as files of a home."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from hermes_memory.domain.model import HomeId, Target
from hermes_memory.domain.notebook import FILE_NAMES, parse

logger = logging.getLogger(__name__)

MAX_BYTES: Final = 4_194_304
"""A notebook larger than this is not the host's doing (it keeps them to a few kilobytes) and is left alone."""


class NotebookFiles:
    """Reads `memories/MEMORY.md` and `memories/USER.md` of a home, wherever the host keeps them."""

    def __init__(self, home: Path, *, identity: HomeId) -> None:
        self._home = home
        self._identity = identity

    @property
    def home(self) -> HomeId:
        """The home they belong to."""
        return self._identity

    def read(self, target: Target) -> Sequence[str] | None:
        """Return the entries as written, None when there is no such file or it cannot be read now."""
        path = self._path(target)
        try:
            if path is None or path.stat().st_size > MAX_BYTES:
                return None
            return parse(path.read_text(encoding="utf-8", errors="replace"))
        except OSError:
            logger.debug("a notebook cannot be read", extra={"action": "notebook.unreadable", "target": target.value})
            return None

    def fingerprint(self) -> str:
        """Return a value that changes when one of the files does."""
        marks = []
        for target in Target:
            path = self._path(target)
            try:
                state = path.stat() if path else None
            except OSError:
                state = None
            marks.append(f"{state.st_mtime_ns}:{state.st_size}:{state.st_ino}" if state else "-")
        return "|".join(marks)

    def _path(self, target: Target) -> Path | None:
        for folder in (self._home / "memories", self._home):
            path = folder / FILE_NAMES[target]
            if path.is_file():
                return path
        return None
