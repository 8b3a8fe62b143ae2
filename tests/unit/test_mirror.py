"""Mirroring the host's notebooks: what is accepted for each write it tells of, and for what it does not tell."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pytest
from tests.support.inprocess import GUARD, utc_now

from hermes_memory.adapters.inmemory.notebooks import InMemoryNotebooks
from hermes_memory.adapters.inmemory.spool import InMemorySpool
from hermes_memory.application.accept import Acceptor, CapturePolicy
from hermes_memory.application.mirror import TOOL, Mirror
from hermes_memory.application.preparing import ENTRY_MAX_CHARS
from hermes_memory.domain.errors import InvalidInput, SpoolFull
from hermes_memory.domain.model import Entry, Origin, RowId, SessionId, Target
from hermes_memory.domain.operations import (
    AddEntry,
    ByContent,
    ById,
    BySubstring,
    Operation,
    RemoveEntry,
    ReplaceEntry,
    row_id,
)
from hermes_memory.testing.making import DESK, DESK_WITH_ANA, HOME, add

NOTHING_PRIVATE: frozenset[tuple[Target, str]] = frozenset()


@dataclass
class Bench:
    """Notebooks, the mirror of them, and what it accepts."""

    spool: InMemorySpool = field(default_factory=InMemorySpool)
    notebooks: InMemoryNotebooks = field(default_factory=lambda: InMemoryNotebooks(HOME))

    def __post_init__(self) -> None:
        self.acceptor = Acceptor(self.spool, policy=CapturePolicy(), now=utc_now)
        self.mirror = Mirror(self.acceptor, self.notebooks)

    @property
    def accepted(self) -> list[Operation]:
        return [item.operation for item in self.spool.due(10_000)]

    def write(self, *entries: str, target: Target = Target.MEMORY) -> None:
        self.notebooks.write(target, "\n§\n".join(entries))


def copy(content: str, *, target: Target = Target.MEMORY) -> Entry:
    """Return a stored copy of a notebook's entry."""
    made = add(content, target=target, source=HOME)
    return Entry(
        id=row_id(made.stamp.operation),
        theme=DESK.theme,
        subject=None,
        target=target,
        content=content,
        at=made.at,
        updated_at=made.at,
        origin=Origin.ASSISTANT,
        source=HOME,
    )


def added(operations: Sequence[Operation]) -> list[str]:
    return [operation.content for operation in operations if isinstance(operation, AddEntry)]


def removed(operations: Sequence[Operation]) -> list[object]:
    return [operation.selector for operation in operations if isinstance(operation, RemoveEntry)]


def by_copy(content: str, *, target: Target = Target.MEMORY) -> ByContent:
    return ByContent(target=target, content=content, source=HOME)


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_an_addition_is_accepted_as_a_copy_of_this_homes_notebook(bench: Bench) -> None:
    operation = bench.mirror.added(DESK, Target.USER, " Prefers tea ")

    assert bench.accepted == [operation]
    assert isinstance(operation, AddEntry)
    assert (operation.content, operation.target, operation.source) == ("Prefers tea", Target.USER, HOME)
    assert (operation.stamp.caller, operation.stamp.origin, operation.stamp.tool) == (DESK, Origin.ASSISTANT, TOOL)


def test_a_replacement_names_the_whole_entry_where_the_host_knows_it(bench: Bench) -> None:
    operation = bench.mirror.replaced(
        DESK, Target.USER, "Prefers coffee", previous=" Prefers tea ", old_text="something else"
    )

    assert isinstance(operation, ReplaceEntry)
    assert operation.selector == by_copy("Prefers tea", target=Target.USER)
    assert (operation.content, operation.upsert, operation.source) == ("Prefers coffee", True, HOME)
    assert (operation.stamp.origin, operation.stamp.tool) == (Origin.ASSISTANT, TOOL)


@pytest.mark.parametrize("previous", [None, "", "  ", 7])
def test_otherwise_the_searched_text_is_taken_literally(bench: Bench, previous: object) -> None:
    operation = bench.mirror.replaced(DESK, Target.MEMORY, "New", previous=previous, old_text="vault 1% [")
    removal = bench.mirror.removed(DESK, Target.MEMORY, previous=previous, old_text="vault 1% [")

    assert isinstance(operation, ReplaceEntry)
    assert isinstance(removal, RemoveEntry)
    expected = BySubstring(target=Target.MEMORY, text="vault 1% [", source=HOME)
    assert operation.selector == removal.selector == expected


