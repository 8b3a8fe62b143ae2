from __future__ import annotations

import math
from collections.abc import Callable
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.ranking_rows import CALIBRATION, NOW, STATISTICS, entry, turn

from hermes_memory.domain.errors import InvalidInput
from hermes_memory.domain.fusion import (
    Candidate,
    CosineCalibration,
    Ranked,
    RankingWeights,
    fuse_ranks,
    fuse_scores,
    reciprocal_rank_fusion,
)
from hermes_memory.domain.model import Row

BEST = STATISTICS.best_bm25


def fused(*candidates: Candidate, weights: RankingWeights | None = None) -> list[Ranked]:
    return fuse_scores(candidates, STATISTICS, weights or RankingWeights(), CALIBRATION, NOW)


def text(row: Row, share: float) -> Candidate:
    return Candidate(row=row, bm25=share * BEST)


@pytest.mark.parametrize(("cosine", "meaning"), [(None, 0), (-0.3, 0), (0.2, 0), (0.45, 0.5), (0.7, 1), (0.99, 1)])
def test_a_cosine_is_read_between_the_levels_of_its_embedder(cosine: float | None, meaning: float) -> None:
    assert CALIBRATION(cosine) == pytest.approx(meaning)


def test_the_same_cosine_means_different_things_to_different_embedders() -> None:
    narrow = CosineCalibration(unrelated=0.72, related=0.9)

    assert narrow(0.7) == 0
    assert CALIBRATION(0.7) == 1


@pytest.mark.parametrize(("unrelated", "related"), [(0.5, 0.5), (0.7, 0.2), (-2, 0), (0, 2), (math.nan, 1)])
def test_a_calibration_out_of_order_is_refused(unrelated: float, related: float) -> None:
    with pytest.raises(InvalidInput):
        CosineCalibration(unrelated=unrelated, related=related)


@pytest.mark.parametrize("weight", [-0.1, math.nan, math.inf])
def test_a_weight_that_makes_no_sense_is_refused(weight: float) -> None:
    makers: list[Callable[[], RankingWeights]] = [
        lambda: RankingWeights(cosine=weight),
        lambda: RankingWeights(near=weight),
        lambda: RankingWeights(far=weight),
        lambda: RankingWeights(session=weight),
        lambda: RankingWeights(entry_context=weight),
    ]

    for make in makers:
        with pytest.raises(InvalidInput):
            make()


def test_a_half_life_of_nothing_is_refused() -> None:
    with pytest.raises(InvalidInput):
        RankingWeights(half_life=timedelta(0))


def test_text_and_meaning_add_up() -> None:
    (only_text, both, only_meaning) = fused(
        Candidate(row=entry(1), bm25=0.4 * BEST, cosine=0.0),
        Candidate(row=entry(2), bm25=0.4 * BEST, cosine=0.6),
        Candidate(row=entry(3), cosine=0.6),
    )

    assert both.score == pytest.approx(only_text.score + only_meaning.score)
    assert both.parts["text"] == pytest.approx(0.4)
    assert both.parts["cosine"] == pytest.approx(0.3 * 0.8)


def test_the_parts_add_up_to_the_score() -> None:
    weights = RankingWeights()
    candidates = [Candidate(row=turn(number, position=number), bm25=number, cosine=0.5) for number in range(5)]

    for ranked in fused(*candidates, text(entry(9), 0.3)):
        assert sum(ranked.parts.values()) / weights.ceiling(with_cosine=True) == pytest.approx(ranked.score)


def test_a_turn_gains_from_its_neighbours_and_more_from_the_nearer() -> None:
    answers = [turn(number, position=position) for number, position in ((1, 9), (2, 8), (3, 5))]
    ranked = fused(text(turn(9, position=10), 0.8), *(text(row, 0.1) for row in answers))

    assert ranked[1].score > ranked[2].score > ranked[3].score


def test_a_neighbour_in_another_session_does_not_count() -> None:
    beside, apart = fused(text(turn(1, position=1), 0.1), text(turn(2, position=1, session="s2"), 0.1))[:2]
    lifted, same = fused(
        text(turn(1, position=1), 0.1),
        text(turn(2, position=1, session="s2"), 0.1),
        text(turn(3, position=2), 0.8),
    )[:2]

    assert beside.score == apart.score
    assert lifted.score > beside.score
    assert same.score == apart.score


def test_an_entry_and_a_turn_of_a_fitting_conversation_compete_on_equal_terms() -> None:
    conversation = [text(turn(number, position=number), 0.3) for number in range(1, 6)]
    *_, last = ranked = fused(*conversation, text(entry(9), 0.4))

    assert last.score > max(hit.score for hit in ranked[:-1])


def test_context_weights_of_nothing_leave_the_own_score() -> None:
    weights = RankingWeights(near=0, far=0, session=0, entry_context=0)

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
    waiting, embedded = fused(text(fresh, 0.36), Candidate(row=known, bm25=0.25 * BEST, cosine=0.5))

    assert waiting.parts["cosine"] == pytest.approx(0.3 * waiting.parts["text"])
    assert waiting.score > embedded.score


def test_a_missing_embedder_does_not_lower_the_scale() -> None:
    (degraded,) = fused(text(entry(1), 1.0))
    (whole,) = fused(Candidate(row=entry(1), bm25=BEST, cosine=0.9))

    assert degraded.score == pytest.approx(whole.score, rel=0.05)


numbers = st.one_of(st.none(), st.floats(-2, 60), st.just(math.nan), st.just(math.inf), st.just(-math.inf))
weights_of_any_size = st.builds(
    RankingWeights,
    cosine=st.floats(0, 3),
    near=st.floats(0, 1),
    far=st.floats(0, 1),
    session=st.floats(0, 1),
    entry_context=st.floats(0, 3),
)


@given(st.lists(st.tuples(st.booleans(), numbers, numbers), max_size=12), weights_of_any_size)
def test_every_score_lies_between_nothing_and_all(
    found: list[tuple[bool, float | None, float | None]], weights: RankingWeights
) -> None:
    candidates = [
        Candidate(row=turn(number, position=number) if is_turn else entry(number), bm25=score, cosine=cosine)
        for number, (is_turn, score, cosine) in enumerate(found)
    ]

    for ranked in (*fused(*candidates, weights=weights), *fuse_ranks(candidates)):
        assert 0 <= ranked.score <= 1 + 1e-9
        assert all(part >= 0 for part in ranked.parts.values())


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
