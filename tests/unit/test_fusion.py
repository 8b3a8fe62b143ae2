from __future__ import annotations

import math
from dataclasses import fields, replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.ranking_rows import CALIBRATION, NOW, STATISTICS, entry, turn
from tests.support.tables import for_each

from hermes_memory.domain.asking import NOTHING, Asked, read
from hermes_memory.domain.bm25 import bm25
from hermes_memory.domain.errors import InvalidInput
from hermes_memory.domain.fusion import Candidate, Ranked, fuse_scores, score_of
from hermes_memory.domain.model import Kind, Row
from hermes_memory.domain.rank_fusion import fuse_ranks, reciprocal_rank_fusion
from hermes_memory.domain.support import raised
from hermes_memory.domain.weights import CosineCalibration, RankingWeights

BEST = STATISTICS.best_bm25
LAUNCH, DATE = 0b01, 0b10
SHARE_OF_LAUNCH = STATISTICS.idf("launch") / (STATISTICS.idf("launch") + STATISTICS.idf("date"))


def fused(*candidates: Candidate, weights: RankingWeights | None = None, asked: Asked = NOTHING) -> list[Ranked]:
    return fuse_scores(candidates, STATISTICS, weights or RankingWeights(), CALIBRATION, NOW, asked=asked)


def text(row: Row, share: float) -> Candidate:
    """Of which is known how well its words fit, and not which they are."""
    return Candidate(row=row, bm25=share * BEST)


def holding(row: Row, held: int, *, cosine: float | None = None) -> Candidate:
    """A row of average length that holds some lexemes once."""
    counts = {lexeme: 1 for index, lexeme in enumerate(STATISTICS.lexemes) if held >> index & 1}
    score = bm25(counts, round(STATISTICS.average_length), STATISTICS) if held else None
    return Candidate(row=row, bm25=score, held=held, cosine=cosine)


def test_a_hit_has_what_every_memory_has() -> None:
    for row, kind in ((entry(1, "The launch is on 3 May"), Kind.ENTRY), (turn(2, "When do we launch?"), Kind.TURN)):
        hit = Ranked(row, 0.5)

        assert (hit.id, hit.kind, hit.content, hit.at) == (row.id, kind, row.content, row.at)


@for_each(("cosine", "meaning"), [(None, 0), (-0.3, 0), (0.2, 0), (0.45, 0.5), (0.7, 1), (0.99, 1)])
def test_a_cosine_is_read_between_the_levels_of_its_embedder(cosine: float | None, meaning: float) -> None:
    assert CALIBRATION(cosine) == pytest.approx(meaning)


def test_the_same_cosine_means_different_things_to_different_embedders() -> None:
    narrow = CosineCalibration(unrelated=0.72, related=0.9)

    assert narrow(0.7) == 0
    assert CALIBRATION(0.7) == 1


@for_each(("unrelated", "related"), [(0.5, 0.5), (0.7, 0.2), (-2, 0), (0, 2), (math.nan, 1)])
def test_a_calibration_out_of_order_is_refused(unrelated: float, related: float) -> None:
    with pytest.raises(InvalidInput):
        CosineCalibration(unrelated=unrelated, related=related)


@for_each("weight", [-0.1, math.nan, math.inf])
@for_each("name", [one.name for one in fields(RankingWeights) if one.name != "half_life"])
def test_a_weight_that_makes_no_sense_is_refused(name: str, weight: float) -> None:
    weights: dict[str, Any] = {name: weight}

    with pytest.raises(InvalidInput):
        replace(RankingWeights(), **weights)


def test_a_neighbour_that_counts_more_than_the_row_itself_is_refused() -> None:
    with pytest.raises(InvalidInput):
        RankingWeights(before=1.1)


def test_a_half_life_of_nothing_is_refused() -> None:
    with pytest.raises(InvalidInput):
        RankingWeights(half_life=timedelta(0))


def test_words_and_meaning_add_up() -> None:
    weights = RankingWeights(entry_cosine=0, length=0)
    (only_text, both, only_meaning) = fused(
        Candidate(row=entry(1), bm25=0.4 * BEST, cosine=0.0),
        Candidate(row=entry(2), bm25=0.4 * BEST, cosine=0.6),
        Candidate(row=entry(3), cosine=0.6),
        weights=weights,
    )

    assert total(both) == pytest.approx(total(only_text) + total(only_meaning)) == pytest.approx(0.4 + 0.35 * 0.8)
    assert both.parts["text"] == pytest.approx(0.75 * 0.4)
    assert both.parts["cosine"] == pytest.approx(0.35 * 0.8)


