"""Recall before a turn: for this question, in its time, and never what the prompt or the window holds already."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.support.faulty import FaultyEmbedder
from tests.support.inprocess import GUARD
from tests.support.inprocess_runtime import InProcessRuntime, binding, eventually

from hermes_memory.domain.errors import DeadlineExceeded, EmbedderUnavailable, HermesMemoryError, StoreUnavailable
from hermes_memory.domain.model import Caller, Origin, RowId, Target
from hermes_memory.domain.operations import ByContent, ById, Operation
from hermes_memory.hermes import ambient as module
from hermes_memory.hermes.ambient import Ambient
from hermes_memory.hermes.sessions import Binding
from hermes_memory.testing.making import (
    DESK,
    DESK_WITH_ANA,
    HOME,
    SALES_DESK,
    add,
    by_content,
    record,
    remove,
    replace,
    said,
)

QUESTION = "Where is the Periwinkle contract?"
FACT = "The Periwinkle contract lies in safe 12"
LONG_AGO = datetime(2026, 1, 1, tzinfo=UTC)


class Bench:
    """A runtime that knows a fact, and what is put before its turns."""

    def __init__(self, home: Path, *, embedder: FaultyEmbedder | None = None, **settings: Any) -> None:
        self.runtime = InProcessRuntime(home, embedder=embedder, **{"prefetch_timeout": 7.5, **settings})
        eventually(lambda: self.runtime.loop.memory)
        self.ambient = Ambient(self.runtime)
        self.remember(FACT)

    def remember(self, content: str, *, caller: Caller = DESK) -> None:
        self.runtime.local.acceptor.add(caller, content, target=Target.MEMORY, origin=Origin.USER)
        self.runtime.settle()

    def write_notebook(self, *entries: str) -> None:
        folder = self.runtime.settings.home / "memories"
        folder.mkdir(exist_ok=True)
        (folder / "MEMORY.md").write_text("\n§\n".join(entries))

    def block(self, query: str = QUESTION, bound: Binding | None = None) -> str:
        return self.ambient.block(bound or binding(), query)

    @property
    def searches(self) -> int:
        return self.runtime.parts.search.text.calls


@pytest.fixture
def bench(home: Path) -> Iterator[Bench]:
    bench = Bench(home)
    yield bench
    bench.runtime.close(timeout=GUARD)


def test_what_bears_on_the_question_is_put_before_the_turn_and_counted(bench: Bench) -> None:
    block = bench.block()

    assert FACT in block
    assert bench.ambient.shown == 1


def test_a_question_about_nothing_stored_brings_nothing(bench: Bench) -> None:
    bench.block()

    assert bench.block("How tall is the lighthouse?") == ""
    assert bench.ambient.shown == 0


@pytest.mark.parametrize("query", ["hi", "ok, thanks", "/new"])
def test_a_trivial_message_is_not_searched_for(bench: Bench, query: str) -> None:
    bench.ambient.prepare(binding(), query)
    block = bench.block(query)

    assert (block, bench.searches) == ("", 0)


def test_a_home_may_go_without(home: Path) -> None:
    bench = Bench(home, prefetch=False)
    bench.ambient.prepare(binding(), QUESTION)
    block, searches = bench.block(), bench.searches
    bench.runtime.close(timeout=GUARD)

    assert (block, searches) == ("", 0)


def test_what_the_prompt_holds_already_is_left_out(bench: Bench) -> None:
    bench.write_notebook(FACT, "Something else")

    assert bench.block() == ""


def test_turns_that_are_in_view_are_left_out_and_those_that_left_it_are_not(bench: Bench) -> None:
    now = datetime.now(UTC)
    bench.runtime.local.spool.put(record(said("Is the Periwinkle contract signed?", at=now)))
    bench.runtime.settle()
    in_view = bench.block(bound=binding(visible_since=now - timedelta(hours=1)))
    gone = bench.block(bound=binding(visible_since=now + timedelta(hours=1)))

    assert "signed?" not in in_view
    assert FACT in in_view
    assert "signed?" in gone


def test_nobody_is_shown_what_only_another_may_see(bench: Bench) -> None:
    bench.remember("Ana's copy of the Periwinkle contract", caller=DESK_WITH_ANA)

    assert "Ana's copy" not in bench.block()
    assert "Ana's copy" in bench.block(bound=binding(caller=DESK_WITH_ANA))


def test_only_as_many_memories_are_shown_as_wanted(home: Path) -> None:
    bench = Bench(home, prefetch_limit=2)
    for number in range(5):
        bench.remember(f"Periwinkle contract number {number} is with lawyer {number * 7}")
    bench.block()
    shown = bench.ambient.shown
    bench.runtime.close(timeout=GUARD)

    assert shown == 2


def test_a_memory_that_was_just_forgotten_is_not_shown(bench: Bench) -> None:
    bench.runtime.local.acceptor.remove(DESK, ByContent(target=Target.MEMORY, content=FACT), origin=Origin.USER)

    assert bench.block() == ""


def test_a_memory_that_is_being_forgotten_is_not_shown_either(home: Path) -> None:
    bench = Bench(home, prefetch_timeout=0.2)
    bench.runtime.parts.delivery.applying.hangs = True
    bench.runtime.local.acceptor.remove(DESK, ByContent(target=Target.MEMORY, content=FACT), origin=Origin.USER)
    with pytest.raises(DeadlineExceeded):
        bench.block()
    searches = bench.searches
    bench.runtime.close(timeout=0.1)

    assert searches == 0
    assert bench.runtime.loop.stop(timeout=GUARD)


@pytest.mark.parametrize("leg", ["hangs", "away"])
def test_without_an_answer_in_time_there_is_an_error_and_the_turn_goes_on(home: Path, leg: str) -> None:
    bench = Bench(home, prefetch_timeout=0.2)
    if leg == "hangs":
        bench.runtime.parts.search.text.hangs = True
    else:
        bench.runtime.parts.search.text.standing = StoreUnavailable("away")
    started = time.monotonic()
    with pytest.raises(HermesMemoryError):
        bench.block()
    waited = time.monotonic() - started
    bench.runtime.close(timeout=GUARD)

    assert waited < GUARD
    assert bench.ambient.shown == 0


HERE = binding(visible_since=LONG_AGO)


def prepared(bench: Bench, query: str = QUESTION, bound: Binding | None = None) -> int:
    """Prepare a block and return how many searches there were by then."""
    before = bench.searches
    bench.ambient.prepare(bound or HERE, query)
    eventually(lambda: bench.searches > before and query in {asked for _, asked in list(bench.ambient._queued)})
    return bench.searches


def elsewhere(bench: Bench, *operations: Operation) -> None:
    """Let another host change what is stored: this process is told nothing."""
    apply = bench.runtime.parts.store.delivery.apply
    bench.runtime.call(lambda _: apply(operations), timeout=GUARD)


def stored_fact(bench: Bench) -> RowId:
    """Return the id of the fact."""
    (entry,) = bench.runtime.call(lambda memory: memory.view_of(DESK).profile(), timeout=GUARD)
    return entry.id


def test_a_block_made_ahead_is_used_for_its_question_without_another_search_and_once(bench: Bench) -> None:
    searches = prepared(bench)
    block = bench.block(bound=HERE)
    after = bench.searches
    bench.block(bound=HERE)

    assert FACT in block
    assert bench.ambient.shown == 1
    assert (after, bench.searches) == (searches, searches + 1)


@pytest.mark.parametrize("change", ["question", "session", "write", "time", "prompt"])
def test_a_block_made_ahead_is_not_used_for_another_question_session_or_prompt_nor_after_a_write_or_a_while(
    bench: Bench, change: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    searches = prepared(bench)
    query, bound = QUESTION, HERE
    match change:
        case "question":
            query = "Who signed the Periwinkle contract?"
        case "session":
            bound = binding(caller=DESK_WITH_ANA, visible_since=LONG_AGO)
        case "write":
            bench.remember("The Periwinkle contract moved to safe 13")
        case "prompt":
            bench.write_notebook("Something else")
        case _:
            monkeypatch.setattr(module, "QUEUED_SECONDS", -1.0)
    block = bench.block(query, bound)

    assert bench.searches == searches + 1
    assert FACT in block
    assert ("safe 13" in block) == (change == "write")


def test_a_block_made_ahead_is_not_used_when_the_prompt_has_come_to_hold_what_is_in_it(bench: Bench) -> None:
    prepared(bench)
    bench.write_notebook(FACT)

    assert bench.block(bound=HERE) == ""


def forget(row: RowId) -> Operation:
    return remove(ById(id=row))


def change(row: RowId) -> Operation:
    return replace(ById(id=row), "The Periwinkle contract lies in safe 13")


def change_to_and_fro(row: RowId) -> Operation:
    return replace(ById(id=row), FACT.upper())


@pytest.mark.parametrize("made", [forget, change, change_to_and_fro])
def test_what_another_host_forgot_or_changed_is_not_in_a_block_made_before(
    bench: Bench, made: Callable[[RowId], Operation]
) -> None:
    searches = prepared(bench)
    elsewhere(bench, made(stored_fact(bench)))
    block = bench.block(bound=HERE)

    assert bench.searches == searches + 1
    assert FACT not in block


def test_a_correction_that_another_host_stored_as_a_memory_of_its_own_is_shown(bench: Bench) -> None:
    searches = prepared(bench)
    # The clock of its writer is behind: what counts is when it was stored.
    elsewhere(bench, add("The Periwinkle contract lies in safe 13 now", at=LONG_AGO))
    block = bench.block(bound=HERE)

    assert bench.searches == searches + 1
    assert "safe 13" in block


@pytest.mark.parametrize(
    "operation",
    [
        record(said("Is the Periwinkle contract signed?")),
        add("Somebody else's Periwinkle contract", SALES_DESK),
        add("Ana's Periwinkle contract", DESK_WITH_ANA),
        add(FACT, source=HOME),
    ],
    ids=["said", "theme", "subject", "mirror"],
)
def test_what_does_not_touch_a_block_leaves_it_in_place(bench: Bench, operation: Operation) -> None:
    searches = prepared(bench)
    bench.runtime.local.spool.put(operation)
    bench.runtime.settle()
    block = bench.block(bound=HERE)

    assert FACT in block
    assert bench.searches == searches


def test_a_block_made_ahead_that_says_nothing_is_not_kept(bench: Bench) -> None:
    query = "How tall is the lighthouse?"
    bench.ambient.prepare(HERE, query)
    eventually(lambda: bench.searches == 1)
    prepared(bench)

    assert [asked for _, asked in bench.ambient._queued] == [QUESTION]
    assert bench.block(query, HERE) == ""
    assert bench.searches == 3


def test_a_block_holds_nothing_that_waits_in_the_spool_to_be_forgotten_whoever_accepted_it(home: Path) -> None:
    bench = Bench(home, prefetch_timeout=0.3)
    prepared(bench)
    bench.runtime.parts.delivery.applying.hangs = True
    bench.runtime.local.spool.put(remove(by_content(FACT)))
    with pytest.raises(DeadlineExceeded):
        bench.block(bound=HERE)
    bench.runtime.close(timeout=0.1)

    assert bench.runtime.loop.stop(timeout=GUARD)


@pytest.mark.parametrize("trouble", ["away", "late", "hangs"])
def test_a_block_that_cannot_be_checked_is_not_used_and_a_fresh_search_decides(bench: Bench, trouble: str) -> None:
    searches = prepared(bench)
    match trouble:
        case "away":
            bench.runtime.parts.store_breaker._threshold = 2
            bench.runtime.parts.reader.reading.come(StoreUnavailable("away"))
        case "late":
            bench.runtime.parts.reader.reading.come(DeadlineExceeded("late"))
        case _:
            bench.runtime.parts.reader.reading.hangs = True
    block = bench.block(bound=HERE)

    assert FACT in block
    assert bench.searches == searches + 1


def test_a_block_is_not_shown_while_the_database_is_away(bench: Bench) -> None:
    prepared(bench)
    bench.runtime.parts.reader.reading.standing = StoreUnavailable("away")
    bench.runtime.parts.search.text.standing = StoreUnavailable("away")

    with pytest.raises(StoreUnavailable):
        bench.block(bound=HERE)


def test_what_is_stored_while_a_block_is_made_is_not_missed(bench: Bench) -> None:
    search = bench.runtime.parts.search.text
    meet = search.meet

    async def meet_after_a_write() -> None:
        await meet()
        await bench.runtime.parts.store.delivery.apply([add("The lighthouse is 40 metres tall")])

    query = "How tall is the lighthouse?"
    # Before the block is begun: its search may be over before this thread goes on.
    search.meet = meet_after_a_write  # type: ignore[method-assign]
    bench.ambient.prepare(HERE, query)
    eventually(lambda: list(bench.ambient._queued))
    search.meet = meet  # type: ignore[method-assign]

    assert "40 metres" in bench.block(query, HERE)


@pytest.mark.parametrize("trouble", ["failure", "half an answer"])
def test_neither_a_failure_nor_half_an_answer_is_kept(home: Path, trouble: str) -> None:
    embedder = FaultyEmbedder()
    bench = Bench(home, embedder=embedder)
    if trouble == "failure":
        bench.runtime.parts.search.text.come(StoreUnavailable("away"))
        bench.runtime.parts.search.vector.come(StoreUnavailable("away"))
    else:
        embedder.querying.come(EmbedderUnavailable("down"))
    before = bench.searches
    bench.ambient.prepare(HERE, QUESTION)
    eventually(lambda: bench.searches > before)
    bench.runtime.settle()
    kept = dict(bench.ambient._queued)
    # A leg that was turned away because the other one failed has not met its own failure yet.
    bench.runtime.parts.search.text.coming.clear()
    bench.runtime.parts.search.vector.coming.clear()
    eventually(bench.runtime.parts.store_breaker.allows)
    block = bench.block(bound=HERE)
    bench.runtime.close(timeout=GUARD)

    assert kept == {}
    assert FACT in block


def test_only_so_many_blocks_are_kept(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "QUEUED_KEPT", 2)
    for number in range(4):
        prepared(bench, f"{QUESTION} {number}")

    eventually(lambda: [query[-1] for _, query in bench.ambient._queued] == ["2", "3"])
