from __future__ import annotations

from pathlib import Path

import pytest

from hermes_memory.adapters.inmemory.notebooks import InMemoryNotebooks
from hermes_memory.adapters.notebook_files import MAX_BYTES, NotebookFiles
from hermes_memory.domain.model import HomeId, Target
from hermes_memory.domain.notebook import FILE_NAMES, difference
from hermes_memory.ports.notebook import Notebooks
from hermes_memory.testing.notebooks_contract import NotebooksContract


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


def test_what_is_written_and_not_stored_is_added_in_order_and_what_is_only_stored_removed() -> None:
    found = difference(written=("c", "a", "b"), stored=("a", "gone"), private=())

    assert found.add == ("c", "b")
    assert found.remove == ("gone",)


def test_what_belongs_to_a_person_is_not_copied_for_everyone() -> None:
    found = difference(written=("theirs", "ours"), stored=(), private={"theirs"})

    assert found.add == ("ours",)
