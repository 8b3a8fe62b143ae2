"""Finds out which Python sees which `hermes_memory`: this one, a fresh one, and the one behind the `hermes` command."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import metadata, resources
from pathlib import Path
from typing import Any, Final

DISTRIBUTION: Final = "hermes-memory-postgres"
_PACKAGE: Final = "hermes_memory"
_CLASHING: Final = "hermes-memory"
_LAUNCHER_BYTES: Final = 8192
_LAUNCHERS_IN_A_ROW: Final = 4
_TRAMPOLINE: Final = re.compile(r"""^'''exec'\s+(?:"([^"]+)"|(\S+))\s""", re.MULTILINE)
_EXEC: Final = re.compile(r"""^\s*exec\s+(?:"([^"$]+)"|'([^']+)'|([^\s"'$]+))\s+.*"\$@\"""", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class NameClash:
    """Another installed distribution that claims the import package `hermes_memory`."""

    distribution: str
    version: str

    def __str__(self) -> str:
        return (
            f"the distribution '{self.distribution}' {self.version} also installs a package '{_PACKAGE}'; "
            f"the two overwrite each other: uninstall it, then reinstall {DISTRIBUTION}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class HermesInterpreter:
    """The Python that runs the `hermes` command.

    Attributes:
        command: The `hermes` found on the PATH.
        python: Its interpreter, or None when the launcher does not tell.
        sees_memory: Whether that interpreter finds this library, or None when it could not be asked.
        problem: What is wrong and the remedy, or "" when all is well.
    """

    command: Path
    python: Path | None
    sees_memory: bool | None
    problem: str = ""


def detect_name_clash() -> NameClash | None:
    """Look for another distribution that installs a top-level `hermes_memory` beside ours."""
    owners = set(metadata.packages_distributions().get(_PACKAGE, ()))
    owners |= {name for name in (_CLASHING,) if _version_of(name)}
    for name in sorted(owners):
        if _canonical(name) != DISTRIBUTION:
            return NameClash(distribution=name, version=_version_of(name))
    return None


def interpreter_of_hermes(*, path: str | None = None, timeout: float = 60.0) -> HermesInterpreter | None:
    """Tell which Python the `hermes` command runs and whether it finds this library.

    Args:
        path: Directories to search, as in `PATH`; the environment's by default.
        timeout: Seconds the other interpreter may take to answer.

    Returns:
        None when there is no `hermes` command.
    """
    found = shutil.which("hermes", path=path)
    if found is None:
        return None
    command = Path(found)
    python = _interpreter_behind(command)
    if python is None:
        return HermesInterpreter(command=command, python=None, sees_memory=None)
    if python == Path(sys.executable):
        return HermesInterpreter(command=command, python=python, sees_memory=True)
    try:
        report = run_probe(None, python=python, timeout=timeout)
    except ProbeFailed as error:
        return HermesInterpreter(command=command, python=python, sees_memory=None, problem=str(error))
    if report["provider_module"]:
        return HermesInterpreter(command=command, python=python, sees_memory=True)
    remedy = f"{python} -m pip install '{DISTRIBUTION}[embedded]'"
    problem = f"'{command}' runs {python}, which does not find this library: {remedy}"
    return HermesInterpreter(command=command, python=python, sees_memory=False, problem=problem)


class ProbeFailed(Exception):
    """A fresh interpreter could not be started, or died before it could report."""


def run_probe(directory: Path | None, *, python: Path, timeout: float) -> Mapping[str, Any]:
    """Let a fresh interpreter report which library it finds, and what a plugin directory registers.

    Args:
        directory: The plugin directory to load, or None to try the library alone.
        python: The interpreter to ask.
        timeout: Seconds until it is killed.

    Raises:
        ProbeFailed: It did not start, did not end in time, or failed. The message holds its last line.
    """
    source = resources.files("hermes_memory.hermes").joinpath("shim_probe.py").read_text(encoding="utf-8")
    # Neither the working directory nor a script's directory may come before the site-packages.
    environment = {**os.environ, "PYTHONSAFEPATH": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    command = [str(python), "-c", source, *([str(directory.absolute())] if directory else [])]
    try:
        done = subprocess.run(  # noqa: S603 - no shell, and the program is the Python that was asked for
            command, env=environment, cwd="/", capture_output=True, text=True, timeout=timeout, check=False
        )
        if done.returncode:
            raise ProbeFailed(f"{python} cannot load it: {_last_line(done.stderr)}")
        report: Mapping[str, Any] = json.loads(_last_line(done.stdout))
    except subprocess.TimeoutExpired as error:
        raise ProbeFailed(f"{python} did not answer within {timeout:g} s") from error
    except (OSError, ValueError) as error:
        raise ProbeFailed(f"{python} cannot be asked: {type(error).__name__}") from error
    return report


def _interpreter_behind(command: Path) -> Path | None:
    """Follow launchers to a Python: console scripts, their `sh` trampolines, and shell wrappers that `exec`."""
    for _ in range(_LAUNCHERS_IN_A_ROW):
        text = _head_of(command)
        if not text.startswith("#!"):
            return None
        words = text.splitlines()[0][2:].split()
        if words and Path(words[0]).name == "env":
            words = [found] if (found := shutil.which(words[-1])) else []
        if words and Path(words[0]).name.startswith("python"):
            return Path(words[0])
        if match := _TRAMPOLINE.search(text):
            return Path(match[1] or match[2])
        match = _EXEC.search(text)
        if match is None:
            return None
        command = Path(match[1] or match[2] or match[3])
    return None


def _head_of(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(_LAUNCHER_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""


def _version_of(distribution: str) -> str:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return ""


def _canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1] if lines else "it printed nothing"
