"""Writes, checks and removes the shim through which the Hermes host finds the memory provider.

The host looks for providers in `$HERMES_HOME/plugins/<name>/`. The shim is a copy of the tiny plugin package; all it
does is to import the installed library.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Final

import yaml

import hermes_memory
from hermes_memory.domain.errors import ConfigurationError
from hermes_memory.hermes.files import write_atomically
from hermes_memory.hermes.interpreters import (
    DISTRIBUTION,
    HermesInterpreter,
    NameClash,
    ProbeFailed,
    detect_name_clash,
    interpreter_of_hermes,
    run_probe,
)

__all__ = [
    "DISTRIBUTION",
    "PLUGIN_NAME",
    "HermesInterpreter",
    "InstallResult",
    "NameClash",
    "RemovalResult",
    "detect_name_clash",
    "install",
    "interpreter_of_hermes",
    "remove",
    "shim_directory",
    "verify",
]

PLUGIN_NAME: Final = "hermes-memory"
# The manifest comes first because it tells whose directory this is, `__init__.py` last because it makes the host look.
_SHIM_FILES: Final = ("plugin.yaml", "cli.py", "__init__.py")
_PROVIDER: Final = "hermes_memory.hermes.provider."


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallResult:
    """What an installation did and whether the host will get the provider.

    Attributes:
        path: The shim directory.
        changed: Whether a file was written.
        verified: Whether a fresh interpreter loaded the shim and got this library's provider.
        library: The file `hermes_memory` resolves to there, or None when it is not found.
        problems: What stands in the way, each with its remedy.
        set_aside: Where a foreign directory of that name was moved, or None.
    """

    path: Path
    changed: bool
    verified: bool
    library: Path | None
    problems: tuple[str, ...]
    set_aside: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RemovalResult:
    """What a removal did: `removed` is False when there was no shim."""

    path: Path
    removed: bool
    set_aside: Path | None = None


def shim_directory(home: Path) -> Path:
    """Return where the host looks for this provider in a Hermes home."""
    return home.expanduser() / "plugins" / PLUGIN_NAME


def install(home: Path, *, force: bool = False, timeout: float = 60.0) -> InstallResult:
    """Write the shim into a Hermes home and check that it loads. Doing it again changes nothing.

    Args:
        home: The Hermes home, made when it does not exist.
        force: Move a directory of that name that is not ours aside instead of refusing.
        timeout: Seconds the check may take.

    Raises:
        ConfigurationError: The place is taken by something that is not ours, is a symbolic link, or cannot be written.
    """
    directory = shim_directory(home)
    try:
        set_aside = _make_room(directory, force=force)
        directory.mkdir(parents=True, exist_ok=True)
        changed = [name for name in _SHIM_FILES if _refresh(directory / name)]
    except OSError as error:
        raise ConfigurationError(f"cannot write {directory}: {error.strerror or type(error).__name__}") from error
    library, problems = verify(directory, timeout=timeout)
    return InstallResult(
        path=directory,
        changed=bool(changed),
        verified=not problems,
        library=library,
        problems=(*problems, *_strangers_among(directory)),
        set_aside=set_aside,
    )


def remove(home: Path, *, force: bool = False) -> RemovalResult:
    """Remove the shim from a Hermes home. Memories and settings stay.

    Args:
        home: The Hermes home.
        force: Move the directory aside as a whole when it is not ours or holds files that are not ours.

    Raises:
        ConfigurationError: The directory is not ours, holds other files, is a symbolic link, or cannot be changed.
    """
    directory = shim_directory(home)
    try:
        if not directory.is_symlink() and not directory.exists():
            return RemovalResult(path=directory, removed=False)
        set_aside = _make_room(directory, force=force)
        if set_aside is None and (strangers := sorted(_strangers(directory))):
            if not force:
                raise ConfigurationError(f"{directory} also holds {', '.join(strangers)}: move them, or use --force")
            set_aside = _move_aside(directory)
        if set_aside is None:
            _delete(directory)
    except OSError as error:
        raise ConfigurationError(f"cannot remove {directory}: {error.strerror or type(error).__name__}") from error
    return RemovalResult(path=directory, removed=True, set_aside=set_aside)


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
    if not report["provider"].startswith(_PROVIDER):
        problems.append(report["reason"] or f"the shim registers {report['provider']}, which is not this library's")
    elif python is None and library != Path(hermes_memory.__file__):
        problems.append(
            f"a fresh Python finds {library} instead of {hermes_memory.__file__}: is the library there twice?"
        )
    return library, tuple(problems)


def _make_room(directory: Path, *, force: bool) -> Path | None:
    """Leave an absent, empty or own directory as it is; refuse anything else, or move it aside."""
    linked = next((path for path in (directory, *map(directory.joinpath, _SHIM_FILES)) if path.is_symlink()), None)
    if linked is not None:
        raise ConfigurationError(f"{linked} is a symbolic link: remove it yourself, nothing was changed")
    if not directory.exists() or _is_ours(directory):
        return None
    if not force:
        raise ConfigurationError(f"{directory} was not made by {DISTRIBUTION}: move it, or use --force to set it aside")
    return _move_aside(directory)


def _is_ours(directory: Path) -> bool:
    if not directory.is_dir():
        return False
    if not any(directory.iterdir()):
        return True
    try:
        manifest = yaml.safe_load((directory / "plugin.yaml").read_text(encoding="utf-8"))
    except (FileNotFoundError, UnicodeDecodeError, yaml.YAMLError):
        return False
    return isinstance(manifest, dict) and manifest.get("distribution") == DISTRIBUTION


def _move_aside(directory: Path) -> Path:
    # The host passes over names that start with a dot.
    number = 1
    while (aside := directory.with_name(f".{directory.name}.replaced-{number}")).exists():
        number += 1
    return directory.rename(aside)


def _refresh(path: Path) -> bool:
    text = resources.files("hermes_memory.hermes.plugin").joinpath(path.name).read_text(encoding="utf-8")
    try:
        if path.read_text(encoding="utf-8") == text:
            return False
    except (FileNotFoundError, UnicodeDecodeError):
        pass
    write_atomically(path, text)
    return True


def _strangers(directory: Path) -> Iterator[str]:
    known = {*_SHIM_FILES, "after-install.md", "__pycache__"}
    return (path.name for path in directory.iterdir() if path.name not in known)


def _strangers_among(directory: Path) -> Iterator[str]:
    for name in sorted(_strangers(directory)):
        if name.endswith(".py"):
            yield f"{directory / name} is not part of the shim and the host executes it: move it away"


def _delete(directory: Path) -> None:
    for name in (*reversed(_SHIM_FILES), "after-install.md"):
        (directory / name).unlink(missing_ok=True)
    if (directory / "__pycache__").exists():
        shutil.rmtree(directory / "__pycache__")
    directory.rmdir()
