"""Okapi BM25 over documents that are all at hand."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Final

K1: Final = 0.9
B: Final = 0.4


@dataclass(frozen=True, slots=True, kw_only=True)
class Corpus:
    """What BM25 has to know of the searched documents as a whole.

    Attributes:
        documents: Their number, 0 or more.
        mean_length: Lexemes in a document, 0 when there is none.
        frequencies: How many documents hold each lexeme of the query.
    """

    documents: int
    mean_length: float
    frequencies: Counter[str]

    @classmethod
    def of(cls, documents: Collection[Counter[str]], lexemes: Iterable[str]) -> Corpus:
        """Count documents, each given as its lexemes with their number."""
        return cls(
            documents=len(documents),
            mean_length=sum(document.total() for document in documents) / len(documents) if documents else 0.0,
            frequencies=Counter({lexeme: sum(lexeme in document for document in documents) for lexeme in set(lexemes)}),
        )

    def score(self, document: Counter[str]) -> float:
        """Score a document of the corpus: Robertson and Zaragoza 2009, with the idf that is never negative."""
        norm = K1 * (1 - B + B * document.total() / self.mean_length)
        return sum(
            self._idf(frequency) * document[lexeme] * (K1 + 1) / (document[lexeme] + norm)
            for lexeme, frequency in self.frequencies.items()
            if document[lexeme]
        )

    def _idf(self, frequency: int) -> float:
        return math.log(1 + (self.documents - frequency + 0.5) / (frequency + 0.5))
