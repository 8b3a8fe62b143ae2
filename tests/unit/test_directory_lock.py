"""Several processes at once in one home: no answer is lost, and nobody finds half of what another writes."""

from __future__ import annotations

import errno
import fcntl
import json
import logging
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

import pytest

from hermes_memory.cli.exits import ERROR, exit_for
from hermes_memory.domain.errors import ConfigurationError
from hermes_memory.hermes import config_schema, secrets_file
from hermes_memory.hermes import install as installing
from hermes_memory.hermes.config_schema import save_config
from hermes_memory.hermes.directory_lock import DirectoryBusy, alone_in
from hermes_memory.hermes.files import write_atomically
from hermes_memory.hermes.install import complete, install, preload_directory, remove, shim_directory
from hermes_memory.hermes.secrets_file import keep_secrets

RIVALS: Final = 4
AT_ONCE: Final = """
import os, sys, time, traceback
from pathlib import Path
from hermes_memory.hermes import config_schema, install, parcels, secrets_file

home, count = Path(sys.argv[1]), int(sys.argv[2])
install.verify = lambda directory, **_: (None, ())


def slowly(write):
    def written(*arguments, **options):
        time.sleep(0.05)  # between what was read and what is written
        write(*arguments, **options)
    return written


for module in (config_schema, parcels, secrets_file):
    module.write_atomically = slowly(module.write_atomically)

{work}

ready, start = os.pipe()
children = []
for number in range(count):
    child = os.fork()
    if child:
        children.append(child)
        continue
    os.close(start)
    os.read(ready, 1)
    try:
        work(number)
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    os._exit(0)
os.close(start)
sys.exit(max(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children))
"""
FORKED: Final = """
import os, sys
from pathlib import Path
from hermes_memory.hermes.directory_lock import alone_in
from hermes_memory.hermes.files import write_atomically

home = Path(sys.argv[1])
waits, end = os.pipe()
with alone_in(home):
    if not os.fork():
        os.close(end)
        os.read(waits, 1)
        os._exit(0)
with alone_in(home, patience=0):
    pass
os.close(end)
os.wait()
"""


