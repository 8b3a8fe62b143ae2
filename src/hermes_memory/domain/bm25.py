"""BM25: how well the words of a text fit the words of a query.

Formula: Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009), with the idf that
cannot become negative, ln(1 + (N - df + 0.5) / (df + 0.5)), N being at least `FEWEST_DOCUMENTS`. k1 = 0.9 and b = 0.4
suit short texts: notes and single messages repeat few words and differ little in length.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from hermes_memory.domain.errors import InvalidInput

K1: Final = 0.9
B: Final = 0.4
FEWEST_DOCUMENTS: Final = 50
"""N is taken for at least this many. Among three notes every word looks common: one that is found would weigh next to
nothing beside the words of the question that are not, and a new memory would answer nobody."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryStatistics:
    """What the searched texts say about the words of one query.

    Attributes:
        lexemes: The query's lexemes. They are distinct: each has one place, and one weight.
        documents: Number of texts searched in, at least 0.
        average_length: Mean number of lexemes in them, with repetition.
        frequencies: In how many of them a lexeme occurs; a missing lexeme occurs in none.
        weights: The idf of each of the query's lexemes, in their order.

    Raises:
        InvalidInput: A number is negative or not finite.
    """

    lexemes: tuple[str, ...]
    documents: int
    average_length: float
    frequencies: Mapping[str, int]
    weights: Mapping[str, float] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.documents < 0 or not (math.isfinite(self.average_length) and self.average_length >= 0):
            raise InvalidInput("document statistics cannot be negative", field="documents")
        object.__setattr__(self, "weights", {lexeme: self.idf(lexeme) for lexeme in self.lexemes})

    def idf(self, lexeme: str) -> float:
        """Return the weight of a lexeme: high for a rare one, above 0 for every one."""
        # Statistics may be read a moment apart from each other, so that a lexeme seems to occur in more than all.
        df = min(max(self.frequencies.get(lexeme, 0), 0), self.documents)
        return math.log(1 + (max(self.documents, FEWEST_DOCUMENTS) - df + 0.5) / (df + 0.5))

    @property
    def best_bm25(self) -> float:
        """The score no text can exceed: every lexeme, each endlessly often. Lexemes that occur nowhere count too."""
        return sum(self.weights.values()) * (K1 + 1)


def bm25(counts: Mapping[str, int], length: int, statistics: QueryStatistics) -> float:
    """Score a text for a query.

    Args:
        counts: How often each lexeme occurs in the text.
        length: Number of lexemes in the text, with repetition.
        statistics: The query and the texts it is searched in.

    Returns:
        A value between 0 and `statistics.best_bm25`.
    """
    norm = K1 * (1 - B + B * length / statistics.average_length) if statistics.average_length else K1
    score = 0.0
    for lexeme, idf in statistics.weights.items():
        count = counts.get(lexeme, 0)
        if count > 0:
            score += idf * count * (K1 + 1) / (count + norm)
    return score


def text_score(score: float | None, best: float) -> float:
    """Map a BM25 score to [0, 1], comparable between queries: its share of `QueryStatistics.best_bm25`.

    Without a score, and for a score that is not a number, it is 0.
    """
    share = score / best if score is not None and best > 0 else 0.0
    if share > 0:  # as what is not a number is not
        return share if share < 1 else 1.0
    return 0.0
