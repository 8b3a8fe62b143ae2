"""What is told of the notebooks to whoever looks after the memory."""

from __future__ import annotations

from dataclasses import replace

from tests.support.inprocess import InProcess

from hermes_memory.adapters.inmemory.notebooks import InMemoryNotebooks
from hermes_memory.cli.checks import _notebooks
from hermes_memory.cli.findings import Level
from hermes_memory.cli.stats import _lines
from hermes_memory.domain.model import Target
from hermes_memory.domain.notebook_lines import Standing
from hermes_memory.testing.making import DESK

PROBLEM = "/home/ana/.hermes/hermes-memory/notebook-lines cannot be used: Permission denied"


class Unknown(InMemoryNotebooks):
    """Notebooks of which it can be known whose the lines are, or not."""

    problem: str | None = None

    def standing(self) -> Standing:
        found = super().standing()
        return replace(found, shared=frozenset(), held=found.shared, problem=self.problem) if self.problem else found


def unknown(*, reads_notebooks: bool = True) -> tuple[InProcess, Unknown]:
    bench = InProcess(reads_notebooks=reads_notebooks)
    notebooks = Unknown(bench.notebooks.home)
    notebooks.problem = PROBLEM
    bench.mirror._notebooks = notebooks
    notebooks.write(Target.MEMORY, "One")
    return bench, notebooks


async def test_a_note_that_cannot_be_used_is_named_with_its_remedy_and_no_line_is_counted_as_held() -> None:
    bench, notebooks = unknown()
    status = await bench.memory.status()
    (finding,) = _notebooks(status)
    shown = [line for line in _lines(status) if line.startswith("notebooks")]
    notebooks.problem = None
    mended = await bench.memory.status()

    assert (status.notebook_problem, status.held_lines) == (PROBLEM, 0)
    assert finding.level is Level.ERROR
    assert finding.message.startswith(PROBLEM)
    assert "Do not remove the file" in finding.message
    assert shown == [f"notebooks  {finding.message}"]
    assert mended.notebook_problem is None
    assert list(_notebooks(mended)) == []


async def test_nothing_is_told_of_notebooks_that_are_not_read() -> None:
    bench, notebooks = unknown(reads_notebooks=False)
    damaged = await bench.memory.status()
    notebooks.problem = None
    notebooks.subject_comes()
    notebooks.write(Target.MEMORY, "One\n§\nTwo")
    held = await bench.memory.status()

    assert notebooks.standing().held
    for status in (damaged, held):
        assert (status.notebook_problem, status.held_lines) == (None, 0)
        assert not any(line.startswith("notebooks") for line in _lines(status))


async def test_lines_that_are_held_are_a_warning() -> None:
    (finding,) = _notebooks(replace(await InProcess().memory.status(), held_lines=2))

    assert finding.level is Level.WARNING
    assert "2 lines came in talk with somebody" in finding.message


async def test_what_is_compared_without_knowing_whose_the_lines_are_is_not_compared_again_by_every_look() -> None:
    bench, notebooks = unknown()
    marks = [bench.mirror.fingerprint()]
    for problem in (PROBLEM, PROBLEM, None):
        notebooks.problem = problem
        await bench.memory.reconcile(DESK, timeout=1)
        marks.append(bench.mirror.fingerprint())

    assert len(set(marks)) == 1
