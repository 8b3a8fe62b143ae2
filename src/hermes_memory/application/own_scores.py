"""Text scores of rows that the text leg did not bring: from the words they hold, analysed once."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Mapping
from typing import Final, NamedTuple

from hermes_memory.domain.bm25 import QueryStatistics, bm25
from hermes_memory.domain.coverage import mask_of
from hermes_memory.domain.lexemes import Analyzer, indexed_row
from hermes_memory.domain.model import Row, RowId, Turn

ROWS_KEPT: Final = 8_192


class OwnScore(NamedTuple):
    """The BM25 score of a row, and which of the question's lexemes it holds: bit i stands for the i-th."""

    bm25: float
    held: int


NO_WORDS: Final = OwnScore(0.0, 0)


class OwnScores:
    """Scores rows by BM25. What a row holds is remembered, because analysing costs more than all the rest.

    Of what is indexed of it only the hash is, which tells whether it is another text by now.
    """

    def __init__(self, analyzer: Analyzer) -> None:
        self._analyzer = analyzer
        self._analysed: OrderedDict[RowId, tuple[int, Mapping[str, int], int]] = OrderedDict()

    def score(self, row: Row, statistics: QueryStatistics) -> OwnScore:
        """Return the BM25 score of a row for a query, and which of its lexemes it holds."""
        known = self._analysed.get(row.id)
        indexed = hash((row.content, row.at, row.speaker if isinstance(row, Turn) else None))
        if known is None or known[0] != indexed:
            lexemes = self._analyzer.analyze(indexed_row(row))
            known = self._analysed[row.id] = (indexed, Counter(lexemes), len(lexemes))
            while len(self._analysed) > ROWS_KEPT:
                self._analysed.popitem(last=False)
        _, words, length = known
        if words.keys().isdisjoint(statistics.lexemes):
            return NO_WORDS
        return OwnScore(bm25(words, length, statistics), mask_of(map(words.__contains__, statistics.lexemes)))
