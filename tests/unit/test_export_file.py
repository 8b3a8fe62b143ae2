"""The file of an export takes its place whole, and takes the place of nothing that is no file."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_memory.application.exporting.jsonl import HEAD
from hermes_memory.bootstrap.spools import write_new
from hermes_memory.cli.exits import USAGE
from hermes_memory.cli.main import main
from hermes_memory.cli.places import require_place
from hermes_memory.domain.errors import InvalidInput
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


VERBS = {"export": ("export", "jsonl", "-o"), "spool": ("spool", "export")}


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("kind", ["notes", "link", "link to nothing"])
def test_no_verb_writes_over_a_file_or_a_link_that_is_somebodys(
    verb: str, kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, home, notes = tmp_path / "out", tmp_path / "home", tmp_path / "notes"
    home.mkdir()
    (path if kind == "notes" else notes).write_text('{"kind": "mine"}\n')
    if kind != "notes":
        path.symlink_to(notes if kind == "link" else tmp_path / "nothing")
    code = main([*VERBS[verb], str(path), "--hermes-home", str(home)])

    told = capsys.readouterr().err
    assert code == USAGE
    assert f"{path} " in told
    assert "name another" in told
    assert "--force" in told
    assert path.is_symlink() is (kind != "notes")
    assert (path if kind == "notes" else notes).read_text() == '{"kind": "mine"}\n'


@pytest.mark.parametrize("verb", VERBS)
def test_a_place_in_no_folder_is_told_as_it_was_given_with_what_to_do(
    verb: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "home").mkdir()
    path = tmp_path / "no" / "dir" / "x"
    code = main([*VERBS[verb], str(path), "--hermes-home", str(tmp_path / "home")])

    assert code == USAGE
    assert f"{path} cannot be written: there is no folder {path.parent}. Make it" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "goes"),
    [("", True), (f'{{"kind": "{HEAD}"}}\n{{}}', True), (f'["{HEAD}"]', False), (HEAD, False), ("[" * 4000, False)],
)
def test_an_output_takes_the_place_of_an_earlier_one_and_by_force_of_any(text: str, goes: bool, tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_text(text)
    require_place(path, force=True, head=HEAD)
    if goes:
        require_place(path, force=False, head=HEAD)
    else:
        with pytest.raises(InvalidInput, match="is no earlier output"):
            require_place(path, force=False, head=HEAD)


def test_an_error_beside_a_file_names_the_file_and_not_the_one_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "no" / "file"
    with pytest.raises(FileNotFoundError) as refused, writing_atomically(path, mode=0o600):
        pass

    assert refused.value.filename == str(path)


def test_a_new_file_that_may_replace_one_leaves_it_when_it_breaks_off(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_text("old")

    def lines() -> Iterator[str]:
        yield "new"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_new(path, lines(), replace=True)
    left = path.read_text()
    written = write_new(path, ["new"], replace=True)

    assert (left, written, path.read_text()) == ("old", 1, "new\n")
    assert list(tmp_path.iterdir()) == [path]
