"""Writes, checks and removes what a Hermes home needs to find the memory provider.

The host looks for providers in `$HERMES_HOME/plugins/<name>/`. The shim there is a copy of the tiny plugin package; all
it does is to import the installed library. Beside it lies a preload, which the host executes at its start, so that the
shim is complete before threads look for it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import hermes_memory
from hermes_memory.adapters.modes import is_open_to_writers, make_private
from hermes_memory.domain.errors import ConfigurationError
from hermes_memory.hermes.directory_lock import alone_in
from hermes_memory.hermes.interpreters import (
    DISTRIBUTION,
    HermesInterpreter,
    NameClash,
    ProbeFailed,
    detect_name_clash,
    interpreter_of_hermes,
    run_probe,
)
from hermes_memory.hermes.parcels import Parcel

__all__ = [
    "DISTRIBUTION",
    "PLUGIN_NAME",
    "HermesInterpreter",
    "InstallResult",
    "NameClash",
    "RemovalResult",
    "complete",
    "detect_name_clash",
    "install",
    "interpreter_of_hermes",
    "open_places",
    "parcels",
    "preload_directory",
    "remove",
    "shim_directory",
    "verify",
]

PLUGIN_NAME: Final = "hermes-memory"
_PROVIDER: Final = "hermes_memory.hermes.provider."


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallResult:
    """What an installation did and whether the host will get the provider.

    Attributes:
        path: The shim directory.
        changed: Whether a file was written.
        verified: Whether a fresh interpreter loaded the shim and got this library's provider, and the Python of the
            `hermes` on the PATH, where there is one, finds the library.
        library: The file `hermes_memory` resolves to there, or None when it is not found.
        problems: What stands in the way, each with its remedy.
        set_aside: Where foreign directories of our names were moved.
    """

    path: Path
    changed: bool
    verified: bool
    library: Path | None
    problems: tuple[str, ...]
    set_aside: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RemovalResult:
    """What a removal did: `removed` is False when there was nothing of ours."""

    path: Path
    removed: bool
    set_aside: tuple[Path, ...] = ()


def shim_directory(home: Path) -> Path:
    """Return where the host looks for this provider in a Hermes home."""
    return home.expanduser() / "plugins" / PLUGIN_NAME


def preload_directory(home: Path) -> Path:
    """Return where the host finds what it executes before any provider is loaded, in a Hermes home."""
    return home.expanduser() / "plugins" / "model-providers" / PLUGIN_NAME


def parcels(home: Path) -> tuple[Parcel, Parcel]:
    """Return what belongs into a Hermes home: the shim and the preload. Nothing is read or written."""
    return (
        Parcel(
            directory=shim_directory(home),
            package="hermes_memory.hermes.plugin",
            files=("plugin.yaml", "cli.py", "__init__.py"),
        ),
        Parcel(
            directory=preload_directory(home),
            package="hermes_memory.hermes.preload",
            files=("plugin.yaml", "__init__.py"),
        ),
    )


def install(home: Path, *, force: bool = False, timeout: float = 60.0) -> InstallResult:
    """Write shim and preload into a Hermes home and check that the host can load them. Doing it again changes nothing.

    Several processes may do it at once: they take turns.

    Args:
        home: The Hermes home, made when it does not exist.
        force: Move directories of our names that are not ours aside instead of refusing.
        timeout: Seconds each of the two interpreters that are asked may take.

    Raises:
        ConfigurationError: A place is taken by something that is not ours, is a symbolic link, or cannot be written.
            Nothing was changed in the first two cases.
        DirectoryBusy: Another process keeps the home to itself. Nothing was changed.
    """
    shim, preload = both = parcels(home)
    try:
        make_private(home.expanduser())
        with alone_in(home.expanduser()):
            for parcel in both:
                parcel.require_room(force=force)
            set_aside = tuple(parcel.set_aside() for parcel in both if parcel.is_foreign)
            changed = [parcel.refresh() for parcel in (preload, shim)]
            around = (*_executed_strangers(shim), *_writable_places(home))
    except OSError as error:
        raise ConfigurationError(f"cannot write {error.filename or home}: {_cause(error)}") from error
    library, problems = verify(shim.directory, timeout=timeout)
    host = interpreter_of_hermes(timeout=timeout)
    if host is not None and host.problem:
        problems = (*problems, host.problem)
    return InstallResult(
        path=shim.directory,
        changed=any(changed),
        verified=not problems,
        library=library,
        problems=(*problems, *around),
        set_aside=set_aside,
    )


def complete(home: Path) -> None:
    """Write the preload beside a shim that was put there otherwise. Without a shim there is nothing to complete.

    Raises:
        ConfigurationError: Its place is taken by something that is not ours, is a symbolic link, or cannot be written.
        DirectoryBusy: Another process keeps the home to itself. Nothing was changed.
    """
    shim, preload = parcels(home)
    try:
        if shim.directory.is_dir():
            with alone_in(home.expanduser()):
                preload.require_room(force=False)
                preload.refresh()
    except OSError as error:
        raise ConfigurationError(f"cannot write {error.filename or preload.directory}: {_cause(error)}") from error


def open_places(home: Path) -> Sequence[Path]:
    """Return what others may write to of all by which the host comes to our code: who can, decides what it executes.

    Raises:
        OSError: A place cannot be looked at.
    """
    home = home.expanduser()
    above = [home, home / "plugins", preload_directory(home).parent]
    below = [path for parcel in parcels(home) for path in parcel.everything()]
    return [path for path in (*above, *below) if path.exists() and is_open_to_writers(path)]


def remove(home: Path, *, force: bool = False) -> RemovalResult:
    """Remove shim and preload from a Hermes home. Memories and settings stay.

    Args:
        home: The Hermes home.
        force: Move a directory aside as a whole when it is not ours or holds files that are not ours.

    Raises:
        ConfigurationError: A directory is not ours, holds other files, is a symbolic link, or cannot be changed.
            Nothing was changed in the first three cases.
        DirectoryBusy: Another process keeps the home to itself. Nothing was changed.
    """
    try:
        if not _present(home):
            return RemovalResult(path=shim_directory(home), removed=False)
        with alone_in(home.expanduser()):
            return _remove(home, force=force)
    except OSError as error:
        raise ConfigurationError(f"cannot remove {error.filename or home}: {_cause(error)}") from error


def verify(
    directory: Path, *, python: Path | None = None, timeout: float = 60.0
) -> tuple[Path | None, tuple[str, ...]]:
    """Load a shim in a fresh interpreter, as the host would.

    Args:
        directory: The shim directory.
        python: The interpreter to ask; this one by default.
        timeout: Seconds it may take.

    Returns:
        The file `hermes_memory` resolves to there, and the problems found.
    """
    clash = detect_name_clash()
    problems = [str(clash)] if clash else []
    try:
        report = run_probe(directory, python=python or Path(sys.executable), timeout=timeout)
    except ProbeFailed as error:
        return None, (*problems, str(error))
    library = Path(report["library"]) if report["library"] else None
    if report["preloaded"] is False:
        problems.append("the preload does not make the shim known: agents built in several threads may miss the memory")
    if not report["provider"].startswith(_PROVIDER):
        problems.append(report["reason"] or f"the shim registers {report['provider']}, which is not this library's")
    elif python is None and library != Path(hermes_memory.__file__):
        problems.append(
            f"a fresh Python finds {library} instead of {hermes_memory.__file__}: is the library there twice?"
        )
    return library, tuple(problems)


def _present(home: Path) -> list[Parcel]:
    return [parcel for parcel in parcels(home) if parcel.directory.is_symlink() or parcel.directory.exists()]


def _remove(home: Path, *, force: bool) -> RemovalResult:
    present = _present(home)
    for parcel in present:
        _require_removable(parcel, force=force)
    mixed = [parcel for parcel in present if parcel.is_foreign or parcel.strangers()]
    for parcel in present:
        if parcel not in mixed:
            parcel.delete()
    set_aside = tuple(parcel.set_aside() for parcel in mixed)
    _remove_if_empty(preload_directory(home).parent)
    return RemovalResult(path=shim_directory(home), removed=bool(present), set_aside=set_aside)


def _require_removable(parcel: Parcel, *, force: bool) -> None:
    parcel.require_room(force=force)
    if not force and (strangers := parcel.strangers()):
        raise ConfigurationError(f"{parcel.directory} also holds {', '.join(strangers)}: move them, or use --force")


def _remove_if_empty(directory: Path) -> None:
    if directory.is_dir() and not directory.is_symlink() and not any(directory.iterdir()):
        directory.rmdir()


def _executed_strangers(parcel: Parcel) -> Iterator[str]:
    for name in parcel.strangers():
        if name.endswith(".py"):
            yield f"{parcel.directory / name} is not part of the shim and the host executes it: move it away"


def _writable_places(home: Path) -> Iterator[str]:
    for path in open_places(home):
        yield f"other users may write to {path}, where the host finds what it executes: use `chmod go-w`"


def _cause(error: OSError) -> str:
    return error.strerror or type(error).__name__
