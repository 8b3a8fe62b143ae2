"""Explaining an answer: how it came about, why a memory is not in it, and what nobody learns by that."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from tests.support.faulty import FaultyEmbedder
from tests.support.inprocess import GUARD, InProcess, utc_now

from hermes_memory.application import legs
from hermes_memory.application.answers import Fate
from hermes_memory.application.explanation import Explanation, Verdict
from hermes_memory.application.view import View
from hermes_memory.domain.erasure import OneEntry, WholeSession, WholeSubject, WholeTheme
from hermes_memory.domain.errors import InvalidInput, NotVisible, StoreUnavailable
from hermes_memory.domain.fusion import Fusion, score_of
from hermes_memory.domain.model import Caller, Kind, ReadPolicy, RowId, TraceId
from hermes_memory.domain.operations import ById, Operation
from hermes_memory.domain.ranking import RankingPolicy
from hermes_memory.domain.weights import RankingWeights
from hermes_memory.testing.making import (
    ANA,
    DESK,
    DESK_WITH_ANA,
    EVENING,
    MARKETING,
    MORNING,
    SALES_DESK,
    add,
    next_moment,
    record,
    remove,
    said,
)
from hermes_memory.testing.making import replace as change

VAULT = "the vault is number 13"
ROCKET = "the rocket is called Ariane"
PORT = "staging uses port 5433"


class Bench(InProcess):
    """A memory asked directly, whose answers are explained."""

    async def hold(self, *operations: Operation | str, embed: bool = True) -> list[RowId]:
        """Store operations, or notes of these contents, with their vectors; return the ids of those that are one."""
        outcomes = await self.store.delivery.apply([add(one) if isinstance(one, str) else one for one in operations])
        jobs = await self.store.queue.claim(1_000, lease=60.0) if embed else ()
        if jobs and self.embedder:
            vectors = await self.embedder.embed_documents([job.text for job in jobs], timeout=GUARD)
            await self.store.queue.complete({job: [v] for job, v in zip(jobs, vectors, strict=True)})
        return [outcome.row for outcome in outcomes if outcome.row]

    def view(self, caller: Caller = DESK) -> View:
        return self.memory.view_of(caller)

    async def answer(self, query: str = "vault", caller: Caller = DESK, **how: Any) -> TraceId:
        return (await self.view(caller).recall(query, timeout=GUARD, **how)).trace_id

    async def explain(self, query: str = "vault", **how: Any) -> Explanation:
        return await self.view().explain(await self.answer(query, **how))

    async def why(self, row: RowId, query: str = "vault", **how: Any) -> Verdict:
        return await self.view().why(await self.answer(query, **how), row)


@pytest.fixture
def bench() -> Bench:
    return Bench(FaultyEmbedder())


async def test_an_explanation_tells_words_legs_bounds_stages_and_troubles(bench: Bench) -> None:
    await bench.hold(VAULT, "a vault door", ROCKET)
    told = await bench.explain("Which vault number?", limit=2, floor=0.01)
    words = {word.lexeme: word for word in told.words}

    assert {lexeme: word.documents for lexeme, word in words.items()} == {"vault": 2, "number": 1}
    assert words["number"].idf > words["vault"].idf > 0
    assert (told.documents, told.mean_length > 0) == (3, True)
    assert told.candidates == {"text": 2, "vector": 3}
    assert (told.limit, told.floor, told.space.kinds) == (2, 0.01, frozenset(Kind))
    assert sum(told.fates.values()) == 3
    assert told.fates[Fate.RETURNED] == 2
    assert {"text", "embed", "vector", "total"} <= set(told.timings)
    assert told.problems == ()


async def test_what_degraded_an_answer_is_told(bench: Bench) -> None:
    await bench.hold(VAULT)
    bench.search.vector.standing = StoreUnavailable("away")
    told = await bench.explain()

    assert told.problems == ("vector search failed",)
    assert told.candidates == {"text": 1, "vector": 0}


async def test_each_verdict_tells_rank_scores_and_the_row_as_it_is(bench: Bench) -> None:
    ids = await bench.hold(VAULT, ROCKET)
    told = await bench.explain()
    best, other = told.verdicts

    assert [verdict.row and verdict.row.content for verdict in told.verdicts] == [VAULT, ROCKET]
    assert [verdict.id for verdict in told.verdicts] == ids
    assert (best.rank, best.text_rank, best.vector_rank, best.fate) == (1, 1, 1, Fate.RETURNED)
    assert (other.rank, other.text_rank, other.vector_rank, other.bm25) == (2, None, 2, None)
    assert best.bm25 is not None
    assert best.bm25 > 0
    assert best.cosine is not None
    assert best.parts.keys() == {"text", "cosine", "entry", "length"}


@pytest.mark.parametrize("fusion", Fusion)
async def test_the_parts_the_decay_and_the_lift_make_up_the_score(fusion: Fusion) -> None:
    weights = RankingWeights(half_life=timedelta(days=30_000))
    bench = Bench(FaultyEmbedder(), ranking=RankingPolicy(weights=weights, fusion=fusion))
    await bench.hold(
        "the vault code is 4471",
        "the vault code is 9902 now, and the old one is no longer used by anybody",
        record(said("what is the vault code?"), said("the vault code, I think, is 12")),
    )
    told = await bench.explain("vault code 4471")

    assert len(told.verdicts) == 4
    for verdict in told.verdicts:
        own = score_of(verdict.parts, ceiling=told.ceiling, support=told.support, decay=verdict.decay)
        assert verdict.score == pytest.approx(own + verdict.lift)
        assert (verdict.decay < 1) is (fusion is Fusion.SCORES)
    (lifted,) = [verdict for verdict in told.verdicts if verdict.lift > 0]
    assert "9902" in (lifted.row.content if lifted.row else "")


async def test_a_corrected_memory_is_said_to_be_superseded_and_by_which(bench: Bench) -> None:
    old, new = await bench.hold("the launch is on 3 May", "the launch is on 9 May")
    verdict = await bench.why(old, "When is the launch?", limit=1)

    assert (verdict.fate, verdict.superseded_by) == (Fate.LIMIT, new)
    assert verdict.because.startswith(f"superseded by {new}; it is number 2")


async def test_a_copy_is_said_to_be_collapsed_and_into_which(bench: Bench) -> None:
    texts = [said(VAULT, speaker="Ana"), said(VAULT, speaker="Ana", occurrence=1)]
    await bench.hold(record(*texts))
    told = await bench.explain()
    (kept,) = told.verdicts
    (copy,) = kept.stands_for
    verdict = await bench.why(copy)

    assert told.fates == {Fate.RETURNED: 1, Fate.COLLAPSED: 1}
    assert (verdict.fate, verdict.collapsed_into, verdict.text_rank is not None) == (Fate.COLLAPSED, kept.id, True)
    assert str(kept.id) in verdict.because
    assert "returned" in verdict.because


async def test_a_candidate_that_is_not_in_the_answer_is_said_to_have_been_cut_and_by_what(bench: Bench) -> None:
    first, second = await bench.hold("vault vault", VAULT)
    cuts = {
        Fate.RETURNED: await bench.why(second),
        Fate.LIMIT: await bench.why(second, limit=1),
        Fate.FLOOR: await bench.why(second, floor=0.999),
        Fate.IN_PROMPT: await bench.why(second, exclude=frozenset({VAULT})),
    }

    assert {fate: verdict.fate for fate, verdict in cuts.items()} == {fate: fate for fate in cuts}
    assert {verdict.row and verdict.row.content for verdict in cuts.values()} == {VAULT}
    assert "floor of 0.999" in cuts[Fate.FLOOR].because
    assert "limit of 1" in cuts[Fate.LIMIT].because
    assert (await bench.why(first)).fate is Fate.RETURNED


async def test_nothing_is_said_to_stand_out_only_where_the_floor_held_back_all(bench: Bench) -> None:
    _, second = await bench.hold("vault vault", VAULT)
    alone = await bench.why(second, floor=0.999)
    beside = await bench.why(second, floor=0.999, exclude=frozenset({"vault vault"}))

    assert (alone.fate, beside.fate) == (Fate.FLOOR, Fate.FLOOR)
    assert "no memory stands out" in alone.because
    assert "no memory stands out" not in beside.because


async def test_what_had_no_room_where_it_was_shown_was_cut_by_the_budget(bench: Bench) -> None:
    first, second = await bench.hold("vault vault", VAULT)
    view, answer = bench.view(), await bench.answer()
    bench.view(SALES_DESK).note_shown(answer, 0)
    before = await view.explain(answer)
    view.note_shown(answer, 1)
    after = await view.explain(answer)

    assert before.fates == {Fate.RETURNED: 2}
    assert [(one.id, one.fate) for one in after.verdicts] == [(first, Fate.RETURNED), (second, Fate.BUDGET)]
    assert "token budget" in after.verdicts[1].because


@pytest.mark.parametrize(
    ("how", "because"),
    [
        ({"kinds": frozenset({Kind.TURN})}, "kind 'entry'"),
        ({"target": "user"}, "target is 'memory'"),
        ({"scope": "sales"}, "scope"),
        ({"scope": "session"}, "scope"),
    ],
)
async def test_a_memory_outside_of_what_was_searched_is_said_to_be(
    bench: Bench, how: dict[str, Any], because: str
) -> None:
    (row,) = await bench.hold(add(VAULT, replace(DESK, session=EVENING)))
    verdict = await bench.why(row, **how)

    assert verdict.fate is Fate.ELSEWHERE
    assert because in verdict.because


async def test_what_was_stored_after_the_question_is_said_to_be() -> None:
    bench = Bench()
    answer = await bench.answer()
    late = add(VAULT)
    (row,) = await bench.hold(replace(late, stamp=replace(late.stamp, accepted_at=utc_now() + timedelta(seconds=1))))

    assert (await bench.view().why(answer, row)).fate is Fate.LATER


async def test_a_memory_too_far_in_meaning_is_said_to_be_with_how_far(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(legs, "VECTOR_CANDIDATES", 1)
    _, rocket = await bench.hold(VAULT, ROCKET)
    verdict = await bench.why(rocket, VAULT)

    assert verdict.fate is Fate.TOO_FAR
    assert verdict.cosine is not None
    assert f"{verdict.cosine:.3f}" in verdict.because
    assert (verdict.vector_rank, verdict.bm25) == (None, None)


async def test_a_memory_without_a_vector_is_said_to_have_none(bench: Bench) -> None:
    await bench.hold(PORT)
    vault, rocket = await bench.hold(VAULT, ROCKET, embed=False)
    answer = await bench.answer()
    found, missing = await bench.view().why(answer, vault), await bench.view().why(answer, rocket)

    assert (found.fate, found.cosine) == (Fate.RETURNED, None)
    assert "no vector" in found.because
    assert (missing.fate, missing.cosine) == (Fate.NOT_EMBEDDED, None)


async def test_a_memory_with_words_of_the_question_that_others_fit_better_is_said_to_have_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(legs, "TEXT_CANDIDATES", 1)
    monkeypatch.setattr(legs, "VECTOR_CANDIDATES", 0)
    bench = Bench()
    _, second = await bench.hold("vault vault", "a vault, among many other words that say nothing of it at all")
    verdict = await bench.why(second)

    assert verdict.fate is Fate.NOT_FOUND
    assert "it holds vault" in verdict.because
    assert "not among the 1 rows that fit them best" in verdict.because
    assert verdict.bm25 is not None
    assert verdict.bm25 > 0


async def test_a_candidate_of_the_text_leg_alone_has_its_cosine_and_no_place_in_the_other_leg(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(legs, "VECTOR_CANDIDATES", 1)
    _, second = await bench.hold("vault", "a vault, among many other words that say nothing of it at all")
    verdict = await bench.why(second)

    assert (verdict.fate, verdict.text_rank, verdict.vector_rank) == (Fate.RETURNED, 2, None)
    assert verdict.cosine is not None
    assert "no vector" not in verdict.because


async def test_without_an_embedder_a_memory_without_a_word_of_the_question_was_not_compared_by_meaning() -> None:
    bench = Bench()
    (rocket,) = await bench.hold(ROCKET)
    verdict = await bench.why(rocket)

    assert verdict.fate is Fate.NOT_FOUND
    assert "none were compared by meaning" in verdict.because


@pytest.mark.parametrize(
    ("leg", "query", "because"),
    [("vector", "vault", "search by meaning did not answer"), ("text", "rocket", "text search did not answer")],
)
async def test_a_memory_that_a_failing_leg_would_have_found_is_said_to_lack_that_leg(
    bench: Bench, leg: str, query: str, because: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(legs, "VECTOR_CANDIDATES", 1)
    _, rocket = await bench.hold(VAULT, ROCKET)
    getattr(bench.search, leg).standing = StoreUnavailable("away")
    if leg == "text":
        # The nearest to this vector is the other row.
        assert bench.embedder is not None
        query = f"{VAULT} {VAULT} {query}"
    answer = await bench.answer(query)
    getattr(bench.search, leg).standing = None
    verdict = await bench.view().why(answer, rocket)

    assert verdict.fate is Fate.NOT_FOUND
    assert because in verdict.because


async def test_a_memory_of_somebody_else_is_told_of_like_one_that_never_was(bench: Bench) -> None:
    (anas,) = await bench.hold(add(f"Ana: {VAULT}", DESK_WITH_ANA))
    bench.store.set_policy(ReadPolicy.OWN)
    (sales,) = await bench.hold(add(f"sales: {VAULT}", SALES_DESK))
    answer = await bench.answer(scope="all")
    view, never = bench.view(), RowId(uuid4())
    verdicts = [replace(await view.why(answer, row), id=never) for row in (anas, sales, never)]

    assert verdicts[0] == verdicts[1] == verdicts[2]
    assert verdicts[0].fate is Fate.UNKNOWN
    assert verdicts[0].row is None


async def test_what_was_forgotten_after_an_answer_is_not_shown_by_its_explanation(bench: Bench) -> None:
    (row,) = await bench.hold("the secret of the vault is Periwinkle")
    view, answer = bench.view(), await bench.answer()
    await bench.hold(remove(ById(id=row)))
    told, verdict = await view.explain(answer), await view.why(answer, row)

    assert verdict == told.verdicts[0]
    assert (verdict.fate, verdict.row, verdict.rank) == (Fate.GONE, None, 1)
    assert "no longer there" in verdict.because
    assert "Periwinkle" not in repr(told)


async def test_what_the_caller_lost_sight_of_is_not_shown_by_an_explanation(bench: Bench) -> None:
    (row,) = await bench.hold(add("the secret of the vault is Periwinkle", SALES_DESK))
    view, answer = bench.view(), await bench.answer(scope="all")
    seen = await view.explain(answer)
    bench.store.set_policy(ReadPolicy.OWN)
    told, verdict = await view.explain(answer), await view.why(answer, row)

    assert "Periwinkle" in repr(seen)
    assert (verdict.fate, verdict.row) == (Fate.GONE, None)
    assert "Periwinkle" not in repr(told)


async def test_what_was_changed_after_an_answer_is_shown_as_it_is_now(bench: Bench) -> None:
    (row,) = await bench.hold("the secret of the vault is Periwinkle")
    view, answer = bench.view(), await bench.answer()
    new = change(ById(id=row), "the secret of the vault is Saffron")
    await bench.hold(replace(new, stamp=replace(new.stamp, accepted_at=utc_now() + timedelta(seconds=1))))
    told = await view.explain(answer)

    assert told.verdicts[0].changed
    assert "changed since" in told.verdicts[0].because
    assert "Saffron" in repr(told)
    assert "Periwinkle" not in repr(told)


async def test_what_is_remembered_of_an_answer_holds_no_content(bench: Bench) -> None:
    since = next_moment()
    await bench.hold(
        "vault Periwinkle",
        "vault  PERIWINKLE",
        "vault saffron",
        record(said("vault Teal", at=since, speaker="Ochre")),
    )
    answer = await bench.answer(limit=1, exclude=frozenset({"vault saffron"}), window=(MORNING, since))
    trace = bench.recall.trace(answer, DESK)

    assert trace is not None
    assert sum(1 + len(one.collapsed) for one in trace.placed) == 4
    assert not [word for word in ("periwinkle", "saffron", "teal", "ochre") if word in repr(trace).casefold()]


async def test_an_answer_is_explained_to_its_theme_and_subject_in_any_session_and_to_nobody_else(bench: Bench) -> None:
    (row,) = await bench.hold(VAULT)
    answer = await bench.answer(caller=DESK_WITH_ANA)
    same = bench.view(replace(DESK_WITH_ANA, session=EVENING))

    assert (await same.explain(answer)).id == answer
    for other in (DESK, SALES_DESK, replace(DESK_WITH_ANA, theme=SALES_DESK.theme)):
        with pytest.raises(NotVisible, match="no such answer"):
            await bench.view(other).explain(answer)
        with pytest.raises(NotVisible, match="no such answer"):
            await bench.view(other).why(answer, row)


async def test_only_as_many_candidates_are_read_as_wanted_and_the_rest_are_counted(bench: Bench) -> None:
    await bench.hold(VAULT, ROCKET, PORT)
    view, answer = bench.view(), await bench.answer()
    before = bench.reader.reading.calls
    told = await view.explain(answer, rows=1)

    asked_whether_anything_was_erased = 1
    assert (len(told.verdicts), told.left_out) == (1, 2)
    assert bench.reader.reading.calls - before == 1 + asked_whether_anything_was_erased
    with pytest.raises(InvalidInput):
        await view.explain(answer, rows=0)


async def test_what_was_asked_before_an_erasure_is_explained_no_more(bench: Bench) -> None:
    (row,) = await bench.hold(add(VAULT, DESK_WITH_ANA))
    before = [await bench.answer("which zebra clinic?", caller) for caller in (DESK_WITH_ANA, DESK)]
    await bench.view(DESK_WITH_ANA).explain(before[0])
    for erasure in (
        WholeSubject(subject=ANA),
        WholeTheme(theme=MARKETING),
        WholeSession(session=MORNING),
        OneEntry(row=row),
    ):
        await bench.store.eraser.erase(erasure)
        for answer, caller in zip(before, (DESK_WITH_ANA, DESK), strict=True):
            with pytest.raises(NotVisible, match="no such answer"):
                await bench.view(caller).explain(answer)
            with pytest.raises(NotVisible, match="no such answer"):
                await bench.view(caller).why(answer, row)
        before = [await bench.answer("which zebra clinic?", caller) for caller in (DESK_WITH_ANA, DESK)]

        assert (await bench.view(DESK_WITH_ANA).explain(before[0])).id == before[0]


async def test_what_was_being_asked_while_something_was_erased_is_explained_no_more(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    await bench.hold(add(VAULT, DESK_WITH_ANA))

    async def erase() -> None:
        await bench.store.eraser.erase(WholeSubject(subject=ANA))

    monkeypatch.setattr(bench.search.text, "meet", erase)
    answer = await bench.answer("which zebra clinic?", DESK_WITH_ANA)

    with pytest.raises(NotVisible, match="no such answer"):
        await bench.view(DESK_WITH_ANA).explain(answer)


async def test_without_the_database_nothing_is_explained(bench: Bench) -> None:
    (row,) = await bench.hold(VAULT)
    view, answer = bench.view(), await bench.answer()
    bench.reader.reading.standing = StoreUnavailable("away")

    with pytest.raises(StoreUnavailable):
        await view.explain(answer)
    with pytest.raises(StoreUnavailable):
        await view.why(answer, row)


async def test_a_question_that_asks_for_nothing_has_an_explanation_too(bench: Bench) -> None:
    (row,) = await bench.hold(VAULT)
    told = await bench.explain(" ")
    verdict = await bench.why(row, " ")

    assert (told.words, told.verdicts, told.fates, told.left_out) == ((), (), {}, 0)
    assert verdict.fate is Fate.NOT_FOUND
