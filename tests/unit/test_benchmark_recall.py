"""The corpus of the recall benchmark can be read, and answers to it are judged rightly."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from benchmarks.recall.corpus import Question, themes
from benchmarks.recall.run import judged
from tests.support.ranking_rows import entry

from hermes_memory.domain.fusion import Ranked


def hit(name: str, score: float, *, theme: str = "a") -> Ranked:
    row = entry(sum(map(ord, name)), name, theme=theme)
    object.__setattr__(row, "metadata", {"id": name})
    return Ranked(row=row, score=score)


def test_the_corpus_has_six_themes_with_notes_and_sessions_and_questions_of_every_kind() -> None:
    corpus = list(themes())

    assert len(corpus) == 6
    for theme in corpus:
        assert {memory.session is None for memory in theme.memories} == {True, False}
        kinds = Counter(question.category for question in theme.questions)
        assert kinds.keys() == {"fact", "identifier", "session", "other", "correction", "nothing", "near"}


def test_a_question_about_a_row_that_is_not_there_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("theme a\n\nentry e1 2026-01-01 | one\nask fact e2 | which?\n", encoding="utf-8")

    with pytest.raises(ValueError, match="e2"):
        list(themes(tmp_path))


def test_an_answer_is_judged_by_the_places_of_what_answers() -> None:
    question = Question(category="fact", text="?", answers=frozenset({"x", "y"}))

    found = judged(question, "a", [hit("z", 0.9), hit("x", 0.5), *(hit(f"n{n}", 0.4) for n in range(5))])

    assert (found["recall@1"], found["recall@5"], found["mrr"], found["best"]) == (0.0, 0.5, 0.5, 0.5)


def test_a_row_of_another_theme_with_the_same_name_is_no_answer() -> None:
    question = Question(category="fact", text="?", answers=frozenset({"x"}))

    assert judged(question, "a", [hit("x", 0.9, theme="b")])["recall@10"] == 0.0


def test_a_correction_must_stand_above_what_it_corrects() -> None:
    question = Question(category="correction", text="?", answers=frozenset({"new"}), outdated="old")

    assert judged(question, "a", [hit("new", 0.9), hit("old", 0.8)])["above"] == 1.0
    assert judged(question, "a", [hit("old", 0.9), hit("new", 0.8)])["above"] == 0.0
    assert judged(question, "a", [hit("other", 0.9)])["above"] == 0.0
