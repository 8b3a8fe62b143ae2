"""Builds wheel and sdist of this checkout and installs the wheel, once for each state of the sources.

An environment holds the wheel, and links to those packages of the one that runs the tests that the wheel requires: so
nothing is fetched, and nothing else can be imported. All of it lives in the user's cache.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any, Final

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.support.unpacking import unpack
from tests.support.venv_cache import CHECKOUT, built, cache_directory, digest, run

_KEPT_SECONDS: Final = 24 * 3600
_BUILT_FROM: Final = ("src", "examples", "tests", "benchmarks", "docs", "README.md", "LICENSE", "pyproject.toml")

_HATCH: Final = """
import os, sys
project, kind, into = sys.argv[1:]
os.chdir(project)
from hatchling import build
os.makedirs(into, exist_ok=True)
build.build_sdist(into) if kind == "sdist" else build.build_wheel(into)
"""
"""The build backend builds the project that it is started in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Distributions:
    """What a release would upload.

    Attributes:
        wheel: Built from the checkout.
        from_sdist: Built from the unpacked sdist, far from the checkout.
    """

    sdist: Path
    wheel: Path
    from_sdist: Path


@dataclass(frozen=True, slots=True)
class Installed:
    """A virtual environment with the wheel in it, and nothing of the checkout."""

    root: Path

    @property
    def python(self) -> Path:
        """Its interpreter."""
        return self.root / "bin" / "python"

    @property
    def site(self) -> Path:
        """Where the wheel was unpacked."""
        return next((self.root / "lib").glob("python*/site-packages"))

    def run(self, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
        """Run a program of the environment, or with `-c` some Python, away from the checkout."""
        program, *rest = arguments
        command = (
            [str(self.python), "-I", program, *rest] if program == "-c" else [str(self.root / "bin" / program), *rest]
        )
        return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=240, check=False)


def distributions() -> Distributions:
    """Return wheel and sdist, built now if a source changed.

    Raises:
        RuntimeError: They cannot be built. The message ends with what the builder said.
    """
    folder = cache_directory() / f"dist-{digest(*_sources(*_BUILT_FROM))}"
    with built(folder) as fresh:
        if fresh:
            _prune("dist-*")
            _build(folder)
    os.utime(folder)
    return Distributions(
        sdist=_only(folder.glob("*.tar.gz")),
        wheel=_only((folder / "checkout").glob("*.whl")),
        from_sdist=_only((folder / "sdist").glob("*.whl")),
    )


def installed(*extras: str) -> Installed:
    """Return an environment with the wheel that the sdist made, its requirements, and those of some extras.

    Raises:
        RuntimeError: It cannot be built. The message ends with what was said.
    """
    wheel = distributions().from_sdist
    folder = cache_directory() / f"wheel-{digest(wheel.parent.parent.name, sys.executable, *extras)}"
    with built(folder) as fresh:
        if fresh:
            _prune("wheel-*")
            _install(folder, wheel, extras)
    os.utime(folder)
    return Installed(folder)


def _build(folder: Path) -> None:
    folder.mkdir()
    _hatch(CHECKOUT, "sdist", folder)
    _hatch(CHECKOUT, "wheel", folder / "checkout")
    with tempfile.TemporaryDirectory() as unpacked:
        unpack(_only(folder.glob("*.tar.gz")), Path(unpacked))
        _hatch(_only(Path(unpacked).iterdir()), "wheel", folder / "sdist")


def _hatch(project: Path, kind: str, into: Path) -> None:
    run(sys.executable, "-c", _HATCH, str(project), kind, str(into))


def _install(folder: Path, wheel: Path, extras: Sequence[str]) -> None:
    run(sys.executable, "-m", "venv", "--without-pip", str(folder))
    target = Installed(folder)
    pip = (sys.executable, "-m", "pip", "--python", str(target.python), "install", "--quiet")
    run(*pip, "--disable-pip-version-check", "--no-deps", "--no-index", str(wheel))
    for name in _required(extras):
        _link(name, target.site)


def _required(extras: Sequence[str]) -> set[str]:
    """Return the names of the packages that the library needs, theirs included, as this environment has them."""
    project: dict[str, Any] = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"], *(each for extra in extras for each in project["optional-dependencies"][extra])]
    found: set[str] = set()
    while wanted:
        requirement = Requirement(wanted.pop())
        name = canonicalize_name(requirement.name)
        if name in found or not _applies(requirement):
            continue
        found.add(name)
        for own in ("", *requirement.extras):
            wanted += [text for text in metadata.requires(name) or () if _applies(Requirement(text), extra=own)]
    return found


def _applies(requirement: Requirement, *, extra: str = "") -> bool:
    return requirement.marker is None or requirement.marker.evaluate({"extra": extra})


def _link(name: str, site: Path) -> None:
    """Let a package of this environment be found in another, by links to its files and folders."""
    distribution = metadata.distribution(name)
    for top in {file.parts[0] for file in distribution.files or ()} - {"..", "__pycache__"}:
        if not (site / top).exists():
            (site / top).symlink_to(Path(str(distribution.locate_file(top))))


def _sources(*names: str) -> Iterator[str]:
    for name in names:
        place = CHECKOUT / name
        for path in sorted(place.rglob("*")) if place.is_dir() else [place]:
            if path.is_file() and not {"__pycache__", "_build"} & set(path.parts):
                yield str(path.relative_to(CHECKOUT))
                yield path.read_bytes().hex()


def _only(paths: Iterator[Path]) -> Path:
    (path,) = paths
    return path


def _prune(pattern: str) -> None:
    """Remove what nobody has asked for since yesterday; another run may be using a younger one."""
    for folder in cache_directory().glob(pattern):
        if folder.is_dir() and time.time() - folder.stat().st_mtime > _KEPT_SECONDS:
            shutil.rmtree(folder, ignore_errors=True)
