"""The corpus of the text benchmark is indexed as the product indexes, and exact BM25 over it is that of the domain."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from benchmarks.text.corpus import MEAN_LENGTH, SHARES, exact, overlap, themes, word
from benchmarks.text.run import merged

from hermes_memory.domain.bm25 import QueryStatistics, bm25
from hermes_memory.domain.postings import STATISTICS_LEXEME, BlockBuilder, document

ROWS = 3_000


def test_themes_have_their_shares_and_all_rows_are_there() -> None:
    made = list(themes(ROWS))

    assert [theme.rows for theme in made[:4]] == [round(ROWS * share) for share in SHARES[:4]]
    assert sum(theme.rows for theme in made) == ROWS
    assert np.mean(np.concatenate([np.diff(theme.offsets) for theme in made])) == pytest.approx(MEAN_LENGTH, rel=0.35)


def test_the_same_seed_makes_the_same_corpus() -> None:
    first, second = (next(iter(themes(ROWS))) for _ in range(2))

    assert np.array_equal(first.tokens, second.tokens)


def test_no_two_documents_share_a_key() -> None:
    keys = np.concatenate([theme.keys for theme in themes(ROWS)])

    assert len(np.unique(keys)) == ROWS


def test_blocks_are_those_that_the_product_would_write() -> None:
    theme = list(themes(ROWS))[1]
    builder = BlockBuilder()
    for number, key in enumerate(theme.keys.tolist()):
        builder.add(document(key, [word(each) for each in theme.document(number).tolist()]))
    expected = {
        (block.lexeme, block.hi, block.packed) for block in builder.blocks() if block.lexeme != STATISTICS_LEXEME
    }

    assert {(word(w), hi, tuple(packed)) for w, hi, packed in theme.postings().blocks()} == expected


def test_scores_are_those_of_the_domain() -> None:
    theme = list(themes(ROWS))[2]
    judge = exact(theme, theme.postings())
    question = theme.questions(np.random.default_rng(1), 1)[0]
    texts = [Counter(theme.document(number).tolist()) for number in range(theme.rows)]
    statistics = QueryStatistics(
        lexemes=tuple(map(word, question)),
        documents=theme.rows,
        average_length=judge.mean_length,
        frequencies={word(each): sum(each in text for text in texts) for each in question},
    )
    expected = {
        key: score
        for key, text in zip(theme.keys.tolist(), texts, strict=True)
        if (score := bm25({word(w): count for w, count in text.items()}, text.total(), statistics)) > 0
    }

    assert judge.scores(question) == pytest.approx(expected)


def test_questions_hold_telling_words_of_one_document() -> None:
    theme = next(iter(themes(ROWS)))
    documents = [set(theme.document(number).tolist()) for number in range(theme.rows)]

    for question in theme.questions(np.random.default_rng(2), 20):
        assert 3 <= len(question) <= 7
        assert any(set(question) <= words for words in documents)


def test_overlap_counts_the_best_and_takes_equals_for_as_good() -> None:
    scores = {1: 3.0, 2: 2.0, 3: 2.0, 4: 1.0}

    assert overlap([1, 3], scores, depth=2) == 1.0
    assert overlap([1, 4], scores, depth=2) == 0.5
    assert overlap([], scores, depth=2) == 0.0


def test_sizes_of_an_earlier_run_are_kept_unless_measured_again() -> None:
    earlier = {"sizes": [{"rows": 6, "at": "then"}, {"rows": 100, "at": "then"}]}

    assert merged({"sizes": [{"rows": 6, "at": "now"}]}, earlier)["sizes"] == [
        {"rows": 6, "at": "now"},
        {"rows": 100, "at": "then"},
    ]