def total(ranked: Ranked) -> float:
    return sum(ranked.parts.values())


def test_the_parts_the_ceiling_and_the_support_make_the_score() -> None:
    weights = RankingWeights()
    candidates = [holding(turn(number, position=number), number % 4, cosine=0.5) for number in range(5)]
    bulk = (4 * 0.2 + 5 * 0.5) / (4 + 5)  # where five rows alike lie, the model's own level counting for four
    best = 1 + (0.5 - bulk) / (0.7 - bulk)  # both words, and a cosine of 0.5

    for ranked in fused(*candidates, text(entry(9), 0.3)):
        assert ranked.support == pytest.approx(best / 2)
        ceiling = weights.ceiling(with_cosine=True)
        assert ranked.score == score_of(ranked.parts, ceiling=ceiling, support=ranked.support, decay=1.0)
        assert ranked.score == pytest.approx((total(ranked) / ceiling * (best / 2) ** 3) ** 0.25)


def test_every_word_counts_once_by_what_it_tells_however_often_it_is_said() -> None:
    said_often = Candidate(row=entry(1), bm25=0.99 * BEST * SHARE_OF_LAUNCH, held=LAUNCH)
    (often, once, both) = fused(said_often, holding(entry(2), LAUNCH), holding(entry(3), LAUNCH | DATE))

    assert often.parts["text"] == pytest.approx(once.parts["text"]) == pytest.approx(0.75 * SHARE_OF_LAUNCH)
    assert both.parts["text"] == pytest.approx(0.75)


def test_a_word_counts_less_in_a_long_text() -> None:
    long = Candidate(row=entry(1), bm25=bm25({"launch": 1}, 400, STATISTICS), held=LAUNCH)
    (lost, told) = fused(long, holding(entry(2), LAUNCH))

    assert 0 < lost.parts["text"] < told.parts["text"] / 2


def test_a_turn_takes_the_words_it_lacks_from_those_beside_it_and_more_from_the_nearer() -> None:
    def beside(distance: int) -> float:
        said, one = fused(
            holding(turn(1, position=10), LAUNCH), holding(turn(2, position=10 + distance), DATE), weights=alone
        )
        assert said.parts["text"] == pytest.approx(0.75 * SHARE_OF_LAUNCH)
        return one.parts["neighbours"]

    alone = RankingWeights(session=0)
    after, before = [beside(step) for step in (1, 2, 3)], [beside(step) for step in (-1, -2, -3)]

    assert after == pytest.approx([0.75 * SHARE_OF_LAUNCH * share for share in (0.7, 0.5, 0)])
    assert before == pytest.approx([0.75 * SHARE_OF_LAUNCH * share for share in (0.35, 0.25, 0)])


def test_words_that_a_turn_holds_itself_are_not_taken_again_from_those_beside_it() -> None:
    first, second = fused(holding(turn(1, position=1), LAUNCH), holding(turn(2, position=2), LAUNCH))

    assert first.parts["neighbours"] == second.parts["neighbours"] == 0


def test_a_session_holds_what_its_found_turns_hold_together() -> None:
    together = fused(holding(turn(1, position=1), LAUNCH), holding(turn(2, position=20), DATE))
    apart = fused(holding(turn(1, position=1), LAUNCH), holding(turn(2, position=20, session="s2"), DATE))

    assert [one.parts["session"] for one in together] == pytest.approx([0.25, 0.25])
    assert apart[0].parts["session"] == pytest.approx(0.25 * SHARE_OF_LAUNCH)


def test_a_neighbour_in_another_session_does_not_count() -> None:
    one, other = fused(holding(turn(1, position=1), LAUNCH), holding(turn(2, position=2, session="s2"), DATE))

    assert one.parts["neighbours"] == other.parts["neighbours"] == 0


def test_a_turn_near_others_that_fit_in_meaning_fits_better() -> None:
    first, *_, lonely = fused(
        *(holding(turn(number, position=number), LAUNCH, cosine=0.7) for number in range(3)),
        holding(turn(9, position=9, session="s2"), LAUNCH, cosine=0.7),
    )

    assert first.parts["neighbours"] == pytest.approx(2 * 0.05)
    assert lonely.parts["neighbours"] == 0


