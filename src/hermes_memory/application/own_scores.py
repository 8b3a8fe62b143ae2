"""Text scores of rows that the text leg did not bring: from the words they hold, analysed once."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Mapping
from typing import Final, NamedTuple

from hermes_memory.domain.bm25 import QueryStatistics, bm25
from hermes_memory.domain.coverage import mask_of
from hermes_memory.domain.lexemes import Analyzer, indexed_row
from hermes_memory.domain.model import Row, RowId

ROWS_KEPT: Final = 8_192


class OwnScore(NamedTuple):
    """The BM25 score of a row, and which of the question's lexemes it holds: bit i stands for the i-th."""

    bm25: float
    held: int


class OwnScores:
    """Scores rows by BM25. What a row holds is remembered, because analysing costs more than all the rest.

    Of its text only the hash is, which tells whether it is another one by now.
    """

    def __init__(self, analyzer: Analyzer) -> None:
        self._analyzer = analyzer
        self._analysed: OrderedDict[RowId, tuple[int, Mapping[str, int], int]] = OrderedDict()

    def score(self, row: Row, statistics: QueryStatistics) -> OwnScore:
        """Return the BM25 score of a row for a query, and which of its lexemes it holds."""
        text = indexed_row(row)
        known, indexed = self._analysed.get(row.id), hash(text)
        if known is None or known[0] != indexed:
            lexemes = self._analyzer.analyze(text)
            known = self._analysed[row.id] = (indexed, Counter(lexemes), len(lexemes))
            while len(self._analysed) > ROWS_KEPT:
                self._analysed.popitem(last=False)
        return OwnScore(bm25(known[1], known[2], statistics), mask_of(map(known[1].__contains__, statistics.lexemes)))
