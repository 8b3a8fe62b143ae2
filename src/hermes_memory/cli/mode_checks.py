"""What the doctor looks at in the modes of a home's files: who else may read its secrets or change its code."""

from __future__ import annotations

import shlex
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from hermes_memory.adapters.modes import OTHERS
from hermes_memory.cli.findings import Finding, Level
from hermes_memory.hermes.install import open_places
from hermes_memory.settings.names import DOTENV_FILE

_NAMED: Final = 5
"""Places that are named: a home, its two directories of plugins, and some of what `install` closes itself."""


def mode_findings(home: Path) -> Iterator[Finding]:
    """Say what other users of the machine may do to a home; nothing when they may do nothing."""
    try:
        yield from _writable(open_places(home))
        yield from _readable(home.expanduser() / DOTENV_FILE)
    except OSError as error:
        yield _finding(Level.WARNING, f"the modes of {home} cannot be read: {error.strerror or type(error).__name__}")


def _writable(places: Sequence[Path]) -> Iterator[Finding]:
    if places:
        everybody = any(path.stat().st_mode & stat.S_IWOTH for path in places)
        command = shlex.join(["chmod", "go-w", *map(str, places[:_NAMED])])
        others = len(places) - _NAMED
        yield _finding(
            Level.ERROR if everybody else Level.WARNING,
            f"{'everybody' if everybody else 'a group'} may write where the host finds what it executes, which lets "
            f"them act as you: run `{command}`{f' and so for {others:,} more' if others > 0 else ''}, then "
            "`hermes-memory install`",
        )


def _readable(secrets: Path) -> Iterator[Finding]:
    if secrets.exists() and secrets.stat().st_mode & OTHERS:
        yield _finding(Level.WARNING, f"others may read or change {secrets}, which holds secrets: `chmod 600` it")


def _finding(level: Level, message: str) -> Finding:
    return Finding(check="modes", level=level, message=message)
