"""Joins the legs of a search by ranks alone, for whom scores of different kinds are not to be compared."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Final, TypeVar

from hermes_memory.domain.fusion import Candidate, Ranked
from hermes_memory.domain.model import RowId

RRF_K: Final = 60
_Item = TypeVar("_Item", bound=Hashable)


def reciprocal_rank_fusion(rankings: Iterable[Sequence[_Item]], k: int = RRF_K) -> dict[_Item, float]:
    """Fuse rankings by the sum of 1 / (k + rank), rank counting from 1, divided by what first place in all would give.

    Source: Cormack, Clarke and Büttcher, "Reciprocal Rank Fusion outperforms Condorcet and individual Rank Learning
    Methods" (2009).

    Returns:
        A score in (0, 1] for each item that is in any of the rankings. Empty rankings do not count.

    Example:
        >>> reciprocal_rank_fusion([["a", "b"], ["a"]])["a"]
        1.0
    """
    filled = [ranking for ranking in rankings if ranking]
    scores: dict[_Item, float] = {}
    for ranking in filled:
        for rank, item in enumerate(dict.fromkeys(ranking), start=1):
            scores[item] = scores.get(item, 0.0) + (k + 1) / (k + rank) / len(filled)
    return {item: min(score, 1.0) for item, score in scores.items()}


def fuse_ranks(candidates: Sequence[Candidate]) -> list[Ranked]:
    """Score each candidate by reciprocal rank fusion of the text leg and the vector leg. The order is kept."""
    by_text = _leg(candidates, {c.row.id: c.bm25 for c in candidates})
    by_cosine = _leg(candidates, {c.row.id: c.cosine for c in candidates})
    scores = reciprocal_rank_fusion([by_text, by_cosine])
    return [
        Ranked(row=c.row, score=score, parts={"rrf": score})
        for c in candidates
        for score in (scores.get(c.row.id, 0.0),)
    ]


def _leg(candidates: Sequence[Candidate], scores: Mapping[RowId, float | None]) -> list[RowId]:
    found = {row: score for row, score in scores.items() if score is not None and not math.isnan(score)}
    order = sorted(candidates, key=lambda c: (-found.get(c.row.id, 0.0), -c.row.at.timestamp(), c.row.id))
    return [c.row.id for c in order if c.row.id in found]