def test_an_answer_gains_from_the_question_before_it_and_the_question_loses() -> None:
    question, answer, later = fused(
        holding(turn(1, "When is the launch, on which date?", position=1), LAUNCH | DATE),
        holding(turn(2, "On the ninth.", position=2), 0, cosine=0.2),
        holding(turn(3, "So early!", position=3), 0, cosine=0.2),
    )

    assert answer.parts["answering"] == pytest.approx(0.15 * 2)
    assert "answering" not in later.parts
    assert question.parts["asking"] == pytest.approx(-0.2 * 2)


def test_who_is_named_in_the_question_is_heard_first() -> None:
    asked = read("What did Wanda say of the launch date?")
    ranked = fused(
        holding(turn(1, speaker="Wanda Ros", position=1), LAUNCH),
        holding(turn(2, speaker="Jonas", position=9), LAUNCH),
        holding(turn(3, position=19), LAUNCH),
        asked=asked,
    )

    assert [one.parts.get("speaker", 0) for one in ranked] == pytest.approx([0.12 * SHARE_OF_LAUNCH, 0, 0])


@pytest.mark.parametrize(
    ("question", "part"), [("When is the launch?", "time"), ("How many launches are there?", "number")]
)
def test_a_text_with_what_is_asked_for_stands_above_one_without(question: str, part: str) -> None:
    told, vague = fused(
        holding(entry(1, "the launch: two of them, in May"), LAUNCH),
        holding(entry(2, "the launch: we shall let you know"), LAUNCH),
        asked=read(question),
    )

    assert told.parts[part] == pytest.approx(0.15 * SHARE_OF_LAUNCH)
    assert part not in vague.parts
    assert told.score > vague.score


def test_a_text_that_says_more_counts_more_up_to_some_forty_words() -> None:
    short, enough, more = fused(
        *(holding(entry(n, "word " * count), LAUNCH) for n, count in ((1, 5), (2, 48), (3, 99)))
    )

    assert short.parts["length"] < enough.parts["length"] == more.parts["length"]


def test_hints_count_for_no_more_than_the_answer_does() -> None:
    hinted, plain = fused(
        holding(turn(1, "Yes, on 9 May. " * 20, speaker="Ana", position=1), 0, cosine=0.1),
        holding(turn(2, "Hm.", position=9), 0, cosine=0.1),
        asked=read("When did Ana move?"),
    )

    assert hinted.score == plain.score == 0


def test_an_answer_with_nothing_to_stand_on_scores_low_even_at_its_best_row() -> None:
    weak = fused(holding(entry(1), DATE, cosine=0.25))
    strong = fused(holding(entry(1), DATE, cosine=0.25), holding(entry(2), LAUNCH | DATE, cosine=0.7))

    level = raised(CALIBRATION, [0.25], STATISTICS.documents).unrelated
    meaning = (0.25 - level) / (0.7 - level)
    assert weak[0].support == pytest.approx((1 - SHARE_OF_LAUNCH + meaning) / 2)
    assert strong[0].support == pytest.approx(1)
    assert weak[0].score < strong[1].score * 0.6


def test_a_row_that_is_as_near_as_all_others_supports_an_answer_less_than_one_that_stands_out() -> None:
    company = [holding(entry(number), 0, cosine=0.3) for number in range(2, 32)]
    far = [holding(entry(number), 0, cosine=0.15) for number in range(2, 32)]
    alike, apart = fused(holding(entry(1), 0, cosine=0.4), *company), fused(holding(entry(1), 0, cosine=0.4), *far)

    assert alike[0].parts == apart[0].parts
    assert alike[0].score < apart[0].score * 0.9


def test_words_support_an_answer_however_near_the_bulk_is() -> None:
    company = [holding(entry(number), 0, cosine=0.6) for number in range(2, 32)]
    best, *_ = fused(holding(entry(1), LAUNCH | DATE, cosine=0.6), *company)

    assert best.support == pytest.approx((1 + (0.6 - 0.45) / (0.7 - 0.45)) / 2)


def test_an_entry_and_a_turn_of_a_fitting_conversation_compete_on_equal_terms() -> None:
    conversation = [holding(turn(number, position=number), DATE, cosine=0.5) for number in range(1, 6)]
    *talk, last = fused(*conversation, holding(entry(9), LAUNCH, cosine=0.5))

    assert last.score > max(hit.score for hit in talk) > last.score * 0.8


