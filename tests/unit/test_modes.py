"""The modes of what is made in a home, and of what was made there before."""

from __future__ import annotations

import json
import logging
import os
import shlex
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.support.modes import too_open

from hermes_memory.adapters import published_heads
from hermes_memory.adapters.modes import make_private, make_readable, private_mode
from hermes_memory.adapters.secret_file import load_or_create, read_secret
from hermes_memory.adapters.secret_tally import FILE_NAME, FileSecretTally
from hermes_memory.bootstrap.home import open_local_half
from hermes_memory.cli.findings import Level
from hermes_memory.cli.mode_checks import mode_findings
from hermes_memory.domain.errors import ConfigurationError
from hermes_memory.hermes import install as installing
from hermes_memory.hermes.install import install, open_places, preload_directory, shim_directory
from hermes_memory.settings import Settings


@pytest.fixture(params=[0o000, 0o077, 0o777], ids=oct)
def umask(request: pytest.FixtureRequest) -> Iterator[None]:
    """Let what is made be as open, or as closed, as the umask can make it."""
    before = os.umask(request.param)
    try:
        yield
    finally:
        os.umask(before)


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A home with shim and preload, without the check in a fresh interpreter."""
    monkeypatch.setattr(installing, "verify", lambda directory, **_: (None, ()))
    home = tmp_path / "home"
    install(home)
    return home


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.usefixtures("umask")
@pytest.mark.parametrize(("make", "wanted"), [(make_private, private_mode()), (make_readable, 0o755)])
def test_a_directory_gets_its_mode_whatever_the_umask(
    tmp_path: Path, make: Callable[[Path], None], wanted: int
) -> None:
    make(tmp_path / "above" / "made")
    make(tmp_path / "above" / "made")

    assert [mode(path) for path in (tmp_path / "above", tmp_path / "above" / "made")] == [wanted] * 2


@pytest.mark.parametrize("make", [make_private, make_readable])
def test_a_directory_that_is_there_keeps_its_mode(tmp_path: Path, make: Callable[[Path], None]) -> None:
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs").chmod(0o2775)
    make(tmp_path / "theirs")
    (tmp_path / "file").touch()

    assert mode(tmp_path / "theirs") == 0o2775
    with pytest.raises(FileExistsError):
        make(tmp_path / "file")
    with pytest.raises(NotADirectoryError):
        make(tmp_path / "file" / "below")


def test_where_nothing_can_be_made_the_error_names_the_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(path: Path, **_: object) -> None:
        raise FileNotFoundError(2, "No such file or directory", str(path))  # as below /proc, which is there

    monkeypatch.setattr(Path, "mkdir", refused)

    with pytest.raises(FileNotFoundError) as caught:
        make_private(tmp_path / "home")
    assert caught.value.filename == str(tmp_path / "home")
    with pytest.raises(ConfigurationError, match=f"cannot write {tmp_path / 'home'}: No such file"):
        install(tmp_path / "home")


@pytest.mark.usefixtures("umask")
def test_the_local_half_of_a_home_is_closed_to_others_whatever_the_umask(tmp_path: Path) -> None:
    half = open_local_half(Settings(home=tmp_path / "above" / "home", spool_sync="NORMAL"))
    half.tally.note({"token": 1}, refused=False)
    half.spool.close()

    assert (half.folder / FILE_NAME).is_file()
    assert too_open(tmp_path) == {}


def test_a_state_folder_that_others_could_write_to_is_closed_to_them(tmp_path: Path) -> None:
    folder = tmp_path / "hermes-memory"
    folder.mkdir()
    folder.chmod(0o777)
    open_local_half(Settings(home=tmp_path, spool_sync="NORMAL")).spool.close()

    assert mode(folder) == 0o755


@pytest.mark.parametrize("wide", [0o644, 0o640, 0o666, 0o602])
def test_a_secret_that_was_open_to_others_is_closed_kept_and_told_of_once(
    tmp_path: Path, wide: int, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "secret"
    secret = load_or_create(path)
    path.chmod(wide)

    assert load_or_create(path) == read_secret(path) == secret
    assert mode(path) == 0o600
    (told,) = caplog.records
    assert told.levelno == logging.WARNING
    assert "subjects rekey" in told.message


def test_a_secret_that_cannot_be_closed_is_refused_with_its_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "secret"
    load_or_create(path)
    path.chmod(0o644)

    def read_only(*_: object) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(os, "fchmod", read_only)
    with pytest.raises(ConfigurationError, match=r"others may read the secret .*Read-only file system.*chmod 600"):
        load_or_create(path)
    assert path.exists()


def test_a_secret_that_is_no_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "secret").mkdir()

    with pytest.raises(ConfigurationError, match="no plain file"):
        load_or_create(tmp_path / "secret")


def test_counts_and_heads_that_were_open_to_others_are_closed_when_they_are_written(tmp_path: Path) -> None:
    tally, heads = FileSecretTally(tmp_path), tmp_path / "heads.jsonl"
    tally.note({"token": 1}, refused=False)
    waiting = published_heads.waiting_beside(heads)
    for path in (tmp_path / FILE_NAME, heads, waiting):
        path.touch()
        path.chmod(0o666)
    waiting.write_text(f"{json.dumps({'theme': 'fruit', 'seal': 1, 'chained': '00'})}\n")
    tally.note({"token": 1}, refused=False)
    published_heads.publish(heads, [])

    assert tally.totals().redacted == {"token": 2}
    assert too_open(tmp_path) == {}


def test_what_others_may_write_where_the_host_finds_code_is_told(installed: Path) -> None:
    assert [*open_places(installed), *mode_findings(installed)] == []

    for path in (installed / "plugins", shim_directory(installed) / "cli.py", preload_directory(installed)):
        path.chmod(mode(path) | 0o020)
    (group,) = mode_findings(installed)
    preload_directory(installed).parent.chmod(0o777)
    (everybody,) = mode_findings(installed)

    assert (group.level, everybody.level) == (Level.WARNING, Level.ERROR)
    assert group.message.startswith("a group may write")
    assert f"chmod go-w {installed / 'plugins'} " in group.message
    assert str(shim_directory(installed) / "cli.py") in group.message
    assert str(preload_directory(installed).parent) in everybody.message


def test_the_command_that_closes_places_names_few_of_many_so_that_a_shell_reads_them(installed: Path) -> None:
    home = installed.rename(installed.with_name("my home"))
    compiled = shim_directory(home) / "__pycache__"
    for path in (home, *(compiled / f"{number}.pyc" for number in range(40))):
        path.touch()
        path.chmod(0o775)
    (finding,) = mode_findings(home)
    command = finding.message.partition("`")[2].partition("`")[0]

    assert shlex.split(command)[:3] == ["chmod", "go-w", str(home)]
    assert len(shlex.split(command)) == 7
    assert "` and so for 36 more, then `hermes-memory install`" in finding.message


@pytest.mark.parametrize("linked", ["", "plugins", "plugins/model-providers"])
def test_what_stands_behind_a_link_is_looked_at(installed: Path, linked: str) -> None:
    place = installed / linked
    behind = place.rename(installed.with_name("elsewhere"))
    place.symlink_to(behind)
    before = list(open_places(installed))
    behind.chmod(0o777)
    (shim_directory(installed) / "__pycache__" / "stale.pyc").symlink_to("nowhere")

    assert before == []
    assert place in open_places(installed)


def test_installing_again_closes_what_is_ours_to_writers_and_tells_the_rest(installed: Path) -> None:
    compiled = shim_directory(installed) / "__pycache__"
    (compiled / "cli.cpython-311.pyc").write_bytes(b"whoever wrote this")
    for path in (shim_directory(installed), shim_directory(installed) / "cli.py", compiled, installed / "plugins"):
        path.chmod(0o777)
    result = install(installed)

    assert result.changed
    assert [problem.split(", ")[0] for problem in result.problems] == [
        f"other users may write to {installed / 'plugins'}"
    ]
    assert list(compiled.iterdir()) == []
    assert mode(installed / "plugins") == 0o777
    (installed / "plugins").chmod(0o755)
    assert too_open(installed) == {}


def test_variables_that_others_may_read_are_told(installed: Path) -> None:
    (installed / ".env").write_text("KEY=value\n")
    (installed / ".env").chmod(0o640)
    (finding,) = mode_findings(installed)
    (installed / ".env").chmod(0o600)

    assert finding.level is Level.WARNING
    assert f"others may read or change {installed / '.env'}" in finding.message
    assert list(mode_findings(installed)) == []


@pytest.mark.usefixtures("umask")
def test_what_install_writes_can_be_read_by_all_and_written_by_its_owner(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(installing, "verify", lambda directory, **_: (None, ()))
    install(tmp_path / "home")
    below = list((tmp_path / "home" / "plugins").rglob("*"))

    assert {mode(path) for path in below if path.is_dir()} == {0o755}
    assert {mode(path) for path in below if path.is_file()} == {0o644}
    assert mode(tmp_path / "home") == private_mode()
