"""What is asked of recall, what it answers, and what is remembered of how the answer came about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Final, NamedTuple

from hermes_memory.domain.bm25 import QueryStatistics
from hermes_memory.domain.fusion import Ranked
from hermes_memory.domain.lexemes import MAX_QUERY_LEXEMES
from hermes_memory.domain.model import Caller, RowId, SessionId, TraceId
from hermes_memory.domain.trust import AmbientTrust
from hermes_memory.ports.reading import SearchSpace


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallRequest:
    """What is asked.

    Attributes:
        limit: Most hits wanted, from 1.
        timeout: Seconds the answer is worth waiting for.
        floor: Fused score below which nothing is returned; 0 returns everything found. Ranks that are fused say
            nothing about how well anything fits, so it does not hold for them.
        exclude: Contents not to return, such as what the prompt holds already.
        window: The names of the conversation that is going on, and the time since when its turns are still in view:
            those are not returned either.
        unasked: Which memories may be returned when nobody has asked for them; None when somebody has.
    """

    caller: Caller
    query: str
    space: SearchSpace
    limit: int
    timeout: float
    floor: float = 0.0
    exclude: frozenset[str] = frozenset()
    window: tuple[frozenset[SessionId], datetime] | None = None
    unasked: AmbientTrust | None = None


PASTED_FLOOR: Final = 0.1
"""What is left of the floor when a question has more words than count: its answer holds but a few of them."""


def floor_for(request: RecallRequest, lexemes: Sequence[str]) -> float:
    """Return the floor for a question. One with more words than count is mostly what was pasted beside it."""
    return request.floor * PASTED_FLOOR if len(lexemes) >= MAX_QUERY_LEXEMES else request.floor


class Fate(StrEnum):
    """What became of a memory in an answer: returned, or why not."""

    RETURNED = "returned"
    IN_PROMPT = "already in the prompt"
    UNASKED = "only shown when asked for"
    FLOOR = "below the floor"
    LIMIT = "beyond the limit"
    BUDGET = "beyond the token budget"
    COLLAPSED = "collapsed into an equal text"
    GONE = "no longer there"
    UNKNOWN = "no such memory for this caller"
    ELSEWHERE = "outside of what was searched"
    LATER = "stored or changed after the question"
    NOT_EMBEDDED = "not embedded"
    TOO_FAR = "too far in meaning"
    NOT_FOUND = "not among the candidates"


class Placed(NamedTuple):
    """A ranked candidate without its content: which row, how it scored, and what became of it.

    The fields are those of `Ranked`.
    """

    row: RowId
    score: float
    parts: Mapping[str, float]
    decay: float
    collapsed: Sequence[RowId]
    superseded_by: RowId | None
    fate: Fate


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """How an answer came about: ids, scores and ranks, never the content of a memory.

    It outlives what it tells of: a row may be forgotten, or out of the caller's sight, by the time it is looked at.

    Attributes:
        floor: The score below which nothing was returned; 0 where ranks were fused.
        statistics: The question's lexemes, and what the searched texts say about them.
        text: Raw BM25 score of what the text leg found, best first; None when it did not answer.
        near: Cosine of what the vector leg found, nearest first; None when it did not answer.
        cosines: Cosines of rows that only the text leg found.
        vector: The question's, when there was an embedder to make it.
        generation: The embedding generation that it was compared with.
        placed: All candidates in their final order.
        ceiling: What the sum of the parts is divided by.
        support: How much the best row has of its own, above what the bulk of the candidates has, 0 to 1; None without a
            candidate, and where ranks were fused.
        timings: Seconds by stage, in one order whichever ended first.
        problems: What degraded the answer, one sentence each.
    """

    id: TraceId
    at: datetime
    caller: Caller
    space: SearchSpace
    limit: int
    floor: float
    statistics: QueryStatistics
    text: Mapping[RowId, float] | None = None
    near: Mapping[RowId, float] | None = None
    cosines: Mapping[RowId, float] = field(default_factory=dict)
    vector: Sequence[float] | None = field(repr=False)
    generation: int | None
    placed: tuple[Placed, ...] = ()
    ceiling: float
    support: float | None = None
    timings: Mapping[str, float]
    problems: tuple[str, ...]

    @property
    def candidates(self) -> Mapping[str, int]:
        """How many rows each leg found."""
        return {"text": len(self.text or ()), "vector": len(self.near or ())}


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallResult:
    """The answer: ranked rows, best first.

    Attributes:
        degraded: What kept the answer from being complete, one sentence each; empty when nothing did.
        trace_id: Handle by which the answer can be explained while it is remembered.
    """

    hits: tuple[Ranked, ...]
    degraded: tuple[str, ...]
    trace_id: TraceId
