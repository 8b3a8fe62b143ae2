"""What a row holds of a question's words, by itself and together with its surroundings."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.ranking_rows import STATISTICS

from hermes_memory.domain.bm25 import QueryStatistics, bm25
from hermes_memory.domain.coverage import Found, coverage, mask_of

LAUNCH, DATE, BOTH = 0b01, 0b10, 0b11
BEST = STATISTICS.best_bm25
SHARE = STATISTICS.idf("launch") / (STATISTICS.idf("launch") + STATISTICS.idf("date"))
BESIDE = {-1: 0.7, -2: 0.5, 1: 0.35}


def row(held: int, place: tuple[int, int] | None = None, *, length: int = 20) -> Found:
    counts = {lexeme: 1 for index, lexeme in enumerate(STATISTICS.lexemes) if held >> index & 1}
    return (bm25(counts, length, STATISTICS), held, place)


def test_a_row_of_average_length_holds_the_share_of_its_words() -> None:
    launch, date, both, none = coverage([row(LAUNCH), row(DATE), row(BOTH), (None, 0, None)], STATISTICS, BESIDE)

    assert launch == pytest.approx((SHARE,) * 3)
    assert date == pytest.approx((1 - SHARE,) * 3)
    assert both == pytest.approx((1.0,) * 3)
    assert none == (0, 0, 0)


def test_a_short_text_holds_no_more_than_its_words_and_a_long_one_less() -> None:
    short, long = coverage([row(LAUNCH, length=1), row(LAUNCH, length=200)], STATISTICS, BESIDE)

    assert short.own == pytest.approx(SHARE)
    assert 0 < long.own < SHARE / 2


def test_a_word_is_taken_from_where_it_counts_most_and_once() -> None:
    talk = [row(LAUNCH, (1, 8)), row(LAUNCH, (1, 9)), row(DATE, (1, 10)), row(LAUNCH, (1, 11))]
    last = coverage(talk, STATISTICS, BESIDE)[2]

    assert last.own == pytest.approx(1 - SHARE)
    assert last.around == pytest.approx(1 - SHARE + 0.7 * SHARE)
    assert last.session == pytest.approx(1)


def test_a_neighbour_of_no_weight_adds_nothing() -> None:
    first, second = coverage([row(LAUNCH, (1, 1)), row(DATE, (1, 2))], STATISTICS, {-1: 0.0})

    assert (first.around, second.around) == (first.own, second.own)


def test_of_a_row_whose_words_are_not_known_the_score_counts_and_lends_nothing() -> None:
    unknown, beside = coverage([(0.4 * BEST, 0, (1, 1)), row(DATE, (1, 2))], STATISTICS, BESIDE)

    assert unknown.own == pytest.approx(0.4)
    assert beside.around == beside.own


def test_a_question_of_no_words_covers_nothing() -> None:
    empty = QueryStatistics(lexemes=(), documents=3, average_length=4.0, frequencies={})

    assert coverage([(None, 0, (1, 1)), (1.0, 0, None)], empty, BESIDE) == [(0, 0, 0), (0, 0, 0)]


scores = st.one_of(st.none(), st.floats(-2, 60), st.just(math.nan), st.just(math.inf))


@given(st.lists(st.tuples(scores, st.integers(0, 9), st.booleans()), max_size=12))
def test_surroundings_never_take_anything_away_and_nothing_exceeds_all(
    found: list[tuple[float | None, int, bool]],
) -> None:
    rows = [(score, held, (held % 2, number) if said else None) for number, (score, held, said) in enumerate(found)]

    for covered in coverage(rows, STATISTICS, BESIDE):
        assert 0 <= covered.own <= covered.around <= 1
        assert covered.own <= covered.session <= 1


def test_a_mask_has_the_first_lexeme_lowest() -> None:
    assert mask_of([]) == 0
    assert mask_of([False, True, True]) == 0b110
