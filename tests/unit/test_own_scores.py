"""Scores of rows that the text leg did not bring."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from uuid import uuid4

import pytest
from tests.support.inprocess import new_analyzer

from hermes_memory.application import own_scores
from hermes_memory.application.own_scores import OwnScores
from hermes_memory.domain.bm25 import QueryStatistics, bm25
from hermes_memory.domain.lexemes import Analyzer, indexed_row
from hermes_memory.domain.model import Entry, Origin, RowId, Target
from hermes_memory.testing.making import MARKETING, next_moment


class CountedStems:
    """Leaves words as they are, and counts how often one of a text's beginning is looked at."""

    counted = 0

    def __call__(self, word: str) -> str:
        self.counted += word == "first"
        return word


def entry(content: str) -> Entry:
    at = next_moment()
    return Entry(
        id=RowId(uuid4()),
        theme=MARKETING,
        subject=None,
        target=Target.MEMORY,
        content=content,
        at=at,
        updated_at=at,
        origin=Origin.USER,
    )


STATISTICS = QueryStatistics(lexemes=("vault",), documents=10, average_length=4.0, frequencies={"vault": 2})


def test_own_scores_are_those_of_the_text_leg() -> None:
    row = entry("the vault and its vault door")
    lexemes = new_analyzer().analyze(indexed_row(row))

    assert OwnScores(new_analyzer()).score(row, STATISTICS) == bm25(Counter(lexemes), len(lexemes), STATISTICS) > 0
    assert OwnScores(new_analyzer()).score(entry("a rocket"), STATISTICS) == 0


def test_a_row_is_analysed_once_and_again_only_when_its_content_has_changed() -> None:
    stems = CountedStems()
    scores, row = OwnScores(Analyzer(stem=stems)), entry("first the vault")
    first = [scores.score(row, STATISTICS) for _ in range(3)]
    once = stems.counted
    changed = scores.score(replace(row, content="first a rocket"), STATISTICS)

    assert (once, stems.counted) == (1, 2)
    assert first[0] > 0 == changed


def test_only_so_many_rows_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_scores, "ROWS_KEPT", 3)
    stems = CountedStems()
    scores, rows = OwnScores(Analyzer(stem=stems)), [entry(f"first vault {number}") for number in range(5)]
    for row in rows:
        scores.score(row, STATISTICS)
    scores.score(rows[-1], STATISTICS)
    kept = stems.counted
    scores.score(rows[0], STATISTICS)

    assert (kept, stems.counted) == (5, 6)
