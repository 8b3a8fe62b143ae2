"""What the doctor says of the files in a home by which the host finds the memory."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from hermes_memory.cli.findings import Level
from hermes_memory.cli.shim_checks import shim_finding
from hermes_memory.hermes import install as installing
from hermes_memory.hermes.install import complete, install, preload_directory, shim_directory


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with shim and preload, without the check in a fresh interpreter."""
    monkeypatch.setattr(installing, "verify", lambda directory, **_: (None, ()))
    install(tmp_path)
    return tmp_path


def test_what_install_has_written_is_well(home: Path) -> None:
    finding = shim_finding(home)

    assert finding.level is Level.OK
    assert str(shim_directory(home)) in finding.message


def test_an_empty_home_is_told_how_to_be_found(tmp_path: Path) -> None:
    finding = shim_finding(tmp_path)

    assert finding.level is Level.WARNING
    assert "not installed: run `hermes-memory install`" in finding.message


def test_a_shim_without_its_preload_is_told_and_can_be_completed(home: Path) -> None:
    shutil.rmtree(preload_directory(home))
    before = shim_finding(home)
    complete(home)

    assert before.level is Level.WARNING
    assert "several threads" in before.message
    assert shim_finding(home).level is Level.OK


@pytest.mark.parametrize("directory", [shim_directory, preload_directory])
def test_files_of_another_version_are_told(home: Path, directory: Callable[[Path], Path]) -> None:
    (directory(home) / "__init__.py").write_text("# an older one")

    assert "not of this version" in shim_finding(home).message


def test_somebody_elses_shim_is_an_error(home: Path) -> None:
    (shim_directory(home) / "plugin.yaml").write_text("name: hermes-memory\n")

    assert shim_finding(home).level is Level.ERROR


def test_a_home_without_a_shim_is_not_completed(tmp_path: Path) -> None:
    complete(tmp_path)

    assert list(tmp_path.iterdir()) == []


def test_a_place_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    shim_directory(tmp_path).mkdir(parents=True)
    (shim_directory(tmp_path) / "plugin.yaml").mkdir()

    assert "cannot be read" in shim_finding(tmp_path).message