@pytest.mark.parametrize("old_text", [None, "", "  ", 7])
def test_a_change_that_says_of_nothing_what_it_means_is_refused_and_not_accepted(
    bench: Bench, old_text: object
) -> None:
    with pytest.raises(InvalidInput):
        bench.mirror.replaced(DESK, Target.MEMORY, "New", previous=None, old_text=old_text)
    with pytest.raises(InvalidInput):
        bench.mirror.removed(DESK, Target.MEMORY, previous=None, old_text=old_text)

    assert bench.accepted == []


def test_a_removal_says_who_removed_it(bench: Bench) -> None:
    removal = bench.mirror.removed(DESK_WITH_ANA, Target.MEMORY, previous="Old", old_text=None)

    assert isinstance(removal, RemoveEntry)
    assert removal.selector == by_copy("Old")
    assert (removal.stamp.caller, removal.stamp.origin) == (DESK_WITH_ANA, Origin.ASSISTANT)


def test_an_entry_longer_than_a_memory_is_cut_and_is_found_again_by_its_whole_text(bench: Bench) -> None:
    long = "word " * ENTRY_MAX_CHARS
    addition = bench.mirror.added(DESK, Target.MEMORY, long)
    removal = bench.mirror.removed(DESK, Target.MEMORY, previous=long, old_text=None)
    bench.write(long)

    assert isinstance(addition, AddEntry)
    assert isinstance(removal, RemoveEntry)
    assert len(addition.content) <= ENTRY_MAX_CHARS
    assert removal.selector == by_copy(addition.content)
    assert bench.mirror.written() == {Target.MEMORY: (addition.content,)}


def test_an_empty_addition_is_refused(bench: Bench) -> None:
    with pytest.raises(InvalidInput):
        bench.mirror.added(DESK, Target.MEMORY, " \0 ")

    assert bench.accepted == []


def test_a_full_spool_is_told_and_the_mirror_goes_on_afterwards() -> None:
    bench = Bench(spool=InMemorySpool(max_rows=1))
    first = bench.mirror.added(DESK, Target.MEMORY, "One")
    with pytest.raises(SpoolFull):
        bench.mirror.added(DESK, Target.MEMORY, "Two")
    bench.spool.done([first.stamp.operation])

    assert added([bench.mirror.added(DESK, Target.MEMORY, "Two")]) == ["Two"]


def test_what_is_written_is_read_in_the_form_in_which_it_would_be_stored(bench: Bench) -> None:
    bench.write(" The vault is number 13 ", "export PGPASSWORD=hunter2", "\0", "The vault is number 13")

    written = bench.mirror.written()
    assert list(written) == [Target.MEMORY]
    assert len(written[Target.MEMORY]) == 2
    assert written[Target.MEMORY][0] == "The vault is number 13"
    assert "hunter2" not in str(written)


def test_the_prompt_holds_the_entries_of_both_notebooks(bench: Bench) -> None:
    bench.write("The vault is number 13")
    bench.write("Prefers tea", target=Target.USER)

    assert bench.mirror.prompt_contents() == {"The vault is number 13", "Prefers tea"}


def test_the_mirror_tells_its_home_and_when_a_notebook_changes(bench: Bench) -> None:
    before = bench.mirror.fingerprint()
    same = bench.mirror.fingerprint()
    bench.write("The vault is number 13")

    assert bench.mirror.home == HOME
    assert before == same != bench.mirror.fingerprint()


def test_what_was_written_without_telling_is_added_for_the_theme_and_not_for_a_session(bench: Bench) -> None:
    bench.write("Known", "New")
    bench.write("Prefers tea", target=Target.USER)
    count = bench.mirror.accept_differences(DESK, [copy("Known")], NOTHING_PRIVATE)

    assert count == 2
    first, second = bench.accepted
    assert isinstance(first, AddEntry)
    assert isinstance(second, AddEntry)
    assert {(one.content, one.target) for one in (first, second)} == {
        ("New", Target.MEMORY),
        ("Prefers tea", Target.USER),
    }
    assert {(one.stamp.caller, one.stamp.origin, one.source) for one in (first, second)} == {
        (replace(DESK, session=None), Origin.IMPORT, HOME)
    }


def test_what_was_taken_out_without_telling_is_removed(bench: Bench) -> None:
    bench.write("Stays")
    count = bench.mirror.accept_differences(DESK, [copy("Stays"), copy("Gone")], NOTHING_PRIVATE)

    assert count == 1
    assert removed(bench.accepted) == [by_copy("Gone")]
    assert bench.accepted[0].stamp.origin is Origin.IMPORT


def test_a_copy_that_another_version_prepared_otherwise_is_removed_by_its_id(bench: Bench) -> None:
    stored = copy("  not as it would be stored today  ")
    bench.write("Stays")
    bench.mirror.accept_differences(DESK, [stored], NOTHING_PRIVATE)

    assert removed(bench.accepted) == [ById(id=RowId(stored.id))]


