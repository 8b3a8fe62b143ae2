from __future__ import annotations

import errno
import fcntl
import os
import shutil
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import TypeAlias

import pytest

from hermes_memory.adapters import notebook_files, notebook_lines
from hermes_memory.adapters.brief_lock import lock_briefly
from hermes_memory.adapters.inmemory.notebooks import InMemoryNotebooks
from hermes_memory.adapters.notebook_files import LINES, MAX_BYTES, NotebookFiles
from hermes_memory.domain.model import HomeId, Target
from hermes_memory.domain.notebook import FILE_NAMES, difference
from hermes_memory.domain.notebook_lines import Standing
from hermes_memory.ports.notebook import Notebooks
from hermes_memory.testing.notebooks_contract import NotebooksContract

Replacing: TypeAlias = Callable[[NotebookFiles, Path, bytes], object]
"""Changes the note of a home under a reader, given what it held before somebody came."""


def _moved(_: NotebookFiles, note: Path, __: bytes) -> None:
    note.rename(note.with_name("elsewhere"))


def _removed_before_a_word(notebooks: NotebookFiles, note: Path, _: bytes) -> None:
    note.unlink()
    notebooks.told(["x"], private=True)


def _written_over(_: NotebookFiles, note: Path, before: bytes) -> None:
    note.write_bytes(before)


class TestInMemoryNotebooks(NotebooksContract):
    @pytest.fixture
    def notebooks(self) -> InMemoryNotebooks:
        return InMemoryNotebooks(HomeId("home"))

    def write(self, notebooks: Notebooks, target: Target, text: str | None) -> None:
        assert isinstance(notebooks, InMemoryNotebooks)
        notebooks.write(target, text)