def test_context_weights_of_nothing_leave_the_own_score() -> None:
    weights = RankingWeights(
        words=1, session=0, near_cosine=0, entry_cosine=0, cosine=1, answering=0, length=0, speaker=0, time=0, number=0
    )

    (first, second) = fused(text(turn(1), 0.5), text(entry(2), 0.5), weights=weights)

    assert first.score == second.score == pytest.approx(0.5)


def test_age_does_not_count_unless_a_half_life_is_set() -> None:
    old, new = text(entry(1, days=-30), 0.5), text(entry(2), 0.5)
    without = fused(old, new)
    with_decay = fused(old, new, weights=RankingWeights(half_life=timedelta(days=30)))

    assert without[0].score == without[1].score
    assert with_decay[0].score == pytest.approx(with_decay[1].score / 2)


def test_what_lies_in_the_future_does_not_grow_with_decay() -> None:
    weights = RankingWeights(half_life=timedelta(days=30))

    (future, present) = fused(text(entry(1, days=300), 0.5), text(entry(2), 0.5), weights=weights)

    assert future.score == present.score


def test_a_row_that_waits_for_its_vector_is_taken_to_mean_what_its_words_say() -> None:
    fresh, known = entry(1), entry(2)
    waiting, embedded = fused(text(fresh, 0.6), Candidate(row=known, bm25=0.4 * BEST, cosine=0.5))

    assert waiting.parts["cosine"] == pytest.approx(0.35 * 0.6)
    assert waiting.score > embedded.score


def test_a_missing_embedder_does_not_lower_the_scale() -> None:
    (degraded,) = fused(text(entry(1), 1.0))
    (whole,) = fused(Candidate(row=entry(1), bm25=BEST, cosine=0.9))

    assert degraded.score == pytest.approx(whole.score, rel=0.05)


numbers = st.one_of(st.none(), st.floats(-2, 60), st.just(math.nan), st.just(math.inf), st.just(-math.inf))
shares = st.floats(0, 1)
weights_of_any_size = st.builds(
    RankingWeights,
    words=st.floats(0.1, 3),
    **dict.fromkeys(("before", "second_before", "after", "second_after"), shares),
    **dict.fromkeys(
        ("session", "cosine", "near_cosine", "entry_cosine", "answering", "length", "speaker", "time", "asking"),
        st.floats(0, 3),
    ),
)


contents = st.sampled_from(["content", "When is it?", "on 9 May " * 40])


@given(
    st.lists(st.tuples(st.booleans(), contents, numbers, st.integers(0, 3), numbers), max_size=12), weights_of_any_size
)
def test_every_score_lies_between_nothing_and_all(
    found: list[tuple[bool, str, float | None, int, float | None]], weights: RankingWeights
) -> None:
    candidates = [
        Candidate(
            row=turn(number, content, position=number, speaker="Ana") if is_turn else entry(number, content),
            bm25=score,
            held=held,
            cosine=cosine,
        )
        for number, (is_turn, content, score, held, cosine) in enumerate(found)
    ]

    for ranked in fused(*candidates, weights=weights, asked=read("When did Ana move?")):
        assert 0 <= ranked.score <= 1
        assert sum(ranked.parts.values()) <= weights.ceiling(with_cosine=ranked.support is not None) + 1e-9
        assert all(part >= 0 for name, part in ranked.parts.items() if name != "asking")
    for ranked in fuse_ranks(candidates):
        assert 0 <= ranked.score <= 1 + 1e-9


def test_reciprocal_rank_fusion_follows_its_formula() -> None:
    scores = reciprocal_rank_fusion([["a", "b", "c"], ["b", "a"], []], k=60)

    assert scores["a"] == scores["b"] == pytest.approx((61 / 61 + 61 / 62) / 2)
    assert scores["c"] == pytest.approx(61 / 63 / 2)


def test_reciprocal_rank_fusion_of_nothing_is_nothing() -> None:
    assert reciprocal_rank_fusion([]) == {}


def test_fusing_ranks_prefers_what_both_legs_found() -> None:
    candidates = [
        Candidate(row=entry(1), bm25=9.0),
        Candidate(row=entry(2), bm25=8.0, cosine=0.5),
        Candidate(row=entry(3), cosine=0.6),
        Candidate(row=entry(4), bm25=math.nan, cosine=math.nan),
    ]

    scores = {ranked.row.id.int: ranked.score for ranked in fuse_ranks(candidates)}

    assert scores[2] > scores[1] == scores[3] > scores[4] == 0
