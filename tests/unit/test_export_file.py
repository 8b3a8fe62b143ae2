"""The file of an export takes its place whole, and takes the place of nothing that is no file."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from hermes_memory.cli.exits import USAGE
from hermes_memory.cli.main import main
from hermes_memory.hermes.files import writing_atomically


def test_two_that_write_one_file_at_once_each_publish_their_own_whole(tmp_path: Path) -> None:
    path, foreign = tmp_path / "out.jsonl", tmp_path / "out.jsonl.part"
    foreign.write_text("somebody else's")
    with writing_atomically(path, mode=0o600) as first:
        first.write(b"first\n")
        with writing_atomically(path, mode=0o600) as second:
            second.write(b"second\n")
        between = path.read_bytes()
        first.write(b"goes on\n")

    assert between == b"second\n"
    assert path.read_bytes() == b"first\ngoes on\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert foreign.read_text() == "somebody else's"
    assert sorted(tmp_path.iterdir()) == [path, foreign]


def broken_off(path: Path) -> None:
    with writing_atomically(path, mode=0o600) as file:
        file.write(b"half")
        raise KeyboardInterrupt


def test_a_writer_that_breaks_off_leaves_the_old_file_and_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / f"{'ö' * 120}.jsonl"
    path.write_text("old")
    with pytest.raises(KeyboardInterrupt):
        broken_off(path)

    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("kind", ["pipe", "folder", "link to a device"])
def test_an_export_takes_the_place_of_no_pipe_device_or_folder(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "out"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to(os.devnull)
    before = path.lstat().st_mode
    (tmp_path / "home").mkdir()
    code = main(["export", "jsonl", "-o", str(path), "--hermes-home", str(tmp_path / "home")])

    assert code == USAGE
    assert "is no regular file" in capsys.readouterr().err
    assert path.lstat().st_mode == before
