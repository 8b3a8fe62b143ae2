"""The host's notebooks as files of a home."""

from __future__ import annotations

import logging
import time
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Final

from hermes_memory.adapters.notebook_lines import FileNotebookLines
from hermes_memory.domain.model import HomeId, Target
from hermes_memory.domain.notebook import FILE_NAMES, parse
from hermes_memory.domain.notebook_lines import Standing

logger = logging.getLogger(__name__)

LINES: Final = Path("hermes-memory", "notebook-lines")
"""Where a home keeps whose the lines of its notebooks are."""
MAX_BYTES: Final = 4_194_304
"""A notebook larger than this is not the host's doing (it keeps them to a few kilobytes) and is left alone."""
LOOK_AGAIN: Final = 30.0
"""Seconds after which what could not be known counts as changed, so that it is looked at again, and not every turn."""


class NotebookFiles:
    """Reads `memories/MEMORY.md` and `memories/USER.md` of a home, wherever the host keeps them."""

    def __init__(self, home: Path, *, identity: HomeId) -> None:
        self._home = home
        self._identity = identity
        self._lines = FileNotebookLines(home / LINES, self._written)
        self._standing: tuple[object, Standing] | None = None
        self._whole = True
        self._again: float | None = None
        self._looks = 0

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
            self._look_again()
            logger.debug("a notebook cannot be read", extra={"action": "notebook.unreadable", "target": target.value})
            return None

    def fingerprint(self) -> str:
        """Return a value that changes when one of the files does, or is to be looked at again."""
        if self._again is not None and time.monotonic() >= self._again:
            self._looks, self._again = self._looks + 1, None
        return f"{self._state()}|{self._looks}"

    def _state(self) -> str:
        marks = []
        for target in Target:
            path = self._path(target)
            try:
                state = path.stat() if path else None
            except OSError:
                state = None
            marks.append(f"{state.st_mtime_ns}:{state.st_size}:{state.st_ino}" if state else "-")
        return "|".join(marks)

    def told(self, entries: Collection[str], *, private: bool) -> None:
        """Note of entries that they are some subject's, or everybody's."""
        self._lines.told(entries, private=private)

    def subject_comes(self) -> None:
        """Note that a session with a subject is here."""
        self._lines.come()

    def subjects_leave(self) -> None:
        """Note that there is no session with a subject here any more."""
        self._lines.leave()

    def standing(self) -> Standing:
        """Return whose the entries are. What was found in all files is kept until one, or the note of it, changes."""
        state = self._state(), self._lines.state()
        known = self._standing
        if known is not None and known[0] == state:
            return known[1]
        found = self._lines.standing()
        passing = found.passing or found.problem is not None
        self._standing = None if passing or not self._whole else (state, found)
        if passing:
            self._look_again()
        return found

    def _look_again(self) -> None:
        if self._again is None:
            self._again = time.monotonic() + LOOK_AGAIN

    def _written(self) -> tuple[list[str], bool]:
        """Return the entries of all notebooks, and whether each one that is there could be read."""
        read = [self.read(target) for target in Target if self._path(target)]
        self._whole = None not in read
        return [entry for entries in read for entry in entries or ()], self._whole

    def _path(self, target: Target) -> Path | None:
        for folder in (self._home / "memories", self._home):
            path = folder / FILE_NAMES[target]
            if path.is_file():
                return path
        return None
