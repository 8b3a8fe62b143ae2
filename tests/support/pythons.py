"""The Pythons that tests of whole processes run on: this one, or each that `FAULTS_PYTHONS` names.

A Python other than this one gets a virtual environment of its own with the library's requirements, kept in the user's
cache. The library itself is this checkout's, by PYTHONPATH.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.support.venv_cache import CHECKOUT, built, cache_directory, digest, run

VARIABLE: Final = "FAULTS_PYTHONS"
"""Names Pythons by their versions, such as `3.11 3.12`; `pyenv` is asked for one that is not on the path."""


@dataclass(frozen=True, slots=True)
class Interpreter:
    """A Python by its version, such as 3.12; "" is the one that runs the tests."""

    version: str

    def __str__(self) -> str:
        return self.version or "this"

    def ready(self) -> Path:
        """Return a Python with all that the library needs, made now if need be.

        Raises:
            RuntimeError: It is not installed, or its environment cannot be built.
        """
        if not self.version:
            return Path(sys.executable)
        original = find_python(self.version)
        venv = cache_directory() / f"python-{self.version}-{digest(str(original), *_requirements())}"
        with built(venv) as fresh:
            if fresh:
                run(str(original), "-m", "venv", str(venv))
                run(str(venv / "bin" / "python"), "-m", "pip", "install", "--quiet", *_requirements())
        return venv / "bin" / "python"


def interpreters() -> list[Interpreter]:
    """Return the Pythons to test."""
    return [Interpreter(version) for version in os.environ.get(VARIABLE, "").split() or [""]]


def find_python(version: str) -> Path:
    """Return an interpreter of a version such as 3.12.

    Raises:
        RuntimeError: There is none on this machine.
    """
    candidates = [shutil.which(f"python{version}")]
    if pyenv := shutil.which("pyenv"):
        root = subprocess.run([pyenv, "root"], capture_output=True, text=True, check=True).stdout.strip()
        candidates += [str(path) for path in sorted(Path(root).glob(f"versions/{version}.*/bin/python"))]
    for candidate in candidates:
        if candidate and _runs(candidate, version):
            return Path(candidate)
    raise RuntimeError(f"there is no Python {version} with a venv module on this machine: install it, or name another")


def _runs(candidate: str, version: str) -> bool:
    """Whether it is that Python: a shim of pyenv may be there and lead nowhere, and Debian's may lack ensurepip."""
    script = "import ensurepip, sys; print('%d.%d' % sys.version_info[:2])"
    ran = subprocess.run([candidate, "-c", script], capture_output=True, text=True, check=False)
    return ran.returncode == 0 and ran.stdout.strip() == version


def _requirements() -> list[str]:
    required: list[str] = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["project"]["dependencies"]
    return required