def at_once(home: Path, work: str) -> None:
    """Let processes do the same in a home, all from one moment on."""
    code = AT_ONCE.format(work=f"def work(number):\n    {work}")
    done = subprocess.run(
        [sys.executable, "-c", code, str(home), str(RIVALS)], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.fixture
def unchecked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out the fresh interpreter, which takes a while, where only files matter."""
    monkeypatch.setattr(installing, "verify", lambda directory, **_: (None, ()))


def test_settings_that_are_saved_at_once_are_all_kept(tmp_path: Path) -> None:
    answers = [("pool_size", 3), ("prefetch_limit", 7), ("embed_dim", 96), ("prefetch", False)]
    at_once(tmp_path, f"config_schema.save_config(dict([{answers}[number]]), home)")

    assert json.loads((tmp_path / "hermes-memory.json").read_text()) == dict(answers)


def test_secrets_that_are_kept_at_once_are_all_there(tmp_path: Path) -> None:
    at_once(tmp_path, "secrets_file.keep_secrets(home, {f'KEY{number}': str(number)})")

    lines = (tmp_path / ".env").read_text().splitlines()
    assert sorted(lines) == [f"KEY{number}={number}" for number in range(RIVALS)]


def test_who_installs_at_once_is_refused_nothing(tmp_path: Path) -> None:
    at_once(tmp_path / "home", "install.install(home)")

    assert all(parcel.is_current for parcel in installing.parcels(tmp_path / "home"))
    assert [path.name for path in shim_directory(tmp_path / "home").parent.iterdir() if path.name[0] == "."] == []


def test_who_installs_by_force_at_once_sets_aside_what_is_foreign_and_no_more(tmp_path: Path) -> None:
    shim_directory(tmp_path).mkdir(parents=True)
    (shim_directory(tmp_path) / "treasure.txt").write_text("kept")
    at_once(tmp_path, "install.install(home, force=True)")

    (aside,) = shim_directory(tmp_path).parent.glob(".hermes-memory.*")
    assert (aside / "treasure.txt").read_text() == "kept"
    assert all(parcel.is_current for parcel in installing.parcels(tmp_path))


def test_who_installs_and_removes_at_once_is_refused_nothing(tmp_path: Path) -> None:
    at_once(tmp_path, "(install.remove if number % 2 else install.install)(home)")

    assert not any(parcel.is_foreign for parcel in installing.parcels(tmp_path))


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("empty", [False, True], ids=["missing", "empty"])
def test_nobody_finds_half_of_a_directory_that_is_being_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, empty: bool
) -> None:
    if empty:
        shim_directory(tmp_path).mkdir(parents=True)

    def broken_off(path: Path, text: str) -> None:
        assert not any(parcel.is_foreign for parcel in installing.parcels(tmp_path))
        if path.name == "cli.py":
            raise OSError(errno.ENOSPC, "No space left on device")
        write_atomically(path, text)

    with monkeypatch.context() as patched:
        patched.setattr("hermes_memory.hermes.parcels.write_atomically", broken_off)
        with pytest.raises(ConfigurationError, match="No space left"):
            install(tmp_path)

    assert [list(path.iterdir()) for path in [shim_directory(tmp_path)] if path.exists()] == [[]] * empty
    assert list(shim_directory(tmp_path).parent.glob(".*")) == []
    assert install(tmp_path).changed


@pytest.mark.usefixtures("unchecked")
def test_what_a_removal_leaves_that_is_broken_off_is_ours_still(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path)
    unlink, left = Path.unlink, 0

    def broken_off(path: Path, **options: bool) -> None:
        nonlocal left
        if not left:
            raise OSError(errno.EIO, "Input/output error")
        left -= 1
        unlink(path, **options)

    for most in range(7):
        left = most
        with monkeypatch.context() as patched:
            patched.setattr(Path, "unlink", broken_off)
            with pytest.raises(ConfigurationError, match="Input/output error"):
                remove(tmp_path)
        assert not any(parcel.is_foreign for parcel in installing.parcels(tmp_path))
        install(tmp_path)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    "change",
    [
        install,
        complete,
        remove,
        lambda home: save_config({"pool_size": 3}, home),
        lambda home: keep_secrets(home, {"KEY": "1"}),
    ],
    ids=["install", "complete", "remove", "save_config", "keep_secrets"],
)
def test_whoever_waits_in_vain_is_told_and_has_changed_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: Callable[[Path], object]
) -> None:
    install(tmp_path)
    (preload_directory(tmp_path) / "__init__.py").write_text("# an older version")
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    for module in (config_schema, installing, secrets_file):
        monkeypatch.setattr(module, "alone_in", partial(alone_in, patience=0))

    with (
        alone_in(tmp_path),
        pytest.raises(DirectoryBusy, match="another process keeps it locked; try again") as told,
    ):
        change(tmp_path)

    assert str(tmp_path) in str(told.value)
    assert exit_for(told.value) == ERROR
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before


@pytest.mark.usefixtures("unchecked")
def test_a_home_without_locks_is_changed_and_that_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def no_locks(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", no_locks)
    with caplog.at_level(logging.WARNING):
        save_config({"pool_size": 3}, tmp_path)
        keep_secrets(tmp_path, {"KEY": "1"})
        install(tmp_path)

    assert json.loads((tmp_path / "hermes-memory.json").read_text()) == {"pool_size": 3}
    assert (tmp_path / ".env").read_text() == "KEY=1\n"
    assert all(parcel.is_current for parcel in installing.parcels(tmp_path))
    assert [vars(record)["action"] for record in caplog.records] == ["home.unlocked"] * 3


def test_a_child_that_was_forked_meanwhile_keeps_nobody_out(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", FORKED, str(tmp_path)], timeout=60, check=True)


def test_what_is_refused_or_taken_out_makes_no_home(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError):
        save_config({"pool_size": -1}, tmp_path / "home")
    keep_secrets(tmp_path / "home", {"KEY": None})
    assert not remove(tmp_path / "home").removed

    assert list(tmp_path.iterdir()) == []
