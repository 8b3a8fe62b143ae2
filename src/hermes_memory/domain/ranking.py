"""From what the legs found to their order: fuse, collapse, put corrections first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, assert_never

from hermes_memory.domain.asking import read
from hermes_memory.domain.bm25 import QueryStatistics
from hermes_memory.domain.fusion import Candidate, Fusion, Ranked, fuse_scores
from hermes_memory.domain.rank_fusion import fuse_ranks
from hermes_memory.domain.supersession import collapse, corrections_first
from hermes_memory.domain.weights import CosineCalibration, RankingWeights

DEFAULT_FLOOR: Final = 0.15
"""For answers that were asked for. Measured with the default embedder: 96 of 100 true answers score above it, and it
stops eight in ten questions about nothing stored."""
UNASKED_FLOOR: Final = 0.18
"""For what is shown without being asked for. Measured with the default embedder: 94 of 100 true answers score above it,
and it stops nine in ten questions about nothing stored."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RankingPolicy:
    """How candidates become an answer.

    Attributes:
        weights: What counts how much under `Fusion.SCORES`.
        fusion: How the legs are joined.
    """

    weights: RankingWeights = field(default_factory=RankingWeights)
    fusion: Fusion = Fusion.SCORES


def order(
    candidates: Sequence[Candidate],
    statistics: QueryStatistics,
    calibration: CosineCalibration,
    now: datetime,
    policy: RankingPolicy,
    *,
    question: str = "",
) -> list[Ranked]:
    """Return every distinct candidate, best first: by score, then the newer, then by id.

    Args:
        candidates: What the legs found, one candidate a row, in any order.
        statistics: The query and the texts it was searched in.
        calibration: That of the embedder the cosines come from.
        now: The time against which ages are measured (aware).
        policy: Weights and fusion.
        question: As it was asked: whether it asks for a time or a number, and whom it names, counts as well.
    """
    match policy.fusion:
        case Fusion.SCORES:
            fused = fuse_scores(candidates, statistics, policy.weights, calibration, now, asked=read(question))
        case Fusion.RANKS:
            fused = fuse_ranks(candidates)
        case _:
            assert_never(policy.fusion)
    return corrections_first(collapse(fused), asked=statistics.lexemes)
