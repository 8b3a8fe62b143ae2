"""Builds the virtual environment of the real Hermes host, once a machine, with this checkout's wheel in it.

Two layers: a base with the host and all requirements, kept as long as those stay the same, and an overlay with our
wheel alone, made anew when a source file changes. Both live in the user's cache, outside the checkout.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path

from tests.support.venv_cache import CHECKOUT, built, cache_directory, digest, run

HOST_REQUIREMENT = "hermes-agent==0.19.0"
_OVERLAY_KEPT_SECONDS = 24 * 3600


def host_python() -> Path:
    """Return the interpreter of a virtual environment that holds the host and this checkout's wheel.

    Raises:
        RuntimeError: It cannot be built, for instance without a network. The message ends with pip's own.
    """
    cache = cache_directory()
    base = cache / f"base-{digest(*_requirements(), HOST_REQUIREMENT, sys.version)}"
    with built(base) as fresh:
        if fresh:
            _build_base(base)
    overlay = cache / f"overlay-{digest(base.name, *_source_texts())}"
    with built(overlay) as fresh:
        if fresh:
            _prune(cache)
            _build_overlay(overlay, base)
    os.utime(overlay)
    return overlay / "bin" / "python"


def _build_base(base: Path) -> None:
    run(sys.executable, "-m", "venv", str(base))
    run(str(base / "bin" / "python"), "-m", "pip", "install", "--quiet", HOST_REQUIREMENT, *_requirements())


def _build_overlay(overlay: Path, base: Path) -> None:
    base_python = str(base / "bin" / "python")
    run(base_python, "-m", "venv", "--without-pip", str(overlay))
    site = next((overlay / "lib").glob("python*/site-packages"))
    base_site = next((base / "lib").glob("python*/site-packages"))
    (site / "host.pth").write_text(f"{base_site}\n")
    with tempfile.TemporaryDirectory() as wheels:
        run(base_python, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", wheels, str(CHECKOUT))
        (wheel,) = Path(wheels).glob("*.whl")
        target = ("--python", str(overlay / "bin" / "python"))
        run(base_python, "-m", "pip", *target, "install", "--quiet", "--no-deps", "--no-index", str(wheel))
    script = (base / "bin" / "hermes").read_text().replace(str(base / "bin"), str(overlay / "bin"))
    hermes = overlay / "bin" / "hermes"
    hermes.write_text(script)
    hermes.chmod(0o755)


def _requirements() -> list[str]:
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["project"]
    return [*project["dependencies"], *project["optional-dependencies"]["embedded"]]


def _source_texts() -> Iterator[str]:
    for path in sorted((CHECKOUT / "src").rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            yield str(path.relative_to(CHECKOUT))
            yield path.read_bytes().hex()
    yield (CHECKOUT / "pyproject.toml").read_text()


def _prune(cache: Path) -> None:
    """Remove overlays nobody has asked for since yesterday; another run may be using a younger one."""
    for overlay in cache.glob("overlay-*"):
        if overlay.is_dir() and time.time() - overlay.stat().st_mtime > _OVERLAY_KEPT_SECONDS:
            shutil.rmtree(overlay, ignore_errors=True)
