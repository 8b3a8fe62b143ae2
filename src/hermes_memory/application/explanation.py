"""What an explanation says: of the answer as a whole, and of one memory in it or missing from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import Final

from hermes_memory.application.answers import Fate
from hermes_memory.domain.model import Row, RowId, TraceId
from hermes_memory.ports.reading import SearchSpace

_NO_PARTS: Final[Mapping[str, float]] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Word:
    """One lexeme of a question.

    Attributes:
        documents: How many of the searched texts hold it.
        idf: Its weight, above 0: high for a rare one.
    """

    lexeme: str
    documents: int
    idf: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What became of one memory in an answer, and why.

    Where it was a candidate, `score` is `(sum(parts) / ceiling * support ** 3) ** 0.25 * decay + lift`, the ceiling and
    the support being the explanation's, and a sum below 0 counting as 0. Where ranks were fused there is no support,
    and it is `sum(parts) / ceiling * decay + lift`.

    Attributes:
        fate: Returned, or the reason why not.
        because: The same in a sentence.
        row: The memory as it is now, read anew; None when the caller would not read it now.
        changed: Whether it was changed after the question.
        rank: Place among all candidates, from 1.
        score: Final score, 0 to 1.
        parts: What went into it, by name.
        decay: What age left of it, a factor from 0 to 1.
        lift: What was added because it corrects an older memory, or stands for a better-scored copy.
        text_rank: Place in the text leg, from 1; None when that leg did not bring it.
        bm25: Raw text score, 0 or more; None when it holds none of the question's words, or that is not known.
        vector_rank: Place in the vector leg, from 1; None when that leg did not bring it.
        cosine: Cosine to the question, -1 to 1; None when the question or the memory had no vector.
        stands_for: Other candidates with the same text.
        collapsed_into: The candidate that stands for this one.
        superseded_by: A newer candidate that seems to correct this one.
    """

    id: RowId
    fate: Fate
    because: str
    row: Row | None = None
    changed: bool = False
    rank: int | None = None
    score: float | None = None
    parts: Mapping[str, float] = field(default_factory=lambda: _NO_PARTS)
    decay: float = 1.0
    lift: float = 0.0
    text_rank: int | None = None
    bm25: float | None = None
    vector_rank: int | None = None
    cosine: float | None = None
    stands_for: Sequence[RowId] = ()
    collapsed_into: RowId | None = None
    superseded_by: RowId | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """How an answer came about.

    Attributes:
        at: When it was given.
        space: Where was searched.
        limit: Most hits asked for.
        floor: Score below which nothing was returned.
        words: The question's lexemes.
        documents: Texts in the searched space.
        mean_length: Their mean length in lexemes.
        candidates: How many rows each leg found, by its name.
        fates: How many candidates met which fate.
        ceiling: The highest sum of parts there can be.
        support: How much the best candidate has of its own, above what the bulk of the candidates has, 0 to 1: how
            good the answer is as a whole.
        verdicts: The best-ranked candidates.
        left_out: How many more there were.
        timings: Seconds by stage, in one order whichever ended first.
        problems: What degraded the answer, one sentence each.
    """

    id: TraceId
    at: datetime
    space: SearchSpace
    limit: int
    floor: float
    words: tuple[Word, ...]
    documents: int
    mean_length: float
    candidates: Mapping[str, int]
    fates: Mapping[Fate, int]
    ceiling: float
    support: float | None
    verdicts: tuple[Verdict, ...]
    left_out: int
    timings: Mapping[str, float]
    problems: tuple[str, ...]
