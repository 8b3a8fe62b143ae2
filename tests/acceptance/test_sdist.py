"""Who has the source distribution alone has all that the tests and the pages need."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

from tests.support.unpacking import unpack
from tests.support.venv_cache import CHECKOUT
from tests.support.wheel_venv import distributions

TREES: Final = ("tests", "docs", "benchmarks", "examples", "ops", "constraints", "scripts")
ALONE: Final = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "LICENSE", "Makefile", "conftest.py")
MADE: Final = {"__pycache__", "_build", ".hypothesis", ".pytest_cache"}


def test_the_tests_of_the_source_distribution_are_all_there_and_run_in_it(tmp_path: Path) -> None:
    unpack(distributions().sdist, tmp_path)
    (unpacked,) = tmp_path.iterdir()
    needed = {path.relative_to(CHECKOUT) for tree in TREES for path in (CHECKOUT / tree).rglob("*") if path.is_file()}
    # These tests look at all pages, at the sources, and at the names of all tests.
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/unit/test_documentation.py"],
        cwd=unpacked,
        env={**os.environ, "PYTHONPATH": str(unpacked / "src")},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )

    assert not [path for path in needed if not MADE & {*path.parts} and not (unpacked / path).exists()]
    assert not [name for name in ALONE if not (unpacked / name).exists()]
    assert ran.returncode == 0, ran.stdout + ran.stderr
