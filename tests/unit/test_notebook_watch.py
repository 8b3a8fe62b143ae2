"""Noticing edits of the notebooks: a look is cheap, and what was missed once is caught up with."""

from __future__ import annotations

import fcntl
import gc
import weakref
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.support.inprocess import GUARD
from tests.support.inprocess_runtime import InProcessRuntime, binding, eventually

from hermes_memory.adapters import notebook_files
from hermes_memory.adapters.notebook_files import LINES
from hermes_memory.domain.errors import SchemaNotApplied, StoreUnavailable
from hermes_memory.domain.model import Caller, Theme
from hermes_memory.hermes.notebook_watch import NotebookWatch
from hermes_memory.hermes.sessions import Binding
from hermes_memory.testing.making import ANA, DESK, MARKETING, SALES

THEME = Caller(theme=MARKETING)


class Watched:
    """A home with notebooks, its runtime, and a provider's watch."""

    def __init__(self, home: Path, **settings: Any) -> None:
        self.home = home
        (home / "memories").mkdir()
        self.runtime = InProcessRuntime(home, **settings)
        eventually(lambda: self.runtime.loop.memory)
        self.watch = NotebookWatch(self.runtime)

    def write(self, *entries: str) -> None:
        draft = self.home / "memories" / "draft"
        draft.write_text("\n§\n".join(entries))
        draft.replace(self.home / "memories" / "MEMORY.md")

    def copies(self, caller: Caller = THEME) -> set[str]:
        """Return the copies of the caller once everything accepted is stored."""
        runtime = self.runtime
        runtime.settle()
        found = runtime.call(
            lambda _: runtime.parts.store.reader.mirrored(caller, runtime.local.mirror.home, timeout=GUARD),
            timeout=GUARD,
        )
        return {entry.content for entry in found}

    @property
    def reads(self) -> int:
        return self.runtime.parts.reader.reading.calls

    def look(self, bound: Binding | None = None) -> None:
        self.watch.look(bound or binding())


@pytest.fixture
def watched(home: Path) -> Iterator[Watched]:
    watched = Watched(home)
    yield watched
    watched.runtime.close(timeout=GUARD)


def test_an_edit_is_followed_after_the_next_look(watched: Watched) -> None:
    watched.write("One")
    watched.look()
    eventually(lambda: watched.copies() == {"One"})
    watched.write("Two")
    watched.look()

    eventually(lambda: watched.copies() == {"Two"})


def test_a_look_at_what_has_not_changed_asks_nobody(watched: Watched) -> None:
    watched.write("One")
    watched.look()
    eventually(lambda: watched.copies() == {"One"})
    before = watched.reads
    for _ in range(20):
        watched.look()
    watched.copies()

    assert watched.reads == before


def test_another_theme_of_the_same_home_gets_its_copies_too(watched: Watched) -> None:
    watched.write("One")
    watched.look()
    watched.look(binding(caller=Caller(theme=SALES), files_caller=Caller(theme=SALES)))

    eventually(lambda: watched.copies() == watched.copies(Caller(theme=SALES)) == {"One"})


def test_a_session_with_a_person_reconciles_the_homes_own_notebooks_and_gives_the_person_nothing(
    watched: Watched,
) -> None:
    person = Caller(theme=Theme("whatsapp-dm"), subject=ANA)
    watched.write("One")
    watched.look(binding(caller=person, files_caller=THEME))
    eventually(lambda: watched.copies() == {"One"})

    assert watched.copies(person) == set()


def test_whoever_may_not_write_does_not_reconcile(watched: Watched) -> None:
    watched.write("One")
    watched.look(binding(writes=False))
    read_only = watched.copies()
    watched.look()

    assert read_only == set()
    eventually(lambda: watched.copies() == {"One"})


def test_a_home_may_go_without(home: Path) -> None:
    watched = Watched(home, reconcile_files=False)
    watched.write("One")
    watched.look()
    copies = watched.copies()
    watched.runtime.close(timeout=GUARD)

    assert copies == set()


@pytest.mark.parametrize("error", [StoreUnavailable("away"), SchemaNotApplied("run migrate")])
def test_a_reconciliation_that_failed_is_made_up_for_by_the_next_look(watched: Watched, error: Exception) -> None:
    watched.write("One")
    watched.runtime.parts.reader.reading.standing = error
    watched.look()
    eventually(lambda: watched.reads)
    eventually(lambda: watched.watch._seen == "")
    watched.runtime.parts.reader.reading.standing = None
    watched.look()

    eventually(lambda: watched.copies() == {"One"})


@pytest.mark.parametrize("damaged", [True, False], ids=["damaged", "locked"])
def test_lines_of_which_it_was_not_known_whose_they_are_are_looked_at_again_until_it_is(
    watched: Watched, monkeypatch: pytest.MonkeyPatch, damaged: bool
) -> None:
    monkeypatch.setattr(notebook_files, "LOOK_AGAIN", 0.0)
    mirror, note = watched.runtime.local.mirror, watched.home / LINES
    mirror.subject_comes()
    mirror.subjects_leave()
    kept = note.read_bytes()
    with note.open("rb") as other:
        if damaged:
            note.write_text("damaged")
        else:
            fcntl.flock(other, fcntl.LOCK_EX)
        watched.write("One")
        before = mirror.fingerprint()
        watched.look()
        eventually(lambda: mirror.fingerprint() != before)
        without = watched.copies()
        if damaged:
            note.write_bytes(kept)
    watched.look()

    assert without == set()
    eventually(lambda: watched.copies() == {"One"})


def test_what_was_read_may_be_forgotten(watched: Watched) -> None:
    watched.look()
    eventually(lambda: watched.reads)
    before = watched.reads
    watched.watch.forget()
    watched.look()

    eventually(lambda: watched.reads > before)


def test_work_that_waits_for_a_database_keeps_no_watch_alive(home: Path) -> None:
    (home / "memories").mkdir()
    runtime = InProcessRuntime(home, opens=False)
    watch = NotebookWatch(runtime)
    watch.look(replace(binding(), caller=DESK))
    reference = weakref.ref(watch)
    del watch
    gc.collect()
    gone = reference() is None
    runtime.may_open.set()
    runtime.close(timeout=GUARD)

    assert gone
