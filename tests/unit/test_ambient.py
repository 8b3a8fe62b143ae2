"""Recall before a turn: for this question, in its time, and never what the prompt or the window holds already."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.support.faulty import FaultyEmbedder
from tests.support.inprocess import GUARD
from tests.support.inprocess_runtime import InProcessRuntime, binding, eventually

from hermes_memory.domain.errors import DeadlineExceeded, EmbedderUnavailable, HermesMemoryError, StoreUnavailable
from hermes_memory.domain.model import Caller, Origin, Target
from hermes_memory.domain.operations import ByContent
from hermes_memory.hermes import ambient as module
from hermes_memory.hermes.ambient import Ambient
from hermes_memory.hermes.sessions import Binding
from hermes_memory.testing.making import DESK, DESK_WITH_ANA, record, said

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
    folder = bench.runtime.settings.home / "memories"
    folder.mkdir()
    (folder / "MEMORY.md").write_text(f"{FACT}\n§\nSomething else")

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


def prepared(bench: Bench, query: str = QUESTION, bound: Binding | None = None) -> int:
    """Prepare a block and return how many searches there were by then."""
    before = bench.searches
    bench.ambient.prepare(bound or HERE, query)
    eventually(lambda: bench.searches > before and query in {asked for _, asked in list(bench.ambient._queued)})
    return bench.searches


HERE = binding(visible_since=LONG_AGO)


def test_a_block_made_ahead_is_used_for_its_question_without_another_search_and_once(bench: Bench) -> None:
    searches = prepared(bench)
    block = bench.block(bound=HERE)
    after = bench.searches
    bench.block(bound=HERE)

    assert FACT in block
    assert bench.ambient.shown == 1
    assert (after, bench.searches) == (searches, searches + 1)


@pytest.mark.parametrize("change", ["question", "session", "write", "time"])
def test_a_block_made_ahead_is_not_used_for_another_question_or_session_nor_after_a_write_or_a_while(
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
        case _:
            monkeypatch.setattr(module, "QUEUED_SECONDS", -1.0)
    block = bench.block(query, bound)

    assert bench.searches == searches + 1
    assert FACT in block
    assert ("safe 13" in block) == (change == "write")


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
