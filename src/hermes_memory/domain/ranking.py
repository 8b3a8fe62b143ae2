"""From what the legs found to what is shown: fuse, collapse, put corrections first, cut."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, assert_never

from hermes_memory.domain.bm25 import QueryStatistics
from hermes_memory.domain.errors import InvalidInput
from hermes_memory.domain.fusion import (
    Candidate,
    CosineCalibration,
    Fusion,
    Ranked,
    RankingWeights,
    fuse_ranks,
    fuse_scores,
)
from hermes_memory.domain.supersession import collapse, corrections_first

DEFAULT_LIMIT: Final = 10
DEFAULT_FLOOR: Final = 0.05
"""For answers that were asked for. Measured on chats: it stops one in ten questions about nothing stored."""
UNASKED_FLOOR: Final = 0.08
"""For what is shown without being asked for. Measured on chats: 95 of 100 true answers score above it, and it stops
one in four questions about nothing stored."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RankingPolicy:
    """How candidates become an answer.

    Attributes:
        weights: What counts how much under `Fusion.SCORES`.
        fusion: How the legs are joined.
        floor: Score below which a row is not shown, 0 to 1. It holds for `Fusion.SCORES`: ranks say nothing about
            how well anything fits.

    Raises:
        InvalidInput: The floor is not between 0 and 1.
    """

    weights: RankingWeights = field(default_factory=RankingWeights)
    fusion: Fusion = Fusion.SCORES
    floor: float = DEFAULT_FLOOR

    def __post_init__(self) -> None:
        if not 0 <= self.floor <= 1:
            raise InvalidInput("a floor lies between 0 and 1", field="floor")


def rank(
    candidates: Sequence[Candidate],
    statistics: QueryStatistics,
    calibration: CosineCalibration,
    now: datetime,
    *,
    policy: RankingPolicy | None = None,
    limit: int = DEFAULT_LIMIT,
) -> list[Ranked]:
    """Return the best candidates, best first: by score, then the newer, then by id.

    Args:
        candidates: What the legs found, one candidate a row, in any order.
        statistics: The query and the texts it was searched in.
        calibration: That of the embedder the cosines come from.
        now: The time against which ages are measured (aware).
        policy: Weights, fusion and floor; the defaults when None.
        limit: How many rows at most, at least 0.
    """
    policy = policy or RankingPolicy()
    floor = policy.floor if policy.fusion is Fusion.SCORES else 0.0
    shown = [hit for hit in order(candidates, statistics, calibration, now, policy) if hit.score >= floor]
    return shown[: max(limit, 0)]


def order(
    candidates: Sequence[Candidate],
    statistics: QueryStatistics,
    calibration: CosineCalibration,
    now: datetime,
    policy: RankingPolicy,
) -> list[Ranked]:
    """Return every distinct candidate in order, also those below the floor: what an explanation needs to see."""
    match policy.fusion:
        case Fusion.SCORES:
            fused = fuse_scores(candidates, statistics, policy.weights, calibration, now)
        case Fusion.RANKS:
            fused = fuse_ranks(candidates)
        case _:
            assert_never(policy.fusion)
    return corrections_first(collapse(fused), asked=frozenset(statistics.lexemes))