class TestNotebookFiles(NotebooksContract):
    @pytest.fixture
    def notebooks(self, tmp_path: Path) -> NotebookFiles:
        self.folder = tmp_path / "memories"
        self.folder.mkdir()
        return NotebookFiles(tmp_path, identity=HomeId("home"))

    @pytest.fixture
    def synced(self, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, bytes]]:
        """Where what was brought to the disk lay, and all of its content then."""
        found: list[tuple[str, bytes]] = []

        def fsync(descriptor: int) -> None:
            path = Path(f"/proc/self/fd/{descriptor}").resolve()
            found.append((str(path), b"" if path.is_dir() else path.read_bytes()))

        monkeypatch.setattr(os, "fsync", fsync)
        return found

    def write(self, notebooks: Notebooks, target: Target, text: str | None) -> None:
        path = self.folder / FILE_NAMES[target]
        if text is None:
            path.unlink()
        else:
            path.write_text(text, encoding="utf-8")

    def test_files_at_the_top_of_the_home_count_too(self, tmp_path: Path, notebooks: NotebookFiles) -> None:
        (tmp_path / "USER.md").write_text("prefers tea", encoding="utf-8")

        assert notebooks.read(Target.USER) == ("prefers tea",)

    def test_broken_bytes_and_foreign_line_ends_are_read_as_well_as_can_be(self, notebooks: NotebookFiles) -> None:
        (self.folder / "MEMORY.md").write_bytes(b"\xef\xbb\xbfone\r\n\xc2\xa7\r\ntwo \xff")

        assert notebooks.read(Target.MEMORY) == ("one", "two \ufffd")

    def test_a_file_that_no_host_writes_is_left_alone(self, notebooks: NotebookFiles) -> None:
        (self.folder / "MEMORY.md").write_bytes(b"x" * (MAX_BYTES + 1))

        assert notebooks.read(Target.MEMORY) is None

    def test_a_folder_of_that_name_is_no_notebook(self, notebooks: NotebookFiles) -> None:
        (self.folder / "MEMORY.md").mkdir()

        assert notebooks.read(Target.MEMORY) is None

    def test_all_readers_of_a_home_know_the_same(self, tmp_path: Path, notebooks: NotebookFiles) -> None:
        other, late = (_another(tmp_path) for _ in range(2))
        self.write(notebooks, Target.MEMORY, "one")
        first = other.standing().shared
        notebooks.subject_comes()
        other.subject_comes()
        self.write(notebooks, Target.MEMORY, "one\n§\ntwo\n§\nthree")
        other.told(["three"], private=True)
        notebooks.subjects_leave()
        meanwhile = [reader.standing().shared for reader in (notebooks, other, late)]
        other.subjects_leave()
        self.write(notebooks, Target.MEMORY, "one\n§\ntwo\n§\nthree\n§\nfour")

        assert first == {"one"}
        assert meanwhile == [{"one"}] * 3
        assert [reader.standing().shared for reader in (notebooks, other, late)] == [{"one", "four"}] * 3

    def test_what_came_before_a_process_with_somebody_died_stays_out(
        self, tmp_path: Path, notebooks: NotebookFiles
    ) -> None:
        self.write(notebooks, Target.MEMORY, "one")
        with _visited(tmp_path) as process:
            self.write(notebooks, Target.MEMORY, "one\n§\ntwo")
            meanwhile = notebooks.standing().shared
            process.kill()
            process.wait()
        afterwards = [notebooks.standing().shared, _another(tmp_path).standing().shared]
        self.write(notebooks, Target.MEMORY, "one\n§\ntwo\n§\nthree")

        assert meanwhile == {"one"}
        assert afterwards == [{"one"}] * 2
        assert notebooks.standing().shared == {"one", "three"}

    def test_a_note_that_is_taken_away_while_somebody_is_here_makes_nothing_everybodys(
        self, tmp_path: Path, notebooks: NotebookFiles
    ) -> None:
        notebooks.subject_comes()
        self.write(notebooks, Target.MEMORY, "one")
        (tmp_path / LINES).unlink()
        without = notebooks.standing().shared
        notebooks.subject_comes()
        again = [notebooks.standing().shared, _another(tmp_path).standing().shared]
        notebooks.subjects_leave()

        assert without == frozenset()
        assert again == [frozenset()] * 2
        assert notebooks.standing().shared == frozenset()

    @pytest.mark.parametrize("replaced", [_moved, _removed_before_a_word, _written_over])
    @pytest.mark.parametrize("next_turn", [True, False])
    def test_a_note_that_is_replaced_while_somebody_is_here_makes_nothing_everybodys(
        self, tmp_path: Path, notebooks: NotebookFiles, replaced: Replacing, next_turn: bool
    ) -> None:
        notebooks.told(["x"], private=True)
        before = (tmp_path / LINES).read_bytes()
        notebooks.subject_comes()
        replaced(notebooks, tmp_path / LINES, before)
        if next_turn or replaced is _moved:  # until then nobody can know of a file that is not there
            notebooks.subject_comes()
        self.write(notebooks, Target.MEMORY, "one")
        meanwhile = [reader.standing().shared for reader in (_another(tmp_path), notebooks)]
        notebooks.subjects_leave()

        assert meanwhile == [frozenset()] * 2
        assert _another(tmp_path).standing().shared == frozenset()

    @pytest.mark.parametrize(
        ("module", "call", "number", "remedy"),
        [
            (os, "write", errno.ENOSPC, "mend that"),
            (fcntl, "flock", errno.ENOLCK, "keep the home on a file system that has locks"),
            (os, "open", errno.EMFILE, "mend that"),
        ],
        ids=["full disk", "no locks", "no descriptors"],
    )
    @pytest.mark.parametrize("noted_before", [True, False])
    def test_somebody_of_whom_nothing_can_be_noted_makes_nothing_everybodys(
        self,
        tmp_path: Path,
        notebooks: NotebookFiles,
        module: ModuleType,
        call: str,
        number: int,
        remedy: str,
        noted_before: bool,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        if noted_before:
            notebooks.subject_comes()
            notebooks.subjects_leave()
        with monkeypatch.context() as failing:
            failing.setattr(module, call, _failing(number))
            notebooks.subject_comes()
            self.write(notebooks, Target.MEMORY, "one")
            without = notebooks.standing()
            elsewhere = _another(tmp_path).standing().shared if noted_before else frozenset()
        again = [reader.standing().shared for reader in (notebooks, _another(tmp_path))]
        notebooks.subjects_leave()

        assert without.held == {"one"}
        assert f"{tmp_path / LINES} cannot be used: {os.strerror(number)}: {remedy}" == without.problem
        assert elsewhere == without.shared == frozenset()
        assert again == [frozenset()] * 2
        assert _another(tmp_path).standing() == Standing(held=frozenset({"one"}))

    def test_a_failure_that_passes_is_forgotten_with_what_was_found_then(
        self,
        tmp_path: Path,
        notebooks: NotebookFiles,
        monkeypatch: pytest.MonkeyPatch,
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        notebooks.subject_comes()
        notebooks.subjects_leave()
        self.write(notebooks, Target.MEMORY, "one")
        found = []
        for _ in range(2):
            with monkeypatch.context() as failing:
                failing.setattr(os, "open", _failing(errno.EMFILE))
                found += [notebooks.standing().shared for _ in range(2)]
            found.append(notebooks.standing().shared)
            self.write(notebooks, Target.USER, "two")
        told = [record for record in caplog.records if record.levelname == "WARNING"]

        assert found == [frozenset(), frozenset(), {"one"}, frozenset(), frozenset(), {"one", "two"}]
        assert [vars(record)["file"] for record in told] == [str(tmp_path / LINES)] * 2

    def test_a_notebook_that_could_not_be_read_for_a_moment_is_judged_when_it_can(
        self, notebooks: NotebookFiles, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        notebooks.subject_comes()
        notebooks.subjects_leave()
        self.write(notebooks, Target.MEMORY, "one")
        with monkeypatch.context() as failing:
            failing.setattr(Path, "read_text", _failing(errno.EMFILE))
            without = notebooks.standing().shared

        assert without == frozenset()
        assert notebooks.standing().shared == {"one"}

    def test_a_line_is_held_no_longer_than_another_process_looks(
        self, tmp_path: Path, notebooks: NotebookFiles
    ) -> None:
        notebooks.told(["x"], private=True)
        self.write(notebooks, Target.MEMORY, "one")
        with (tmp_path / LINES).open() as other:
            fcntl.flock(other, fcntl.LOCK_EX)
            meanwhile = notebooks.standing()

        assert meanwhile == Standing(held=frozenset({"one"}), passing=True)
        assert notebooks.standing() == Standing(shared=frozenset({"one"}))

    @pytest.mark.parametrize(
        ("module", "call", "error"),
        [
            (fcntl, "flock", errno.EAGAIN),
            (fcntl, "flock", errno.ENOLCK),
            (os, "open", errno.EMFILE),
            (Path, "read_text", errno.EMFILE),
        ],
        ids=["locked", "no locks", "no descriptors", "unreadable notebook"],
    )
    @pytest.mark.parametrize("soon", [True, False])
    def test_what_could_not_be_known_counts_as_changed_once_and_after_a_while(
        self,
        notebooks: NotebookFiles,
        module: object,
        call: str,
        error: int,
        soon: bool,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        notebooks.told(["x"], private=True)
        self.write(notebooks, Target.MEMORY, "one")
        before = notebooks.fingerprint()
        with monkeypatch.context() as failing:
            if soon:
                failing.setattr(notebook_files, "LOOK_AGAIN", 0.0)
            failing.setattr(module, call, _failing(error))
            notebooks.standing()
        marks = [notebooks.fingerprint() for _ in range(2)]
        known = notebooks.standing()
        marks.append(notebooks.fingerprint())

        assert known == Standing(shared=frozenset({"one"}))
        assert len(set(marks)) == 1
        assert (marks[0] != before) is soon

    def test_whoever_cannot_come_again_and_again_makes_the_note_no_longer(
        self, tmp_path: Path, notebooks: NotebookFiles
    ) -> None:
        notebooks.subject_comes()
        notebooks.subjects_leave()
        with (tmp_path / LINES).open() as other:
            fcntl.flock(other, fcntl.LOCK_EX)
            notebooks.subject_comes()
            first = (tmp_path / LINES).stat().st_size
            for _ in range(3):
                notebooks.subject_comes()

            assert (tmp_path / LINES).stat().st_size == first

    def test_a_child_that_was_forked_while_the_note_was_locked_keeps_nobody_out(
        self, notebooks: NotebookFiles, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        inherited: list[int] = []

        def lock(descriptor: int, patience: float, *, shared: bool = False) -> None:
            lock_briefly(descriptor, patience, shared=shared)
            inherited.append(os.dup(descriptor))

        monkeypatch.setattr(notebook_lines, "lock_briefly", lock)
        for _ in range(2):
            notebooks.subject_comes()
            notebooks.subjects_leave()
            self.write(notebooks, Target.MEMORY, "one")
        shared = notebooks.standing().shared
        for descriptor in inherited:
            os.close(descriptor)

        assert shared == {"one"}

    @pytest.mark.parametrize("damage", ["", "no key\n", "00ff\n-x\n", "\n\n"])
    def test_a_damaged_note_makes_nothing_everybodys(
        self, tmp_path: Path, notebooks: NotebookFiles, damage: str, caplog: pytest.LogCaptureFixture
    ) -> None:
        self.write(notebooks, Target.MEMORY, "one")
        notebooks.subject_comes()
        notebooks.subjects_leave()
        (tmp_path / LINES).write_text(damage, encoding="utf-8")
        shared = notebooks.standing().shared
        notebooks.told(["one"], private=True)
        notebooks.subject_comes()

        assert shared == frozenset()
        assert "cannot be read or noted" in caplog.text
        assert "holds no usable key: restore it from a backup" in (notebooks.standing().problem or "")

    def test_an_older_copy_of_the_note_with_a_star_holds_what_it_does_not_know(
        self, tmp_path: Path, notebooks: NotebookFiles
    ) -> None:
        self.write(notebooks, Target.MEMORY, "one")
        notebooks.subject_comes()
        notebooks.subjects_leave()
        copy = (tmp_path / LINES).read_bytes()
        notebooks.told(["two"], private=True)
        self.write(notebooks, Target.MEMORY, "one\n§\ntwo")
        (tmp_path / LINES).write_bytes(copy + b"*\n")
        restored = _another(tmp_path).standing()
        self.write(notebooks, Target.MEMORY, "one\n§\ntwo\n§\nthree")

        assert restored == Standing(shared=frozenset({"one"}), held=frozenset({"two"}))
        assert _another(tmp_path).standing().shared == {"one", "three"}

    def test_a_part_of_a_record_spoils_no_other(self, tmp_path: Path, notebooks: NotebookFiles) -> None:
        self.write(notebooks, Target.MEMORY, "one\n§\ntwo\n§\nthree")
        notebooks.told(["one"], private=True)
        with (tmp_path / LINES).open("a") as note:
            note.write("\n-0123")
        notebooks.told(["two"], private=True)

        readers = (notebooks, _another(tmp_path))

        assert [reader.standing().shared for reader in readers] == [{"three"}] * 2

    def test_a_notebook_that_cannot_be_read_when_somebody_leaves_is_judged_when_it_can(
        self, tmp_path: Path, notebooks: NotebookFiles
    ) -> None:
        notebooks.subject_comes()
        self.write(notebooks, Target.MEMORY, "x" * (MAX_BYTES + 1))
        notebooks.subjects_leave()
        self.write(notebooks, Target.MEMORY, "one")

        assert notebooks.standing().shared == frozenset()

    def test_a_note_that_is_open_to_others_is_closed_to_them(self, tmp_path: Path, notebooks: NotebookFiles) -> None:
        notebooks.told(["one"], private=True)
        made = (tmp_path / LINES).stat().st_mode & 0o777
        (tmp_path / LINES).chmod(0o644)
        notebooks.standing()

        assert made == (tmp_path / LINES).stat().st_mode & 0o777 == 0o600

    def test_what_keeps_a_line_from_others_is_on_the_disk_before_the_host_goes_on(
        self, tmp_path: Path, notebooks: NotebookFiles, synced: list[tuple[str, bytes]]
    ) -> None:
        self.write(notebooks, Target.MEMORY, "one")
        notebooks.subject_comes()
        note = tmp_path / LINES
        made = [Path(name).name.startswith(f"{note.name}.") for name, _ in synced[:1]]
        here = (str(note), note.read_bytes())
        come = here in synced
        notebooks.told(["one"], private=True)

        assert made == [True]
        assert (str(note.parent), b"") in synced
        assert come
        assert (str(note), note.read_bytes()) in synced
        assert note.read_bytes() != here[1]

    def test_whoever_comes_waits_for_nobody_longer_than_a_turn_can(
        self, tmp_path: Path, notebooks: NotebookFiles, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        waits: list[float] = []

        def lock(descriptor: int, patience: float, *, shared: bool = False) -> None:
            waits.append(patience)
            lock_briefly(descriptor, 0, shared=shared)

        _another(tmp_path).subject_comes()
        monkeypatch.setattr(notebook_lines, "lock_briefly", lock)
        notebooks.subject_comes()

        assert len(waits) == 2
        assert sum(waits) < 0.03

    @pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
    def test_a_forked_child_is_nobodys_session(self, tmp_path: Path, notebooks: NotebookFiles) -> None:
        notebooks.subject_comes()
        (ended, end), (begun, begin) = os.pipe(), os.pipe()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # the runner has threads, and the child does nothing
            child = os.fork()
        if child == 0:
            os.close(end)
            os.write(begin, b".")
            os.read(ended, 1)
            os._exit(0)
        os.close(ended)
        try:
            os.read(begun, 1)
            self.write(notebooks, Target.MEMORY, "one")
            notebooks.subjects_leave()
            self.write(notebooks, Target.MEMORY, "one\n§\ntwo")
            shared = notebooks.standing().shared
        finally:
            for descriptor in (end, begun, begin):
                os.close(descriptor)
            os.waitpid(child, 0)

        assert shared == {"two"}

    def test_whoever_leaves_a_home_that_was_removed_does_not_make_it_again(
        self, tmp_path: Path, notebooks: NotebookFiles
    ) -> None:
        notebooks.subject_comes()
        shutil.rmtree((tmp_path / LINES).parent)
        notebooks.subjects_leave()

        assert not (tmp_path / LINES).parent.exists()
        assert notebooks.standing() == Standing()

    def test_a_home_without_somebody_keeps_no_note(self, tmp_path: Path, notebooks: NotebookFiles) -> None:
        self.write(notebooks, Target.MEMORY, "one")
        notebooks.told(["one"], private=False)
        notebooks.subjects_leave()

        assert notebooks.standing().shared == {"one"}
        assert not (tmp_path / LINES).exists()


def _another(home: Path) -> NotebookFiles:
    return NotebookFiles(home, identity=HomeId("home"))


def _failing(number: int) -> Callable[..., None]:
    def fail(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    return fail


@contextmanager
def _visited(home: Path) -> Iterator[subprocess.Popen[str]]:
    """Have somebody's session in another process."""
    visit = (
        "import pathlib, sys; from hermes_memory.adapters.notebook_files import NotebookFiles;"
        "NotebookFiles(pathlib.Path(sys.argv[1]), identity='home').subject_comes(); print('here', flush=True); input()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", visit, str(home)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "here\n"
        yield process
        process.kill()


def test_what_is_written_and_not_stored_is_added_in_order_and_what_is_only_stored_removed() -> None:
    found = difference(written=("c", "a", "b"), stored=("a", "gone"), private=())

    assert found.add == ("c", "b")
    assert found.remove == ("gone",)


def test_what_belongs_to_a_person_is_not_copied_for_everyone() -> None:
    found = difference(written=("theirs", "ours"), stored=(), private={"theirs"})

    assert found.add == ("ours",)
