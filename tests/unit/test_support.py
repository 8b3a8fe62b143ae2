"""What is unrelated to a question begins where the bulk of what was found lies."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_memory.domain.bm25 import QueryStatistics
from hermes_memory.domain.support import FEW_TEXTS, NEAREST, Evened
from hermes_memory.domain.support import raised as raised_among
from hermes_memory.domain.weights import CosineCalibration

WIDE = CosineCalibration(unrelated=0.0, related=0.8)


def raised(calibration: CosineCalibration, cosines: list[float] | list[float | None]) -> CosineCalibration:
    return raised_among(calibration, cosines, FEW_TEXTS)


def test_the_bulk_counts_for_more_the_more_of_it_there_is() -> None:
    few, many = raised(WIDE, [0.2] * 4), raised(WIDE, [0.2] * 46)

    assert few.unrelated == pytest.approx(0.1)
    assert many.unrelated == pytest.approx(0.2 * 46 / 50)
    assert few.related == many.related == WIDE.related


def test_one_row_alone_does_not_hide_itself() -> None:
    assert raised(WIDE, [0.7])(0.7) > 0.8


def test_a_few_rows_that_fit_do_not_move_the_bulk() -> None:
    company = [0.1 + number / 1_000 for number in range(60)]

    assert raised(WIDE, [*company, 0.6, 0.7, 0.75]).unrelated == pytest.approx(
        raised(WIDE, company).unrelated, abs=0.01
    )


def test_a_memory_of_one_matter_alone_does_not_hide_what_it_says_about_it() -> None:
    assert raised(WIDE, [0.75] * 100).unrelated == pytest.approx(0.4)


def test_what_only_the_words_have_found_beyond_the_nearest_does_not_lower_the_bulk() -> None:
    nearest = [0.3] * NEAREST

    assert raised(WIDE, [*nearest, *([-0.2] * 200)]) == raised(WIDE, nearest)


def test_a_question_far_from_all_is_left_at_the_level_of_the_model() -> None:
    assert raised(WIDE, [-0.3] * 50) == WIDE


def test_the_more_texts_there_are_the_nearer_they_come_by_chance() -> None:
    levels = [raised_among(WIDE, [0.02] * 10, texts).unrelated for texts in (0, 30, 200, 3_000, 10**6, 10**9)]

    assert levels == sorted(levels)
    assert levels[0] == levels[1] < 0.02  # the bulk alone
    # Of 200 values one reaches 2.58 standard deviations, of 30 one reaches 1.83.
    assert levels[2] == pytest.approx(0.8 / 5 * (2.576 - 1.834), abs=0.001)
    assert levels[-2:] == [0.4, 0.4]


@given(
    st.lists(st.one_of(st.none(), st.floats(allow_nan=True, allow_infinity=True)), max_size=120), st.integers(0, 10**12)
)
def test_whatever_the_cosines_are_it_stays_a_calibration_between_the_levels(
    cosines: list[float | None], texts: int
) -> None:
    found = raised_among(WIDE, cosines, texts)

    assert WIDE.unrelated <= found.unrelated <= 0.4
    assert all(0 <= found(cosine) <= 1 for cosine in cosines if cosine is None or not math.isnan(cosine))


def statistics(**held_by: int) -> QueryStatistics:
    return QueryStatistics(lexemes=tuple(held_by), documents=40, average_length=8, frequencies=held_by)


def share(statistics: QueryStatistics, held: int) -> float:
    weights = [statistics.idf(lexeme) for lexeme in statistics.lexemes]
    return sum(one for index, one in enumerate(weights) if held >> index & 1) / sum(weights)


def test_a_word_that_every_row_holds_says_that_the_memory_is_about_it() -> None:
    asked = statistics(know=0, periwinkl=40)

    assert share(asked, 0b10) < 0.1
    assert share(asked, 0b10) * Evened(asked)[0b10] == pytest.approx(1 / 3)


def test_the_weights_of_the_words_are_those_of_the_ranking_and_are_not_worked_out_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = statistics(common=10, rare=1)
    known = Evened(asked)[0b10]
    monkeypatch.delattr(QueryStatistics, "idf")

    assert Evened(asked)[0b10] == known


def test_words_of_one_weight_count_as_they_do_in_the_ranking() -> None:
    asked = statistics(paint=1, wall=1)

    assert [Evened(asked)[held] for held in range(4)] == pytest.approx([1.0] * 4)


@given(st.lists(st.integers(0, 40), max_size=8), st.integers(0, 255))
def test_evened_words_are_still_a_share_of_the_question(frequencies: list[int], mask: int) -> None:
    asked = statistics(**{f"word{index}": held_by for index, held_by in enumerate(frequencies)})
    held = mask & ((1 << len(frequencies)) - 1)

    if held:
        assert 0 < share(asked, held) * Evened(asked)[held] <= 1 + 1e-9
    else:
        assert Evened(asked)[held] == 1
