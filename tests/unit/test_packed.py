"""Answers in the form in which they are remembered say what they said, and are few objects."""

from __future__ import annotations

import gc
from enum import Enum
from uuid import uuid4

from hypothesis import given
from hypothesis import strategies as st
from tests.support.ranking_rows import entry

from hermes_memory.application.answers import Fate, Placed
from hermes_memory.application.packed import PackedPlaces, PackedScores
from hermes_memory.domain.fusion import Ranked
from hermes_memory.domain.model import RowId

NUMBERS = st.floats(0, 1)
IDS = st.uuids().map(RowId)
NAMES = st.sampled_from(["text", "cosine", "entry", "neighbours", "length", "asking"])
PLACED = st.builds(
    Placed,
    IDS,
    NUMBERS,
    st.dictionaries(NAMES, NUMBERS),
    NUMBERS,
    st.lists(IDS, max_size=2).map(tuple),
    st.none() | IDS,
    st.sampled_from(Fate),
)


def packed(placed: list[Placed], *withheld: RowId) -> PackedPlaces:
    ranked = [
        Ranked(
            row=entry(one.row.int),
            score=one.score,
            parts=one.parts,
            decay=one.decay,
            collapsed=one.collapsed,
            superseded_by=one.superseded_by,
        )
        for one in placed
    ]
    return PackedPlaces.of(ranked, [one.fate for one in placed], withheld)


@given(st.lists(PLACED), st.lists(IDS, max_size=2))
def test_candidates_are_remembered_as_they_were(placed: list[Placed], withheld: list[RowId]) -> None:
    remembered = list(packed(placed, *withheld).unpacked())

    assert remembered[: len(placed)] == placed
    assert [list(one.parts) for one in remembered[: len(placed)]] == [list(one.parts) for one in placed]
    assert [(one.row, one.fate) for one in remembered[len(placed) :]] == [(row, Fate.UNASKED) for row in withheld]


@given(st.dictionaries(IDS, NUMBERS))
def test_the_scores_of_a_leg_are_remembered_in_their_order(scores: dict[RowId, float]) -> None:
    remembered = PackedScores(scores, scores.values()).unpacked()

    assert list(remembered.items()) == list(scores.items())


def test_a_remembered_answer_is_few_objects_to_the_garbage_collector() -> None:
    parts = {"text": 0.5, "cosine": 0.25}
    placed = [Placed(RowId(uuid4()), 0.5, {**parts}, 1.0, (), None, Fate.FLOOR) for _ in range(300)]
    remembered = packed(placed), PackedScores([one.row for one in placed], [one.score for one in placed])
    gc.collect()  # which lets go of tuples that hold nothing it would have to look through

    assert len(_looked_through(placed)) > 600
    assert len(_looked_through(remembered)) < 30
    assert len(remembered[0].fates) == 300


def _looked_through(value: object) -> set[int]:
    """Return the addresses of what the garbage collector visits from a value on, without what programs consist of."""
    found: set[int] = set()
    ahead = [value]
    while ahead:
        one = ahead.pop()
        if gc.is_tracked(one) and not isinstance(one, (type, Enum)) and id(one) not in found:
            found.add(id(one))
            ahead += gc.get_referents(one)
    return found
