"""Joins what the legs of a search say about each candidate into one score.

Scores are fused, not ranks: a text score and a calibrated cosine both say how good a match is, which a rank does not.
Turns also gain from what was said around them, because an answer often stands next to the words of its question.
Entries have no such surroundings; they gain as much as if theirs spoke of the same, so that neither kind crowds out
the other. A row that only asks holds the words of a question and not its answer: it counts less itself, and lends the
turns beside it all it has.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from types import MappingProxyType
from typing import Final, NamedTuple, TypeAlias, TypeVar

from hermes_memory.domain.asking import only_asks
from hermes_memory.domain.bm25 import QueryStatistics, text_score
from hermes_memory.domain.errors import InvalidInput
from hermes_memory.domain.model import Row, RowId, SessionId, Subject, Theme, Turn

RRF_K: Final = 60
_NO_PARTS: Final[Mapping[str, float]] = MappingProxyType({})
_Item = TypeVar("_Item", bound=Hashable)
_SessionKey: TypeAlias = tuple[Theme, Subject | None, SessionId]


class Fusion(StrEnum):
    """How the legs are joined: by their scores, or by reciprocal ranks alone."""

    SCORES = "scores"
    RANKS = "rrf"


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A row that at least one leg found.

    Attributes:
        bm25: Raw BM25 score, or None when the text leg did not find it.
        cosine: Cosine similarity of query and row, -1 to 1, or None when it is not known.
    """

    row: Row
    bm25: float | None = None
    cosine: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """A candidate with its final score.

    Attributes:
        score: 0 to 1, the share of what the best possible row would reach.
        parts: What went into the score, by name, for explanations.
        decay: What age left of the score, a factor from 0 to 1.
        copies: How many rows with the same text it stands for, itself included.
        collapsed: The ids of the other ones.
        superseded_by: A newer row that seems to correct this one, or None.
    """

    row: Row
    score: float
    parts: Mapping[str, float] = field(default_factory=lambda: _NO_PARTS)
    decay: float = 1.0
    copies: int = 1
    collapsed: Sequence[RowId] = ()
    superseded_by: RowId | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CosineCalibration:
    """What a raw cosine of one embedder means: models differ in where unrelated and related texts lie.

    Attributes:
        unrelated: Cosine at and below which two texts have nothing to do with each other.
        related: Cosine at and above which one surely answers the other.

    Raises:
        InvalidInput: The two are not cosines in rising order.
    """

    unrelated: float
    related: float

    def __post_init__(self) -> None:
        if not -1 <= self.unrelated < self.related <= 1:
            raise InvalidInput("a calibration needs -1 <= unrelated < related <= 1", field="calibration")

    def __call__(self, cosine: float | None) -> float:
        """Map a cosine to [0, 1]; None and what is not a number become 0."""
        if cosine is None or math.isnan(cosine):
            return 0.0
        return min(max((cosine - self.unrelated) / (self.related - self.unrelated), 0.0), 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class RankingWeights:
    """How much each signal counts beside the text score, which counts 1.

    The defaults are mild on purpose. Heavier context weights find more in long chats and less among notes and agents'
    sessions.

    Attributes:
        cosine: Weight of the calibrated cosine.
        near: Share of the scores of the turns right before and after.
        far: Share of the scores of the turns two before and two after.
        session: Share of the best text score in the turn's session.
        entry_context: What an entry gains in place of surroundings, as a share of its own score.
        asking: Share of its own score that a row loses which only asks; at most 1.
        half_life: Age at which a row's score is halved, or None for no decay.

    Raises:
        InvalidInput: A weight is negative or not finite, or the half-life is not positive.
    """

    cosine: float = 0.3
    near: float = 0.25
    far: float = 0.15
    session: float = 0.4
    entry_context: float = 0.7
    asking: float = 0.5
    half_life: timedelta | None = None

    def __post_init__(self) -> None:
        weights = (self.cosine, self.near, self.far, self.session, self.entry_context, self.asking)
        if not all(math.isfinite(weight) and weight >= 0 for weight in weights) or self.asking > 1:
            raise InvalidInput("ranking weights are finite and not negative, and asking is at most 1", field="weights")
        if self.half_life is not None and self.half_life <= timedelta(0):
            raise InvalidInput("a half-life is longer than nothing: use None for no decay", field="half_life")

    def ceiling(self, *, with_cosine: bool) -> float:
        """Return the highest score any row can reach before it is divided by this."""
        own = 1 + (self.cosine if with_cosine else 0)
        return max(own * (1 + 2 * self.near + 2 * self.far) + self.session, own * (1 + self.entry_context))


def fuse_scores(
    candidates: Sequence[Candidate],
    statistics: QueryStatistics,
    weights: RankingWeights,
    calibration: CosineCalibration,
    now: datetime,
) -> list[Ranked]:
    """Score each candidate by text, meaning, surroundings and age. One candidate a row; the order is kept.

    Surroundings are those among the candidates: a neighbour that no leg found adds nothing. A row without a cosine
    among others that have theirs waits for its vector: it is taken to mean as much as its words say, or what was kept a
    moment ago would stand below older rows that fit less.
    """
    with_cosine = any(candidate.cosine is not None for candidate in candidates)
    best = statistics.best_bm25
    signals = [
        _signals(text_score(c.bm25, best), c.cosine, weights, calibration, waits=with_cosine) for c in candidates
    ]
    sessions = _sessions(candidates, signals)
    ceiling = weights.ceiling(with_cosine=with_cosine)
    ranked = []
    for candidate, own in zip(candidates, signals, strict=True):
        row = candidate.row
        session = sessions[_session_of(row)] if isinstance(row, Turn) else None
        parts = {"text": own.text, "cosine": own.cosine, **_context(row, own, session, weights)}
        if weights.asking and only_asks(row.content):
            parts["asking"] = -weights.asking * (own.text + own.cosine)
        decay = _decay(row, weights, now)
        ranked.append(Ranked(row=row, score=sum(parts.values()) / ceiling * decay, parts=parts, decay=decay))
    return ranked


class _Signals(NamedTuple):
    """What the legs say about a row itself, weighted."""

    text: float
    cosine: float


def _signals(
    text: float, cosine: float | None, weights: RankingWeights, calibration: CosineCalibration, *, waits: bool
) -> _Signals:
    meaning = text if cosine is None and waits else calibration(cosine)
    return _Signals(text, weights.cosine * meaning)


@dataclass(slots=True)
class _Session:
    """What the candidates of one session have: their own scores by position, and the best text score."""

    own: dict[int, float] = field(default_factory=dict)
    best_text: float = 0.0


def _sessions(candidates: Sequence[Candidate], signals: Sequence[_Signals]) -> dict[_SessionKey, _Session]:
    sessions: defaultdict[_SessionKey, _Session] = defaultdict(_Session)
    for candidate, own in zip(candidates, signals, strict=True):
        if isinstance(candidate.row, Turn):
            session = sessions[_session_of(candidate.row)]
            session.own[candidate.row.position] = own.text + own.cosine
            session.best_text = max(session.best_text, own.text)
    return sessions


def _session_of(turn: Turn) -> _SessionKey:
    return turn.theme, turn.subject, turn.session


def _context(row: Row, own: _Signals, session: _Session | None, weights: RankingWeights) -> dict[str, float]:
    if session is None or not isinstance(row, Turn):
        return {"entry": weights.entry_context * (own.text + own.cosine)}
    at = row.position
    near = session.own.get(at - 1, 0.0) + session.own.get(at + 1, 0.0)
    far = session.own.get(at - 2, 0.0) + session.own.get(at + 2, 0.0)
    return {
        "neighbours": weights.near * near + weights.far * far,
        "session": weights.session * session.best_text,
    }


def _decay(row: Row, weights: RankingWeights, now: datetime) -> float:
    if weights.half_life is None:
        return 1.0
    age = max(now - row.at, timedelta(0))
    return float(0.5 ** (age / weights.half_life))


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