def test_nothing_is_removed_for_a_notebook_that_is_missing(bench: Bench) -> None:
    stored = [copy("In memory"), copy("Of the user", target=Target.USER)]
    nothing = bench.mirror.accept_differences(DESK, stored, NOTHING_PRIVATE)
    bench.write("In memory", target=Target.MEMORY)
    still = bench.mirror.accept_differences(DESK, stored, NOTHING_PRIVATE)

    assert (nothing, still) == (0, 0)
    assert bench.accepted == []


def test_a_notebook_that_is_there_and_empty_removes_its_copies_and_no_others(bench: Bench) -> None:
    bench.write(target=Target.USER)
    bench.mirror.accept_differences(DESK, [copy("In memory"), copy("Of the user", target=Target.USER)], NOTHING_PRIVATE)

    assert removed(bench.accepted) == [by_copy("Of the user", target=Target.USER)]


def test_the_same_text_in_both_notebooks_is_two_entries(bench: Bench) -> None:
    bench.write("Prefers tea")
    bench.write("Prefers tea", target=Target.USER)
    bench.mirror.accept_differences(DESK, [copy("Prefers tea")], NOTHING_PRIVATE)

    (addition,) = bench.accepted
    assert isinstance(addition, AddEntry)
    assert addition.target is Target.USER


def test_what_is_somebodys_own_is_not_copied_into_the_theme(bench: Bench) -> None:
    bench.write("Ana is ill", "Staging uses port 5433")
    private = frozenset({(Target.MEMORY, "Ana is ill"), (Target.USER, "Staging uses port 5433")})
    bench.mirror.accept_differences(DESK, [], private)

    assert added(bench.accepted) == ["Staging uses port 5433"]


def test_a_person_only_loses_copies_and_is_given_none(bench: Bench) -> None:
    bench.write("Somebody else's")
    count = bench.mirror.accept_differences(DESK_WITH_ANA, [copy("Ana's, gone from the file")], NOTHING_PRIVATE)

    assert count == 1
    assert removed(bench.accepted) == [by_copy("Ana's, gone from the file")]
    assert bench.accepted[0].stamp.caller == DESK_WITH_ANA


def test_nothing_is_accepted_where_copies_and_files_agree(bench: Bench) -> None:
    bench.write("One", "Two")

    assert bench.mirror.accept_differences(DESK, [copy("Two"), copy("One")], NOTHING_PRIVATE) == 0
    assert bench.accepted == []


class Paused(InMemoryNotebooks):
    """Notebooks whose reading takes until it is let go."""

    def __init__(self) -> None:
        super().__init__(HOME)
        self.reading, self.go_on = threading.Event(), threading.Event()

    def read(self, target: Target) -> Sequence[str] | None:
        entries = super().read(target)
        self.reading.set()
        assert self.go_on.wait(GUARD)
        return entries


@pytest.mark.parametrize("action", ["added", "replaced", "removed"])
def test_a_told_write_and_a_comparison_wait_for_each_other(action: str) -> None:
    notebooks = Paused()
    notebooks.write(Target.MEMORY, "Old")
    bench = Bench(notebooks=notebooks)
    calls = {
        "added": lambda: bench.mirror.added(DESK, Target.MEMORY, "Told"),
        "replaced": lambda: bench.mirror.replaced(DESK, Target.MEMORY, "Told", previous="Old", old_text=None),
        "removed": lambda: bench.mirror.removed(DESK, Target.MEMORY, previous="Old", old_text=None),
    }
    comparison = threading.Thread(target=bench.mirror.accept_differences, args=(DESK, [], NOTHING_PRIVATE))
    told = threading.Thread(target=calls[action])
    comparison.start()
    assert notebooks.reading.wait(GUARD)
    told.start()
    told.join(0.05)
    too_early = bench.accepted
    notebooks.go_on.set()
    comparison.join(GUARD)
    told.join(GUARD)

    # The host writes its file before it tells: what was read before is older than what is told, and must come first.
    assert too_early == []
    assert added(bench.accepted)[:1] == ["Old"]
    assert [type(operation) for operation in bench.accepted][1:] == [
        {"added": AddEntry, "replaced": ReplaceEntry, "removed": RemoveEntry}[action]
    ]


def test_a_session_of_the_caller_is_not_lost_from_what_the_host_tells(bench: Bench) -> None:
    operation = bench.mirror.added(replace(DESK, session=SessionId("evening")), Target.MEMORY, "One")

    assert operation.stamp.caller.session == "evening"
