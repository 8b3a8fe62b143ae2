"""What the doctor looks at in the files that `install` writes into a home."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from hermes_memory.cli.findings import Finding, Level
from hermes_memory.hermes.install import parcels
from hermes_memory.hermes.interpreters import DISTRIBUTION

REMEDY: Final = "run `hermes-memory install`"


def shim_finding(home: Path) -> Finding:
    """Say whether the host finds the memory, in every thread, and by files of this version."""
    try:
        return _look(home)
    except OSError as error:
        return _finding(Level.WARNING, f"cannot be read: {error.strerror or type(error).__name__}")


def _look(home: Path) -> Finding:
    shim, preload = parcels(home)
    if not shim.directory.is_dir():
        return _finding(Level.WARNING, f"not installed: {REMEDY} to let the Hermes host find the memory")
    if shim.is_foreign:
        return _finding(Level.ERROR, f"{shim.directory} was not made by {DISTRIBUTION}")
    if not preload.directory.is_dir():
        return _finding(
            Level.WARNING, f"without its preload, agents built in several threads may miss the memory: {REMEDY}"
        )
    if not (shim.is_current and preload.is_current):
        return _finding(Level.WARNING, f"not of this version of the library: {REMEDY}")
    return _finding(Level.OK, f"installed at {shim.directory}, with its preload")


def _finding(level: Level, message: str) -> Finding:
    return Finding(check="shim", level=level, message=message)
