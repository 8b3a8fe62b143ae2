"""Reconciling: stored copies follow the notebooks, and no order of told and untold writes loses or brings back one."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.inprocess import GUARD, InProcess

from hermes_memory.adapters.inmemory.spool import InMemorySpool
from hermes_memory.application.preparing import ENTRY_MAX_CHARS
from hermes_memory.domain.errors import DeadlineExceeded, HermesMemoryError, SpoolFull, StoreUnavailable
from hermes_memory.domain.model import Caller, CurrentScope, Entry, Origin, Target
from hermes_memory.domain.operations import ByContent, Operation
from hermes_memory.testing.making import ANA, DESK, DESK_WITH_ANA, HOME, MARKETING, OTHER_HOME, SALES, add, remove

SALES_DESK = Caller(theme=SALES)


class Bench(InProcess):
    """A memory whose notebooks are reconciled, step by step."""

    async def hold(self, *operations: Operation) -> None:
        await self.store.delivery.apply(operations)

    async def deliver(self, limit: int = 1_000) -> None:
        operations = [item.operation for item in self.spool.due(limit)]
        outcomes = await self.store.delivery.apply(operations)
        self.spool.done([outcome.operation for outcome in outcomes])

    async def reconcile(self, caller: Caller = DESK) -> int:
        count = await self.memory.reconcile(caller, timeout=GUARD)
        await self.deliver()
        return count

    async def copies(self, caller: Caller = DESK) -> set[str]:
        return {entry.content for entry in await self.store.reader.mirrored(caller, HOME, timeout=GUARD)}

    async def entries(self, caller: Caller = DESK) -> list[Entry]:
        found = await self.store.reader.entries(caller, CurrentScope(), limit=1_000, timeout=GUARD)
        return [entry for entry in found if entry.theme == caller.theme]

    def write(self, *entries: str, target: Target = Target.MEMORY) -> None:
        self.notebooks.write(target, "\n§\n".join(entries))


@pytest.fixture
def bench() -> Bench:
    return Bench()


async def test_copies_follow_the_notebooks_and_then_there_is_nothing_to_do(bench: Bench) -> None:
    bench.write("One", "Two")
    bench.write("Prefers tea", target=Target.USER)
    first = await bench.reconcile()
    bench.write("Two", "Three")
    second, third = await bench.reconcile(), await bench.reconcile()

    assert (first, second, third) == (3, 2, 0)
    assert await bench.copies() == {"Two", "Three", "Prefers tea"}


async def test_what_is_imported_belongs_to_the_theme_and_to_no_session(bench: Bench) -> None:
    bench.write("One")
    await bench.reconcile(DESK)
    (entry,) = await bench.entries()

    assert (entry.theme, entry.subject, entry.session) == (MARKETING, None, None)
    assert (entry.origin, entry.source) == (Origin.IMPORT, HOME)


async def test_a_missing_notebook_removes_nothing(bench: Bench) -> None:
    bench.write("One")
    await bench.reconcile()
    bench.notebooks.write(Target.MEMORY, None)
    count = await bench.reconcile()

    assert count == 0
    assert await bench.copies() == {"One"}


async def test_an_emptied_notebook_removes_its_copies_and_nothing_else(bench: Bench) -> None:
    await bench.hold(
        add("remembered otherwise"),
        add("of another home", source=OTHER_HOME),
        add("of another theme", Caller(theme=SALES), source=HOME),
        add("Ana's own", DESK_WITH_ANA, source=HOME),
    )
    bench.write("One")
    await bench.reconcile()
    bench.write()
    await bench.reconcile()

    assert await bench.copies() == set()
    assert {entry.content for entry in await bench.entries(DESK_WITH_ANA)} == {
        "remembered otherwise",
        "of another home",
        "Ana's own",
    }
    assert await bench.copies(Caller(theme=SALES)) == {"of another theme"}


async def test_a_memory_that_is_known_already_becomes_the_copy(bench: Bench) -> None:
    await bench.hold(add("One"))
    bench.write("One")
    await bench.reconcile()

    assert len(await bench.entries()) == 1
    assert await bench.copies() == {"One"}


async def test_an_entry_that_is_somebodys_own_is_never_copied_for_everyone(bench: Bench) -> None:
    await bench.hold(add("Ana is ill", DESK_WITH_ANA, source=HOME))
    bench.write("Ana is ill", "Staging uses port 5433")
    count = await bench.reconcile(DESK)

    assert count == 1
    assert await bench.copies(DESK) == {"Staging uses port 5433"}
    assert await bench.copies(DESK_WITH_ANA) == {"Ana is ill"}


async def test_an_entry_that_was_somebodys_own_is_not_copied_for_everyone_once_they_have_it_no_more(
    bench: Bench,
) -> None:
    await bench.hold(add("Ana is ill", DESK_WITH_ANA, source=HOME))
    bench.write("Ana is ill", "Staging uses port 5433")
    await bench.reconcile(DESK)
    await bench.hold(remove(ByContent(target=Target.MEMORY, content="Ana is ill"), DESK_WITH_ANA))
    bench.write("Staging uses port 5433", "Ana is ill")
    await bench.reconcile(DESK)

    assert await bench.copies(DESK) == {"Staging uses port 5433"}
    assert await bench.copies(DESK_WITH_ANA) == set()


@pytest.mark.parametrize(
    "told",
    ["Ana is ill", " Ana is\r\nill ", "Ana is ill\n§\nSo is Ben", "ana is ill"],
    ids=["as written", "spaces", "two in one", "letters"],
)
async def test_what_was_told_of_as_somebodys_own_is_not_copied_for_everyone_though_nothing_of_it_is_stored(
    bench: Bench, told: str
) -> None:
    bench.mirror.added(DESK_WITH_ANA, Target.USER, told)
    bench.spool.done([item.operation.stamp.operation for item in bench.spool.due(10)])
    bench.write(*told.split("\n§\n"), "Staging uses port 5433")
    await bench.reconcile(DESK)

    assert await bench.copies(DESK) == {"Staging uses port 5433"}


async def test_what_is_told_of_as_somebodys_own_is_known_whatever_is_kept_of_it(bench: Bench) -> None:
    long = "word " * ENTRY_MAX_CHARS
    bench.mirror.replaced(DESK_WITH_ANA, Target.USER, long, previous="Ana is ill", old_text=None)
    bench.spool.done([item.operation.stamp.operation for item in bench.spool.due(10)])
    bench.write(long, f"{long} and more")
    count = await bench.reconcile(DESK)

    # The two would be stored as the same text, of which one is Ana's.
    assert count == 0


async def test_what_comes_while_somebody_is_here_waits_for_the_word_of_the_host(bench: Bench) -> None:
    bench.write("One")
    bench.mirror.subject_comes()
    bench.write("One", "Two", "Three")
    before = await bench.reconcile()
    bench.mirror.added(DESK, Target.MEMORY, "Two")
    await bench.deliver()
    bench.mirror.subjects_leave()
    after = await bench.reconcile(SALES_DESK)

    assert (before, after) == (1, 2)
    assert await bench.copies() == await bench.copies(SALES_DESK) == {"One", "Two"}


async def test_a_line_that_is_corrected_while_somebody_is_here_stays_known_as_long_as_its_correction_is_held(
    bench: Bench,
) -> None:
    bench.write("Launch on 3 May", "Staging uses port 5433")
    bench.write("Prefers tea", target=Target.USER)
    await bench.reconcile()
    bench.mirror.subject_comes()
    bench.write("Launch on 9 May")
    bench.write(target=Target.USER)
    meanwhile = await bench.reconcile()
    bench.mirror.subjects_leave()
    afterwards = await bench.reconcile()
    kept = await bench.copies()
    held = len(bench.mirror.standing().held)
    bench.write()
    await bench.reconcile()

    assert (meanwhile, afterwards, held) == (1, 0, 1)
    assert kept == {"Launch on 3 May", "Staging uses port 5433"}
    assert await bench.copies() == set()
    assert not bench.mirror.standing().held


async def test_a_line_that_was_told_of_as_somebodys_own_keeps_no_copy_that_is_gone(bench: Bench) -> None:
    bench.write("Launch on 3 May")
    await bench.reconcile()
    bench.mirror.subject_comes()
    bench.mirror.added(DESK_WITH_ANA, Target.MEMORY, "Ana is ill")
    bench.spool.done([item.operation.stamp.operation for item in bench.spool.due(10)])
    bench.write("Ana is ill")
    await bench.reconcile()

    assert await bench.copies() == set()
    assert not bench.mirror.standing().held


async def test_a_person_loses_what_is_gone_and_is_given_nothing_of_others(bench: Bench) -> None:
    await bench.hold(add("Ana is ill", DESK_WITH_ANA, source=HOME))
    bench.write("Staging uses port 5433")
    count = await bench.reconcile(DESK_WITH_ANA)

    assert count == 1
    assert await bench.copies(DESK_WITH_ANA) == set()
    assert {entry.subject for entry in await bench.entries(DESK_WITH_ANA)} <= {None, ANA}
    assert await bench.entries() == []


async def test_a_told_change_that_waits_for_delivery_keeps_its_id(bench: Bench) -> None:
    bench.write("Launch on 3 May")
    await bench.reconcile()
    (before,) = await bench.entries()
    bench.write("Launch on 9 May")
    bench.mirror.replaced(DESK, Target.MEMORY, "Launch on 9 May", previous="Launch on 3 May", old_text=None)
    await bench.reconcile()
    (after,) = await bench.entries()

    assert (after.id, after.content) == (before.id, "Launch on 9 May")


@pytest.mark.parametrize("error", [StoreUnavailable("away"), DeadlineExceeded("slow")])
@pytest.mark.parametrize("answered", [0, 1], ids=["copies", "private"])
async def test_nothing_is_accepted_where_the_store_cannot_be_asked(
    bench: Bench, error: HermesMemoryError, answered: int
) -> None:
    bench.write("One")
    bench.reader.reading.come(*[None] * answered, error)
    with pytest.raises(type(error)):
        await bench.memory.reconcile(DESK, timeout=GUARD)

    assert bench.spool.pending_before() == 0


async def test_a_spool_that_is_full_in_between_is_made_up_for_by_the_next_reconciliation() -> None:
    bench = Bench(spool=InMemorySpool(max_rows=2))
    bench.write("One", "Two", "Three")
    with pytest.raises(SpoolFull):
        await bench.reconcile()
    await bench.deliver()
    await bench.reconcile()

    assert await bench.copies() == {"One", "Two", "Three"}


Step: TypeAlias = tuple[str, int]
FACTS = tuple(f"fact {letter}" for letter in "abcd")


@dataclass
class Game:
    """The host, the delivery and reconciliations, in any order of their steps.

    The host first writes its file and tells of it later; a reconciliation first reads the copies and compares later,
    at once or in parts.
    """

    tells: bool
    bench: Bench = field(default_factory=Bench)
    file: list[str] = field(default_factory=list)
    untold: list[tuple[str, str, str]] = field(default_factory=list)
    read: list[tuple[Sequence[Entry], set[tuple[Target, str]]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.bench.write()

    async def play(self, steps: Sequence[Step]) -> None:
        for name, number in steps:
            await getattr(self, f"_{name}")(number)

    async def finish(self) -> None:
        """Tell of everything and deliver it."""
        while self.untold:
            await self._tell(0)
        await self.bench.deliver()

    async def _write(self, number: int) -> None:
        fact, old = FACTS[number % 4], FACTS[number // 4 % 4]
        if old in self.file and fact not in self.file:
            self.file[self.file.index(old)] = fact
            self._note("replaced", fact, old)
        elif fact not in self.file:
            self.file.append(fact)
            self._note("added", fact, "")
        else:
            self.file.remove(fact)
            self._note("removed", "", fact)
        self.bench.write(*self.file)

    def _note(self, action: str, content: str, old: str) -> None:
        if self.tells:
            self.untold.append((action, content, old))

    async def _tell(self, number: int) -> None:
        if not self.untold:
            return
        action, content, old = self.untold.pop(0)
        # A host either knows the whole entry or the text that was searched for.
        known = {"previous": old, "old_text": None} if number % 2 else {"previous": None, "old_text": old}
        if action == "added":
            self.bench.mirror.added(DESK, Target.MEMORY, content)
        elif action == "replaced":
            self.bench.mirror.replaced(DESK, Target.MEMORY, content, **known)
        else:
            self.bench.mirror.removed(DESK, Target.MEMORY, **known)

    async def _deliver(self, number: int) -> None:
        await self.bench.deliver(1 + number % 3)

    async def _begin(self, number: int) -> None:
        self.read.append((await self.bench.store.reader.mirrored(DESK, HOME, timeout=GUARD), set()))

    async def _part(self, number: int) -> None:
        if self.read:
            stored, done = self.read[number % len(self.read)]
            self.bench.mirror.accept_differences(DESK, stored, frozenset(), done=done, most=1)

    async def _compare(self, number: int) -> None:
        if self.read:
            stored, done = self.read.pop(number % len(self.read))
            self.bench.mirror.accept_differences(DESK, stored, frozenset(), done=done)


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["write", "write", "tell", "tell", "deliver", "begin", "part", "compare"]), st.integers(0, 63)
    ),
    max_size=40,
)


@given(steps=STEPS)
@settings(max_examples=100)
def test_whatever_the_order_once_all_is_told_and_delivered_the_copies_are_what_the_file_says(
    steps: list[Step],
) -> None:
    async def play() -> tuple[set[str], set[str]]:
        game = Game(tells=True)
        await game.play(steps)
        await game.finish()
        return await game.bench.copies(), set(game.file)

    copies, file = asyncio.run(play())
    assert copies == file


@given(steps=STEPS)
@settings(max_examples=60)
def test_whatever_the_order_one_reconciliation_makes_up_for_all_that_was_not_told(steps: list[Step]) -> None:
    async def play() -> tuple[set[str], set[str], int]:
        game = Game(tells=False)
        await game.play(steps)
        await game.finish()
        await game.bench.reconcile()
        return await game.bench.copies(), set(game.file), await game.bench.reconcile()

    copies, file, left = asyncio.run(play())
    assert copies == file
    assert left == 0
