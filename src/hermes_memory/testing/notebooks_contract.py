"""What every reader of notebooks promises. A subclass says how to make one and how a notebook is written."""

from __future__ import annotations

from hermes_memory.domain.model import Target
from hermes_memory.ports.notebook import Notebooks


class NotebooksContract:
    """What every `Notebooks` keeps. A subclass supplies the fixture `notebooks` and the method `write`."""

    def write(self, notebooks: Notebooks, target: Target, text: str | None) -> None:
        """Set the whole text of a notebook; None takes it away."""
        raise NotImplementedError

    def test_a_notebook_that_is_not_there_says_nothing(self, notebooks: Notebooks) -> None:
        assert notebooks.read(Target.MEMORY) is None

    def test_an_empty_notebook_says_that_there_is_nothing(self, notebooks: Notebooks) -> None:
        self.write(notebooks, Target.MEMORY, "")

        assert notebooks.read(Target.MEMORY) == ()

    def test_entries_are_parted_by_a_section_sign_on_its_own_line(self, notebooks: Notebooks) -> None:
        self.write(notebooks, Target.MEMORY, "§ 5 of the contract\n§\n two\nlines \n§\n\n§\n§ 5 of the contract")

        assert notebooks.read(Target.MEMORY) == ("§ 5 of the contract", "two\nlines")

    def test_the_two_notebooks_are_apart(self, notebooks: Notebooks) -> None:
        self.write(notebooks, Target.USER, "prefers tea")

        assert notebooks.read(Target.USER) == ("prefers tea",)
        assert notebooks.read(Target.MEMORY) is None

    def test_the_fingerprint_changes_with_a_write_and_a_removal_and_else_stays(self, notebooks: Notebooks) -> None:
        marks = [notebooks.fingerprint()]
        for text in ("one", "one\n§\ntwo", None):
            self.write(notebooks, Target.MEMORY, text)
            marks.append(notebooks.fingerprint())

        assert len(set(marks[:3])) == 3
        assert marks[3] != marks[2]
        assert notebooks.fingerprint() == marks[3]

    def test_a_notebook_can_go_and_come_back(self, notebooks: Notebooks) -> None:
        for text in ("one", None, "two"):
            self.write(notebooks, Target.MEMORY, text)

        assert notebooks.read(Target.MEMORY) == ("two",)

    def test_every_entry_is_everybodys_until_somebody_comes(self, notebooks: Notebooks) -> None:
        before = notebooks.standing().shared
        self.write(notebooks, Target.MEMORY, "one\n§\ntwo")
        self.write(notebooks, Target.USER, "prefers tea")

        assert before == frozenset()
        assert notebooks.standing().shared == {"one", "two", "prefers tea"}

    def test_what_is_told_of_as_private_never_is_everybodys_again(self, notebooks: Notebooks) -> None:
        notebooks.told(["one"], private=True)
        notebooks.told(["one"], private=False)
        for text in ("one\n§\ntwo", None, "two\n§\none"):
            self.write(notebooks, Target.MEMORY, text)
        notebooks.subject_comes()
        notebooks.subjects_leave()
        self.write(notebooks, Target.USER, "one")

        assert notebooks.standing().shared == {"two"}

    def test_spaces_and_the_case_of_letters_make_no_other_entry(self, notebooks: Notebooks) -> None:
        notebooks.told(["My PIN  is\nKestrel"], private=True)
        self.write(notebooks, Target.MEMORY, "my pin is kestrel\n§\ntwo")

        assert notebooks.standing().shared == {"two"}

    def test_what_comes_while_somebody_is_here_is_everybodys_only_if_it_is_told_of(self, notebooks: Notebooks) -> None:
        self.write(notebooks, Target.MEMORY, "one")
        notebooks.subject_comes()
        notebooks.subject_comes()
        self.write(notebooks, Target.MEMORY, "one\n§\ntwo\n§\nthree")
        meanwhile = notebooks.standing().shared
        notebooks.told(["three"], private=False)

        assert meanwhile == {"one"}
        assert notebooks.standing().shared == {"one", "three"}

    def test_that_an_entry_is_everybodys_is_noted_only_while_somebody_is_here(self, notebooks: Notebooks) -> None:
        notebooks.told(["one"], private=False)
        notebooks.subject_comes()
        notebooks.told(["two"], private=False)
        self.write(notebooks, Target.MEMORY, "one\n§\ntwo")

        assert notebooks.standing().shared == {"two"}
        assert notebooks.standing().problem is None

    def test_what_came_meanwhile_stays_out_and_what_comes_afterwards_is_everybodys(self, notebooks: Notebooks) -> None:
        notebooks.subject_comes()
        self.write(notebooks, Target.MEMORY, "one")
        notebooks.subjects_leave()
        notebooks.subjects_leave()
        self.write(notebooks, Target.MEMORY, "one\n§\ntwo")
        left = notebooks.standing().shared
        notebooks.subject_comes()
        self.write(notebooks, Target.MEMORY, "one\n§\ntwo\n§\nthree")

        assert left == {"two"}
        assert notebooks.standing().shared == {"two"}

    def test_what_nobody_told_of_is_held_and_what_was_told_of_is_not(self, notebooks: Notebooks) -> None:
        self.write(notebooks, Target.MEMORY, "one")
        notebooks.subject_comes()
        self.write(notebooks, Target.MEMORY, "one\n§\ntwo\n§\nthree\n§\nfour")
        notebooks.told(["three"], private=True)
        meanwhile = notebooks.standing().held
        notebooks.subjects_leave()
        left = notebooks.standing().held
        notebooks.told(["two"], private=True)

        assert meanwhile == left == {"two", "four"}
        assert notebooks.standing().held == {"four"}
