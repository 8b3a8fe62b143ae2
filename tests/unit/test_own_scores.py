"""Scores of rows that the text leg did not bring."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import timedelta
from uuid import uuid4

import pytest
from tests.support.inprocess import new_analyzer, same_stem

from hermes_memory.application import own_scores
from hermes_memory.application.own_scores import OwnScores
from hermes_memory.domain.bm25 import QueryStatistics, bm25
from hermes_memory.domain.lexemes import Analyzer, Stem, indexed_row
from hermes_memory.domain.model import Entry, Origin, RowId, Target
from hermes_memory.testing.making import MARKETING, next_moment


@dataclass(frozen=True)
class CountingAnalyzer(Analyzer):
    """Remembers what it has analysed, in order."""

    stem: Stem = same_stem
    analysed: list[str] = field(default_factory=list)

    def analyze(self, text: str) -> list[str]:
        self.analysed.append(text)
        return Analyzer.analyze(self, text)


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


STATISTICS = QueryStatistics(lexemes=("tower", "vault"), documents=10, average_length=4.0, frequencies={"vault": 2})


def test_own_scores_are_those_of_the_text_leg() -> None:
    row = entry("the vault and its vault door")
    lexemes = new_analyzer().analyze(indexed_row(row))

    score = bm25(Counter(lexemes), len(lexemes), STATISTICS)

    assert score > 0
    assert OwnScores(new_analyzer()).score(row, STATISTICS) == (score, 0b10)
    assert OwnScores(new_analyzer()).score(entry("a rocket"), STATISTICS) == (0, 0)


def test_a_row_is_analysed_once_and_again_only_when_its_content_has_changed() -> None:
    analyzer = CountingAnalyzer()
    scores, row = OwnScores(analyzer), entry("the vault")
    first = [scores.score(row, STATISTICS) for _ in range(3)]
    once = len(analyzer.analysed)
    changed = scores.score(replace(row, content="a rocket"), STATISTICS)

    assert (once, len(analyzer.analysed)) == (1, 2)
    assert first[0].bm25 > 0 == changed.bm25


def test_a_row_with_another_date_is_analysed_again_because_its_date_is_among_its_words() -> None:
    analyzer = CountingAnalyzer()
    scores, row = OwnScores(analyzer), entry("the vault")
    scores.score(row, STATISTICS)
    scores.score(replace(row, at=row.at + timedelta(days=400)), STATISTICS)

    assert len(analyzer.analysed) == 2


def test_only_so_many_rows_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_scores, "ROWS_KEPT", 3)
    analyzer = CountingAnalyzer()
    scores, rows = OwnScores(analyzer), [entry(f"vault {number}") for number in range(5)]
    for row in rows:
        scores.score(row, STATISTICS)
    scores.score(rows[-1], STATISTICS)
    kept = len(analyzer.analysed)
    scores.score(rows[0], STATISTICS)

    assert (kept, len(analyzer.analysed)) == (5, 6)
