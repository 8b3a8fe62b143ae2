from __future__ import annotations

import math
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.ranking_rows import CALIBRATION, NOW, entry
from tests.support.tables import for_each

from hermes_memory.domain.bm25 import QueryStatistics, bm25, text_score
from hermes_memory.domain.errors import InvalidInput
from hermes_memory.domain.fusion import Candidate
from hermes_memory.domain.ranking import UNASKED_FLOOR, RankingPolicy, order


def statistics(**frequencies: int) -> QueryStatistics:
    return QueryStatistics(lexemes=tuple(frequencies), documents=100, average_length=20.0, frequencies=frequencies)


def test_the_score_follows_the_published_formula() -> None:
    idf = math.log(1 + (100 - 5 + 0.5) / (5 + 0.5))
    expected = idf * 2 * 1.9 / (2 + 0.9 * (0.6 + 0.4 * 30 / 20))

    assert bm25({"launch": 2, "other": 9}, 30, statistics(launch=5)) == pytest.approx(expected)


def test_a_rare_word_counts_more_than_a_common_one() -> None:
    both = statistics(rare=1, common=90)

    assert bm25({"rare": 1}, 20, both) > bm25({"common": 1}, 20, both) > 0


def test_a_short_text_beats_a_long_one_with_the_same_words() -> None:
    assert bm25({"launch": 1}, 5, statistics(launch=5)) > bm25({"launch": 1}, 50, statistics(launch=5))


def test_words_that_occur_nowhere_lower_the_share_of_the_best_score() -> None:
    known = statistics(launch=5)
    half_known = QueryStatistics(
        lexemes=("launch", "zeppelin"), documents=100, average_length=20.0, frequencies={"launch": 5}
    )
    raw = bm25({"launch": 1}, 20, known)

    assert text_score(raw, half_known.best_bm25) < text_score(raw, known.best_bm25) / 1.5


@given(
    st.dictionaries(st.sampled_from("abcdef"), st.integers(0, 200), max_size=6),
    st.lists(st.sampled_from("abcdef"), max_size=60),
    st.integers(0, 150),
    st.floats(0, 100),
)
def test_a_text_score_lies_between_nothing_and_all(
    frequencies: dict[str, int], words: list[str], documents: int, average: float
) -> None:
    known = QueryStatistics(
        lexemes=tuple(frequencies), documents=documents, average_length=average, frequencies=frequencies
    )
    raw = bm25(Counter(words), len(words), known)

    assert 0 <= raw <= known.best_bm25 + 1e-9
    assert 0 <= text_score(raw, known.best_bm25) <= 1


def test_no_score_and_no_number_count_as_nothing() -> None:
    assert text_score(None, 9.0) == 0
    assert text_score(math.nan, 9.0) == 0
    assert text_score(math.inf, 9.0) == 1
    assert text_score(3.0, statistics().best_bm25) == 0


def test_an_empty_memory_has_statistics_too() -> None:
    empty = QueryStatistics(lexemes=("launch",), documents=0, average_length=0.0, frequencies={})

    assert text_score(bm25({"launch": 1}, 1, empty), empty.best_bm25) <= 1


@for_each(("documents", "average"), [(-1, 1.0), (1, -1.0), (1, math.nan), (1, math.inf)])
def test_impossible_statistics_are_refused(documents: int, average: float) -> None:
    with pytest.raises(InvalidInput):
        QueryStatistics(lexemes=(), documents=documents, average_length=average, frequencies={})


def test_a_new_memory_answers_a_question_that_holds_words_it_does_not_know() -> None:
    lexemes = ("alarm", "code", "who", "is", "doctor", "today")
    statistics = QueryStatistics(lexemes=lexemes, documents=1, average_length=6.0, frequencies={"alarm": 1, "code": 1})

    new = Candidate(row=entry(1), bm25=bm25({"alarm": 1, "code": 1}, 6, statistics), held=0b11)
    (hit,) = order([new], statistics, CALIBRATION, NOW, RankingPolicy())

    assert hit.score > UNASKED_FLOOR
