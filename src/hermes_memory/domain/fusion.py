"""Joins what the legs of a search say about each candidate into one score.

Scores are fused, not ranks: the share of the question's words and a calibrated cosine both say how well a row fits,
which a rank does not. A turn also has what was said around it, because an answer often stands next to the words of its
question. An entry has no surroundings and is taken as its own, so that neither kind crowds out the other.

How good the answer is as a whole is another matter than which row of it is best: it is told by the row that has most of
its own, above what the bulk of the found rows has in meaning (see `hermes_memory.domain.support`). A score is a
geometric mean of the two, so that a row stands out only in an answer that has something to stand on. That retrieval
shows by its own scores whether it found anything is the ground of query performance prediction (Carmel and Yom-Tov,
"Estimating the Query Difficulty for Information Retrieval", 2010).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from types import MappingProxyType
from typing import Final, NamedTuple, TypeAlias

from hermes_memory.domain.asking import NOTHING, Asked, only_asks
from hermes_memory.domain.bm25 import QueryStatistics
from hermes_memory.domain.coverage import Covered, Place, coverage
from hermes_memory.domain.model import Kind, Row, RowId, SessionId, Subject, Theme, Turn, kind_of
from hermes_memory.domain.support import Evened, raised
from hermes_memory.domain.telling import tells_number, tells_time
from hermes_memory.domain.weights import CosineCalibration, RankingWeights, best_own

_NO_PARTS: Final[Mapping[str, float]] = MappingProxyType({})
_LONG: Final = 240
"""Bytes of a text of some forty words, which says enough to answer."""
_OTHERS_NEAR: Final = (-2, 1, 2)
_SessionKey: TypeAlias = tuple[Theme, Subject | None, SessionId]


class Fusion(StrEnum):
    """How the legs are joined: by their scores, or by reciprocal ranks alone."""

    SCORES = "scores"
    RANKS = "rrf"


class Candidate(NamedTuple):
    """A row that at least one leg found. A tuple, because every answer makes some hundreds.

    Attributes:
        bm25: Raw BM25 score, or None when the text leg did not find it.
        held: Which of the question's lexemes it holds: bit i stands for the i-th. 0 when that is not known: then its
            words are scored by `bm25` alone.
        cosine: Cosine similarity of query and row, -1 to 1, or None when it is not known.
    """

    row: Row
    bm25: float | None = None
    held: int = 0
    cosine: float | None = None


class Ranked(NamedTuple):
    """A candidate with its final score. A tuple, as `Candidate` is.

    Attributes:
        row: The entry or the turn, with all that is kept of it.
        score: 0 to 1; see `score_of`.
        parts: What went into the score, by name, for explanations.
        decay: What age left of the score, a factor from 0 to 1.
        support: How much the best row of the answer has of its own, above what the bulk of the found rows has, 0 to 1;
            None where ranks were fused.
        copies: How many rows with the same text it stands for, itself included.
        collapsed: The ids of the other ones.
        superseded_by: A newer row that seems to correct this one, or None.
    """

    row: Row
    score: float
    parts: Mapping[str, float] = _NO_PARTS
    decay: float = 1.0
    support: float | None = None
    copies: int = 1
    collapsed: Sequence[RowId] = ()
    superseded_by: RowId | None = None

    @property
    def id(self) -> RowId:
        """The id of the row."""
        return self.row.id

    @property
    def kind(self) -> Kind:
        """Whether it is an entry or a turn."""
        return kind_of(self.row)

    @property
    def content(self) -> str:
        """What was kept, word for word."""
        return self.row.content

    @property
    def at(self) -> datetime:
        """When it was said or became true (aware, UTC)."""
        return self.row.at


def score_of(parts: Mapping[str, float], *, ceiling: float, support: float | None, decay: float) -> float:
    """Return the score that parts make: (their sum / ceiling · support³)^¼ · decay, or without a support no root of it.

    The support weighs three times as much as the fit of a row, because something always fits a little: a question that
    asks for a number makes every row with a number in it fit better.

    Example:
        >>> score_of({"text": 0.75, "cosine": 0.5}, ceiling=2.5, support=0.5, decay=0.5)
        0.25
    """
    fit = max(sum(parts.values()), 0.0) / ceiling
    return (fit if support is None else math.sqrt(math.sqrt(fit * support**3))) * decay


def fuse_scores(
    candidates: Sequence[Candidate],
    statistics: QueryStatistics,
    weights: RankingWeights,
    calibration: CosineCalibration,
    now: datetime,
    *,
    asked: Asked = NOTHING,
) -> list[Ranked]:
    """Score each candidate by words, meaning, surroundings and age. One candidate a row; the order is kept.

    Surroundings are those among the candidates: a neighbour that no leg found adds nothing. A row without a cosine
    among others that have theirs waits for its vector: it is taken to mean as much as its words say, or what was kept a
    moment ago would stand below older rows that fit less.
    """
    with_cosine = any(candidate.cosine is not None for candidate in candidates)
    places = _places(candidates)
    found = [(bm25, held, place) for (_, bm25, held, _), place in zip(candidates, places, strict=True)]
    covered = coverage(found, statistics, weights.beside)
    signals = _signals(candidates, covered, calibration, with_cosine=with_cosine)
    talks = _talks(places, signals)
    best = max((one.own for one in signals), default=0.0)
    hints = _Hints(weights, best, asked, asked.names({_speaker(candidate.row) for candidate in candidates}))
    support = _support(candidates, statistics, signals, calibration, with_cosine=with_cosine)
    ceiling = weights.ceiling(with_cosine=with_cosine)
    ranked = []
    for candidate, place, one in zip(candidates, places, signals, strict=True):
        row = candidate.row
        parts = {"text": weights.words * one.words, "cosine": weights.cosine * one.meaning}
        if place is None:
            parts["entry"] = weights.session * one.session + weights.entry_cosine * one.meaning
        else:
            _add_surroundings(parts, one, talks[place[0]], place[1], weights)
        hints.add(parts, row, asks=one.asks)
        decay = 1.0 if weights.half_life is None else _decay(row, weights.half_life, now)
        score = min(score_of(parts, ceiling=ceiling, support=support, decay=decay), 1.0)
        ranked.append(Ranked(row, score, parts, decay, support))
    return ranked


def _support(
    candidates: Sequence[Candidate],
    statistics: QueryStatistics,
    signals: Sequence[_Signals],
    calibration: CosineCalibration,
    *,
    with_cosine: bool,
) -> float:
    """Return what the best row has of its own as a share of the most there can be, above what the bulk has."""
    above = raised(calibration, [candidate.cosine for candidate in candidates], statistics.documents)
    evened = Evened(statistics)
    best = 0.0
    for candidate, one in zip(candidates, signals, strict=True):
        words = min(one.words * evened[candidate.held], 1.0)
        meaning = 0.0
        if with_cosine:  # what waits for its vector is taken to mean what its words say
            meaning = words if candidate.cosine is None else above(candidate.cosine)
        best = max(best, words + meaning)
    return best / best_own(with_cosine=with_cosine)


class _Signals(NamedTuple):
    """What the legs say about a row, each 0 to 1: its words, those with its surroundings', its meaning.

    Attributes:
        own: What it has of its own, 0 to 2.
    """

    words: float
    around: float
    session: float
    meaning: float
    own: float
    asks: bool


_Talk: TypeAlias = dict[int, _Signals]
"""The found turns of one session by their positions."""


def _signals(
    candidates: Sequence[Candidate], covered: Sequence[Covered], calibration: CosineCalibration, *, with_cosine: bool
) -> list[_Signals]:
    signals = []
    for (row, _, _, cosine), (own, around, session) in zip(candidates, covered, strict=True):
        meaning = own if cosine is None and with_cosine else calibration(cosine)
        signals.append(_Signals(own, around, session, meaning, own + meaning, only_asks(row.content)))
    return signals


def _places(candidates: Sequence[Candidate]) -> list[Place | None]:
    numbers: dict[_SessionKey, int] = {}
    places: list[Place | None] = []
    for candidate in candidates:
        row = candidate.row
        if isinstance(row, Turn):
            number = numbers.setdefault((row.theme, row.subject, row.session), len(numbers))
            places.append((number, row.position))
        else:
            places.append(None)
    return places


def _talks(places: Sequence[Place | None], signals: Sequence[_Signals]) -> Mapping[int, _Talk]:
    talks: defaultdict[int, _Talk] = defaultdict(dict)
    for place, one in zip(places, signals, strict=True):
        if place is not None:
            talks[place[0]][place[1]] = one
    return talks


def _add_surroundings(
    parts: dict[str, float], one: _Signals, talk: _Talk, position: int, weights: RankingWeights
) -> None:
    before, near = None, 0.0
    if len(talk) > 1:
        before = talk.get(position - 1)
        near = 0.0 if before is None else before.meaning
        for step in _OTHERS_NEAR:
            said = talk.get(position + step)
            if said is not None:
                near += said.meaning
    parts["neighbours"] = weights.words * (one.around - one.words) + weights.near_cosine * near
    parts["session"] = weights.session * one.session
    if before is not None and before.asks:
        parts["answering"] = weights.answering * before.own


class _Hints:
    """What speaks for a row beside its words and meaning, in shares of what the best row has of its own."""

    __slots__ = ("_asking", "_length", "_named", "_number", "_speaker", "_time")

    def __init__(self, weights: RankingWeights, best: float, asked: Asked, named: frozenset[str]) -> None:
        self._length = best * weights.length
        self._speaker = best * weights.speaker
        self._asking = -best * weights.asking
        self._named = named
        self._time = best * weights.time if asked.time else None
        self._number = best * weights.number if asked.number else None

    def add(self, parts: dict[str, float], row: Row, *, asks: bool) -> None:
        content = row.content
        parts["length"] = self._length * _length(content)
        if self._named and _speaker(row) in self._named:
            parts["speaker"] = self._speaker
        if self._time is not None and tells_time(content):
            parts["time"] = self._time
        if self._number is not None and tells_number(content):
            parts["number"] = self._number
        if asks:
            parts["asking"] = self._asking


def _length(content: str) -> float:
    # No character takes less than a byte.
    if len(content) >= _LONG:
        return 1.0
    return len(content) / _LONG if content.isascii() else min(len(content.encode()) / _LONG, 1.0)


def _speaker(row: Row) -> str:
    return (row.speaker or "") if isinstance(row, Turn) else ""


def _decay(row: Row, half_life: timedelta, now: datetime) -> float:
    age = max(now - row.at, timedelta(0))
    return float(0.5 ** (age / half_life))
