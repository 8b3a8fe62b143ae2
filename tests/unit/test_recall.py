"""Recall over an in-memory store: how the legs meet, what degrades an answer, and how it is explained."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import uuid4

import anyio
import pytest
from tests.support.faulty import FaultyEmbedder
from tests.support.inprocess import GUARD, InProcess, new_analyzer

from hermes_memory.adapters.inmemory import InMemoryStore
from hermes_memory.application import legs
from hermes_memory.application import recall as module
from hermes_memory.application.answers import Fate, RecallRequest, RecallResult
from hermes_memory.domain.errors import (
    DeadlineExceeded,
    EmbedderUnavailable,
    EmbeddingRejected,
    HermesMemoryError,
    SchemaNotApplied,
    StoreUnavailable,
)
from hermes_memory.domain.fusion import Fusion
from hermes_memory.domain.model import SessionScope, Target, TraceId
from hermes_memory.domain.operations import Operation
from hermes_memory.domain.ranking import RankingPolicy
from hermes_memory.domain.weights import RankingWeights
from hermes_memory.ports.reading import SearchSpace
from hermes_memory.testing.making import (
    CURRENT,
    DESK,
    DESK_WITH_ANA,
    ENTRIES,
    EVENING,
    MORNING,
    TURNS,
    add,
    next_moment,
    record,
    said,
)

ENOUGH = 1.0
"""Seconds in which the leg that works answers on a busy machine, and which a test can wait for the other one."""
AWAY = StoreUnavailable("out of reach")
LATE_EMBEDDER = "the embedder did not answer: found by text alone"
REFUSED_QUERY = "the embedder refused the query: found by text alone"
OTHER_EMBEDDER = "the configured embedder is not the stored one: found by text alone"
LATE_VECTORS = "vector search did not answer in time"
LATE_TEXT = "text search did not answer in time"
NO_VECTORS = "vector search failed"
NO_TEXT = "text search failed"
BY_RANKS = RankingPolicy(fusion=Fusion.RANKS)


class Bench(InProcess):
    """A memory with some notes and an embedder, asked directly."""

    async def hold(self, *operations: Operation | str) -> None:
        """Store operations, or notes of these contents, with their vectors."""
        await self.store.delivery.apply([add(one) if isinstance(one, str) else one for one in operations])
        jobs = await self.store.queue.claim(1_000, lease=60.0)
        if jobs and self.embedder:
            vectors = await self.embedder.embed_documents([job.text for job in jobs], timeout=GUARD)
            await self.store.queue.complete({job: [v] for job, v in zip(jobs, vectors, strict=True)})

    async def ask(self, query: str = "vault", **changes: Any) -> RecallResult:
        wanted = RecallRequest(caller=DESK, query=query, space=CURRENT, limit=10, timeout=GUARD)
        with anyio.fail_after(GUARD * 2):
            return await self.recall.recall(replace(wanted, **changes))

    async def cuts(self, query: str = "vault", **changes: Any) -> dict[str, str]:
        """Return why each row that was found is not in the answer, by its content."""
        trace = self.recall.trace((await self.ask(query, **changes)).trace_id, DESK)
        assert trace is not None
        cut = {one.row: str(one.fate) for one in trace.placed if one.fate is not Fate.RETURNED}
        rows = {row: await self.store.reader.get(DESK, row, timeout=GUARD) for row in cut}
        return {found.content: cut[row] for row, found in rows.items() if found}


def contents(result: RecallResult) -> list[str]:
    return [hit.row.content for hit in result.hits]


@pytest.fixture
async def bench() -> Bench:
    bench = Bench(FaultyEmbedder())
    await bench.hold("the vault is number 13", "the rocket is called Ariane", "staging uses port 5433")
    return bench


async def test_the_best_match_comes_first_with_what_both_legs_say_about_it(bench: Bench) -> None:
    result = await bench.ask("which number is the vault?")

    assert contents(result)[0] == "the vault is number 13"
    assert result.hits[0].parts["text"] > 0
    assert result.hits[0].parts["cosine"] > 0
    assert result.degraded == ()


async def test_a_row_without_a_word_of_the_question_is_found_by_its_vector(bench: Bench) -> None:
    assert "the rocket is called Ariane" in contents(await bench.ask("rockets"))


async def test_without_an_embedder_text_alone_answers_and_nothing_is_missing() -> None:
    bench = Bench()
    await bench.hold("the vault is number 13", "the rocket is called Ariane")
    result = await bench.ask()

    assert contents(result) == ["the vault is number 13"]
    assert result.degraded == ()


@pytest.mark.parametrize("query", ["", "  \n"])
async def test_an_empty_question_finds_nothing_and_asks_nobody(bench: Bench, query: str) -> None:
    result = await bench.ask(query)

    assert (result.hits, result.degraded) == ((), ())
    assert (bench.search.text.calls, bench.embedder and bench.embedder.querying.calls) == (0, 0)
    assert bench.recall.trace(result.trace_id, DESK) is not None


async def test_a_question_without_a_word_that_counts_is_answered_by_meaning(bench: Bench) -> None:
    result = await bench.ask("the the the")

    assert result.hits
    assert result.degraded == ()


@pytest.mark.parametrize("space", [ENTRIES, TURNS], ids=["entries", "turns"])
async def test_both_legs_look_only_where_they_are_told_to(bench: Bench, space: SearchSpace) -> None:
    await bench.hold(record(said("is the vault number 13?")))
    result = await bench.ask(space=space)

    expected = {"is the vault number 13?"} if space is TURNS else {"the vault is number 13"}
    assert {text for text in contents(result) if "vault" in text} == expected
    assert {type(hit.row).__name__ for hit in result.hits} == {"Turn" if space is TURNS else "Entry"}


async def test_target_and_session_narrow_the_answer(bench: Bench) -> None:
    await bench.hold(
        add("the vault is Ana's", target=Target.USER),
        record(said("the vault is open"), caller=replace(DESK, session=EVENING)),
    )
    users = await bench.ask(space=replace(ENTRIES, target=Target.USER))
    evening = await bench.ask(space=SearchSpace(scope=SessionScope(session=EVENING)))

    assert contents(users) == ["the vault is Ana's"]
    assert contents(evening) == ["the vault is open"]


async def test_nobody_is_shown_what_only_another_may_see(bench: Bench) -> None:
    await bench.hold(add("Ana's vault is number 7", DESK_WITH_ANA))

    assert "Ana's vault is number 7" not in contents(await bench.ask())
    assert "Ana's vault is number 7" in contents(await bench.ask(caller=DESK_WITH_ANA))


class Punctual(FaultyEmbedder):
    """An embedder that gives up on an endpoint that hangs when its time is over, as the ports ask for."""

    allowed: float = 0.0

    async def embed_query(self, text: str, *, timeout: float) -> Sequence[float]:
        self.allowed = timeout
        with anyio.move_on_after(timeout):
            await anyio.sleep_forever()
        raise EmbedderUnavailable("no answer in time")


async def test_an_embedder_that_hangs_degrades_the_answer_to_text_in_time_and_says_so() -> None:
    embedder = Punctual()
    bench = Bench(embedder)
    await bench.hold("the vault is number 13")
    started = time.monotonic()
    result = await bench.ask(timeout=ENOUGH)

    assert time.monotonic() - started < GUARD / 2
    assert 0 < embedder.allowed < ENOUGH
    assert contents(result) == ["the vault is number 13"]
    assert result.degraded == (LATE_EMBEDDER,)


async def test_an_embedder_that_ignores_its_time_costs_no_more_than_the_answers_deadline(bench: Bench) -> None:
    assert bench.embedder is not None
    bench.embedder.querying.hangs = True
    started = time.monotonic()
    result = await bench.ask(timeout=ENOUGH)

    assert time.monotonic() - started < GUARD / 2
    assert contents(result) == ["the vault is number 13"]
    assert result.degraded == (LATE_VECTORS,)


@pytest.mark.parametrize(
    ("error", "told"),
    [(EmbedderUnavailable("down"), LATE_EMBEDDER), (EmbeddingRejected("400"), REFUSED_QUERY)],
    ids=["down", "refused"],
)
async def test_an_embedder_that_fails_degrades_the_answer_to_text_and_says_so(
    bench: Bench, error: Exception, told: str
) -> None:
    assert bench.embedder is not None
    bench.embedder.querying.standing = error
    result = await bench.ask()

    assert contents(result) == ["the vault is number 13"]
    assert result.degraded == (told,)


async def test_an_embedder_known_to_be_down_is_not_asked(bench: Bench) -> None:
    assert bench.embedder is not None
    for _ in range(3):
        with pytest.raises(EmbedderUnavailable), bench.embed_breaker.guard():
            raise EmbedderUnavailable("busy", retry_after=3_600.0)
    result = await bench.ask()

    assert bench.embedder.querying.calls == 0
    assert result.degraded == (LATE_EMBEDDER,)
    assert contents(result) == ["the vault is number 13"]


@pytest.mark.parametrize("change", [{"model": "another"}, {"dimension": 63}], ids=["model", "dimension"])
async def test_an_embedder_that_is_not_the_stored_one_is_not_asked_and_the_answer_says_so(change: Any) -> None:
    embedder = FaultyEmbedder()
    store = InMemoryStore(analyze=new_analyzer().analyze, generation=replace(embedder.generation, **change))
    bench = Bench(embedder, store=store)
    await store.delivery.apply([add("the vault is number 13")])
    result = await bench.ask()

    assert embedder.querying.calls == 0
    assert contents(result) == ["the vault is number 13"]
    assert result.degraded == (OTHER_EMBEDDER,)


@pytest.mark.parametrize(("leg", "told"), [("text", LATE_TEXT), ("vector", LATE_VECTORS), ("cosine", LATE_VECTORS)])
async def test_an_answer_comes_in_its_time_when_one_leg_hangs(
    bench: Bench, leg: str, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(legs, "VECTOR_CANDIDATES", 1)
    await bench.hold("vault 13 is a vault of number 13", "another vault")
    getattr(bench.search, leg).hangs = True
    started = time.monotonic()
    result = await bench.ask(timeout=ENOUGH)

    assert time.monotonic() - started < GUARD / 2
    assert any("vault" in text for text in contents(result))
    assert result.degraded == (told,)


@pytest.mark.parametrize(("leg", "told"), [("text", NO_TEXT), ("vector", NO_VECTORS), ("cosine", NO_VECTORS)])
async def test_one_leg_that_fails_degrades_the_answer_and_nothing_more(
    bench: Bench, leg: str, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(legs, "VECTOR_CANDIDATES", 1)
    await bench.hold("vault 13 is a vault of number 13", "another vault")
    getattr(bench.search, leg).standing = DeadlineExceeded("slow")
    result = await bench.ask()

    assert any("vault" in text for text in contents(result))
    assert result.degraded == (told,)


async def test_no_answer_at_all_in_time_is_an_error_in_time(bench: Bench) -> None:
    bench.search.text.hangs = bench.search.vector.hangs = True
    started = time.monotonic()
    with pytest.raises(DeadlineExceeded):
        await bench.ask(timeout=0.1)

    assert time.monotonic() - started < GUARD / 2


@pytest.mark.parametrize("error", [AWAY, SchemaNotApplied("run migrate"), DeadlineExceeded("slow")])
async def test_without_any_leg_the_stores_own_error_is_raised(bench: Bench, error: HermesMemoryError) -> None:
    bench.search.text.standing = bench.search.vector.standing = error
    with pytest.raises(type(error), match=str(error)):
        await bench.ask()


async def test_a_question_to_a_database_known_to_be_away_fails_at_once_and_asks_it_nothing(bench: Bench) -> None:
    with pytest.raises(StoreUnavailable), bench.store_breaker.guard():
        raise AWAY
    bench.store_breaker._clock = lambda: 0.0  # the time for a probe never comes
    bench.queue.asking.hangs = True
    with pytest.raises(StoreUnavailable):
        await bench.ask()

    assert bench.search.text.calls == bench.search.vector.calls == bench.queue.asking.calls == 0


async def test_a_failure_that_a_reader_meets_is_known_to_the_writer(bench: Bench) -> None:
    bench.search.text.standing = bench.search.vector.standing = AWAY
    with pytest.raises(StoreUnavailable):
        await bench.ask()

    assert bench.store_breaker.state == "open"


async def test_the_stored_generation_is_asked_for_once_while_it_is_measured(bench: Bench) -> None:
    for _ in range(4):
        await bench.ask()

    assert bench.queue.asking.calls == 1


async def test_a_generation_that_is_being_measured_is_asked_for_again_soon(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    generation = replace(FaultyEmbedder().generation, unrelated=None, related=None)
    fresh = Bench(FaultyEmbedder(), store=InMemoryStore(analyze=new_analyzer().analyze, generation=generation))
    await fresh.hold("the vault is number 13")
    before = (await fresh.ask("vault 13")).hits[0].parts["cosine"]
    await fresh.store.queue.calibrate(1, unrelated=-0.9, related=-0.8)
    clock = time.monotonic
    monkeypatch.setattr(time, "monotonic", lambda: clock() + 1.5)
    after = (await fresh.ask("vault 13")).hits[0].parts["cosine"]

    assert fresh.queue.asking.calls == 2
    assert before < after == pytest.approx(RankingWeights().cosine)


async def test_rows_that_only_the_text_leg_found_are_judged_by_meaning_too(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(legs, "VECTOR_CANDIDATES", 1)
    await bench.hold("the vault key is with Ana", "a vault door")
    result = await bench.ask("vault")
    trace = bench.recall.trace(result.trace_id, DESK)

    assert trace is not None
    assert trace.candidates == {"text": 3, "vector": 1}
    assert bench.search.cosine.calls == 1
    assert all(hit.parts["cosine"] > 0 for hit in result.hits)


async def test_cosines_are_asked_for_in_a_look_that_a_leg_has_open(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(legs, "VECTOR_CANDIDATES", 1)
    await bench.hold("the vault key is with Ana", "a vault door")
    await bench.ask("vault")

    assert (bench.search.cosine.calls, bench.search.ending.calls) == (1, 2)


async def test_rows_that_words_have_found_are_compared_while_the_vector_leg_is_under_way(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(legs, "VECTOR_CANDIDATES", 1)
    await bench.hold("the vault key is with Ana", "a vault door")
    vector_leg_asks, text_leg_compares = anyio.Event(), anyio.Event()

    async def ask_for_what_is_near() -> None:
        vector_leg_asks.set()
        await text_leg_compares.wait()

    async def compare() -> None:
        text_leg_compares.set()

    monkeypatch.setattr(bench.search.text, "meet", vector_leg_asks.wait)
    monkeypatch.setattr(bench.search.vector, "meet", ask_for_what_is_near)
    monkeypatch.setattr(bench.search.cosine, "meet", compare)
    result = await bench.ask("vault", timeout=ENOUGH)

    assert result.degraded == ()
    assert all(hit.parts["cosine"] > 0 for hit in result.hits)


async def test_a_connection_that_breaks_when_all_is_answered_takes_nothing_from_the_answer(bench: Bench) -> None:
    await bench.hold("vault 13 is a vault of number 13")
    bench.search.ending.come(AWAY, AWAY)
    result = await bench.ask("vault 13")

    assert contents(result)[0] == "vault 13 is a vault of number 13"
    assert result.degraded == ()


async def test_a_connection_that_breaks_while_the_other_leg_compares_takes_nothing_from_the_answer(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(legs, "VECTOR_CANDIDATES", 1)
    await bench.hold("the vault key is with Ana", "a vault door")
    text_leg_ends, other_leg_compares = anyio.Event(), anyio.Event()

    async def end() -> None:
        if not text_leg_ends.is_set():
            text_leg_ends.set()
            await other_leg_compares.wait()
            raise AWAY

    async def compare() -> None:
        other_leg_compares.set()
        await anyio.sleep(0.01)

    monkeypatch.setattr(bench.search.ending, "meet", end)
    monkeypatch.setattr(bench.search.vector, "meet", text_leg_ends.wait)
    monkeypatch.setattr(bench.search.cosine, "meet", compare)
    result = await bench.ask("vault")

    assert result.degraded == ()
    assert all(hit.parts["cosine"] > 0 for hit in result.hits)


async def test_rows_that_a_full_text_leg_left_out_get_the_text_score_of_their_own_words(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(legs, "TEXT_CANDIDATES", 1)
    await bench.hold("vault vault vault", "a vault door")
    result = await bench.ask("vault")
    scores = {hit.row.content: hit.parts["text"] for hit in result.hits}

    assert scores["vault vault vault"] == scores["a vault door"] > 0
    assert scores["the rocket is called Ariane"] == 0


async def test_without_an_embedder_the_text_leg_has_the_room_of_both(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(legs, "TEXT_CANDIDATES", 1)
    monkeypatch.setattr(legs, "VECTOR_CANDIDATES", 2)
    found = []
    for bench in (Bench(), Bench(FaultyEmbedder())):
        await bench.hold(*(f"vault number {number}" for number in range(5)))
        trace = bench.recall.trace((await bench.ask("vault")).trace_id, DESK)
        assert trace is not None
        found.append(trace.candidates["text"])

    assert found == [3, 1]


async def test_a_question_beside_a_long_paste_is_held_to_a_tenth_of_the_floor(bench: Bench) -> None:
    await bench.hold("the periwinkle contract lies in safe 12")
    pasted = " ".join(f"line{number}" for number in range(60))
    floors = []
    for question in ("Where is the periwinkle contract?", f"Where is the periwinkle contract? {pasted}"):
        trace = bench.recall.trace((await bench.ask(question, floor=0.2)).trace_id, DESK)
        assert trace is not None
        floors.append(trace.floor)

    assert floors == pytest.approx([0.2, 0.02])


async def test_by_ranks_a_row_without_a_word_of_the_question_has_no_place_in_the_text_leg() -> None:
    bench = Bench(FaultyEmbedder(dimension=256), ranking=BY_RANKS)
    await bench.hold("lighthouses relaunching", "launch")
    scores = {hit.row.content: hit.score for hit in (await bench.ask("launch")).hits}

    assert scores["launch"] == pytest.approx(1.0)
    # First place in one leg of two would give half of the best score.
    assert 0 < scores["lighthouses relaunching"] < 0.5


async def test_an_old_memory_counts_less_where_age_counts() -> None:
    weights = RankingWeights(half_life=timedelta(days=1))
    aged, ageless = Bench(ranking=RankingPolicy(weights=weights)), Bench()
    for bench in (aged, ageless):
        await bench.hold(add("the vault is number 13"))

    assert (await aged.ask()).hits[0].score < (await ageless.ask()).hits[0].score


async def test_the_trace_tells_how_the_answer_came_about(bench: Bench) -> None:
    result = await bench.ask("Which VAULT?")
    trace = bench.recall.trace(result.trace_id, DESK)

    assert trace is not None
    assert (trace.id, trace.caller, trace.space) == (result.trace_id, DESK, CURRENT)
    assert "vault" in trace.statistics.lexemes
    assert trace.candidates == {"text": 1, "vector": 3}
    assert [one.row for one in trace.placed if one.fate is Fate.RETURNED] == [hit.row.id for hit in result.hits]
    assert set(trace.timings) >= {"text", "embed", "vector", "total"}
    assert all(seconds >= 0 for seconds in trace.timings.values())
    assert trace.problems == ()


async def test_stages_are_told_in_one_order_whichever_ends_first(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    assert bench.embedder is not None
    text_leg_ends, embed = anyio.Event(), bench.embedder.embed_query

    async def end() -> None:
        text_leg_ends.set()

    async def embed_late(text: str, *, timeout: float) -> Sequence[float]:
        await text_leg_ends.wait()
        return await embed(text, timeout=timeout)

    monkeypatch.setattr(bench.search.ending, "meet", end)
    monkeypatch.setattr(bench.embedder, "embed_query", embed_late)
    result = await bench.ask("Which VAULT?")
    trace = bench.recall.trace(result.trace_id, DESK)

    assert trace is not None
    assert [stage for stage in trace.timings if stage != "cosines"] == ["embed", "text", "vector", "total"]


async def test_the_trace_tells_why_each_row_is_not_in_the_answer() -> None:
    bench = Bench()
    await bench.hold("vault vault", "the vault is number 13", "a vault, among many other long and unrelated words")
    best, middle, worst = contents(await bench.ask())
    scores = [hit.score for hit in (await bench.ask()).hits]

    assert await bench.cuts() == {}
    assert await bench.cuts(limit=1) == {middle: "beyond the limit", worst: "beyond the limit"}
    assert await bench.cuts(floor=(scores[1] + scores[2]) / 2) == {worst: "below the floor"}
    assert await bench.cuts(exclude=frozenset({best})) == {best: "already in the prompt"}
    assert await bench.cuts(exclude=frozenset({best}), limit=1, floor=(scores[1] + scores[2]) / 2) == {
        best: "already in the prompt",
        worst: "below the floor",
    }


async def test_what_is_cut_takes_no_place_from_what_is_shown() -> None:
    bench = Bench()
    await bench.hold("vault vault", "the vault is number 13")
    best, second = contents(await bench.ask())

    assert contents(await bench.ask(limit=1, exclude=frozenset({best}))) == [second]


async def test_turns_that_are_in_view_are_cut_and_earlier_ones_and_those_of_others_are_not() -> None:
    bench = Bench()
    before, since = next_moment(), next_moment()
    await bench.hold(
        record(said("the first vault", at=before), said("the second vault", at=since)),
        record(said("the third vault", at=since), caller=replace(DESK, session=EVENING)),
        add("the fourth vault", at=since),
    )
    window = (frozenset({MORNING}), since)

    assert await bench.cuts(window=window) == {"the second vault": "already in the prompt"}
    assert len((await bench.ask(window=window)).hits) == 3


async def test_a_floor_does_not_hold_for_ranks() -> None:
    bench = Bench(ranking=BY_RANKS)
    await bench.hold("the vault is number 13", "a vault")

    assert len((await bench.ask(floor=1.0)).hits) == 2


async def test_a_degraded_answer_says_so_in_its_trace_too(bench: Bench) -> None:
    assert bench.embedder is not None
    bench.embedder.querying.standing = EmbedderUnavailable("down")
    result = await bench.ask()
    trace = bench.recall.trace(result.trace_id, DESK)

    assert trace is not None
    assert trace.problems == result.degraded == (LATE_EMBEDDER,)
    assert trace.candidates["vector"] == 0


async def test_only_recent_answers_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "TRACES_KEPT", 3)
    bench = Bench()
    traces = [(await bench.ask()).trace_id for _ in range(5)]

    assert [bench.recall.trace(trace, DESK) is not None for trace in traces] == [False, False, True, True, True]
    assert bench.recall.trace(TraceId(uuid4()), DESK) is None


async def test_a_very_long_question_is_answered_from_its_beginning_and_its_end(bench: Bench) -> None:
    result = await bench.ask(f"vault {'filler ' * 50_000} ariane")

    assert {"the vault is number 13", "the rocket is called Ariane"} <= set(contents(result))
