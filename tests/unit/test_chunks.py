"""Long texts are cut where they allow it, and nothing of them is lost."""

from __future__ import annotations

import unicodedata
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.tables import for_each

from hermes_memory.domain.chunks import ChunkPolicy, chunks, tokens
from hermes_memory.domain.errors import InvalidInput

SMALL = ChunkPolicy(tokens=16, overlap=3, most=1_000)
PROSE = "".join(f"Sentence number {number} says that topic {number * 37 % 101} is settled. " for number in range(200))

texts = st.lists(
    st.sampled_from(
        [
            "word ",
            "longer-word ",
            "End. ",
            "Done!\n",
            "\n\n",
            "字",
            "文。",
            "x" * 30,
            "é",
            "e\u0301",
            "👨\u200d👩 ",
            " ",
        ]
    ),
    max_size=120,
).map("".join)


@given(texts)
def test_every_character_is_in_a_part_and_parts_follow_each_other(text: str) -> None:
    covered = 0
    for part in chunks(text, SMALL):
        start = text.rfind(part, 0, covered + len(part))  # the last place that leaves no gap
        assert start >= 0
        covered = max(covered, start + len(part))

    assert covered == len(text)


@given(texts)
def test_no_part_is_longer_than_the_bound(text: str) -> None:
    assert all(tokens(part) <= SMALL.tokens for part in chunks(text, SMALL))


@given(texts)
def test_no_accent_and_no_joined_emoji_is_taken_from_its_letter(text: str) -> None:
    for part in chunks(text, SMALL):
        assert not unicodedata.combining(part[:1] or " ")
        assert not part.startswith("\u200d")


@for_each("text", ["", "short", "五月三日に発売", "x" * 64])
def test_a_short_text_is_its_own_only_part(text: str) -> None:
    assert chunks(text, SMALL) == [text]


def test_parts_end_where_a_sentence_ends_and_begin_where_one_begins() -> None:
    parts = chunks(PROSE, ChunkPolicy(tokens=64, overlap=16))

    assert all(part.startswith("Sentence number") for part in parts)
    assert all(part.endswith(". ") for part in parts)


@pytest.mark.parametrize(
    ("border", "text"),
    [
        ("\n\n", "One line.\nAnother line. A sentence.\n\nA paragraph that goes on. And on."),
        ("\n", "A sentence. One more sentence of it.\nAnother line that goes on. And on."),
        ("。", "今日は会議があります。明日は休みです。来週また会いましょう。"),
    ],
)
def test_the_best_border_there_is_is_taken(border: str, text: str) -> None:
    parts = chunks(text, ChunkPolicy(tokens=16, overlap=0))

    assert len(parts) > 1
    assert parts[0].endswith(border)


def test_parts_are_about_equally_long() -> None:
    lengths = [len(part) for part in chunks("word " * 300, ChunkPolicy(tokens=64, overlap=8))]

    assert max(lengths) < 2 * min(lengths)


def test_neighbours_share_what_is_around_their_border() -> None:
    parts = chunks("".join(map(chr, range(0x4E00, 0x4E00 + 200))), ChunkPolicy(tokens=50, overlap=10))

    assert len(parts) > 3
    assert all(one[-10:] == other[:10] for one, other in pairwise(parts))


def test_a_text_without_end_has_a_bounded_number_of_parts() -> None:
    assert len(chunks("word " * 100_000, ChunkPolicy(tokens=16, overlap=0, most=7))) == 7


def test_scripts_are_counted_by_what_a_model_makes_of_them() -> None:
    assert tokens("a" * 40) == 10
    assert tokens("ж" * 40) == 20
    assert tokens("字" * 40) == 40


@for_each("values", [{"tokens": 15}, {"tokens": 16, "overlap": 8}, {"overlap": -1}, {"most": 0}])
def test_a_policy_that_would_cut_for_ever_is_refused(values: dict[str, int]) -> None:
    with pytest.raises(InvalidInput):
        ChunkPolicy(**values)
