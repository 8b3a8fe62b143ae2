"""Search over an in-memory store: both legs exact, by looking at every row."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from operator import mul

from hermes_memory.adapters.inmemory.records import Records
from hermes_memory.domain.bm25 import QueryStatistics, bm25
from hermes_memory.domain.coverage import mask_of
from hermes_memory.domain.errors import InvalidInput
from hermes_memory.domain.model import Caller, CurrentScope, Entry, Row, RowId, Scope, SessionScope
from hermes_memory.domain.visibility import in_scope
from hermes_memory.ports.reading import SearchSpace, TextHit, TextMatches, VectorHit


class InMemorySearch:
    """`Search` over rows in memory. The time allowed is not watched: nothing here waits."""

    def __init__(self, records: Records) -> None:
        self._records = records

    @asynccontextmanager
    async def look(self, caller: Caller, *, timeout: float) -> AsyncIterator[InMemoryLook]:
        """Open a look for a caller; see `Search.look`."""
        yield InMemoryLook(self, caller, timeout)

    async def by_text(
        self, caller: Caller, space: SearchSpace, lexemes: Sequence[str], *, limit: int, timeout: float
    ) -> TextMatches:
        """Find rows that hold any of the lexemes; see `Search.by_text`."""
        counted = self._rows(caller, space, _without_session(space.scope))
        statistics = self._statistics(counted, lexemes)
        hits = [
            TextHit(row=row, bm25=score, held=self._held(row, statistics.lexemes))
            for row in counted
            if _asked_for(row, caller, space) and (score := self._bm25(row, statistics)) is not None
        ]
        hits.sort(key=lambda hit: hit.bm25, reverse=True)
        return TextMatches(
            hits=hits[:limit],
            documents=statistics.documents,
            mean_length=statistics.average_length,
            document_frequencies=statistics.frequencies,
        )

    async def by_vector(
        self,
        caller: Caller,
        space: SearchSpace,
        vector: Sequence[float],
        *,
        limit: int,
        timeout: float,
        generation: int | None = None,
    ) -> Sequence[VectorHit]:
        """Find the rows nearest to a vector; see `Search.by_vector`."""
        self._require(generation)
        hits = [
            VectorHit(row=row, cosine=cosine)
            for row in self._rows(caller, space, space.scope)
            if _asked_for(row, caller, space) and (cosine := self._cosine(row.id, vector)) is not None
        ]
        hits.sort(key=lambda hit: hit.cosine, reverse=True)
        return hits[:limit]

    async def cosines(
        self,
        caller: Caller,
        rows: Collection[RowId],
        vector: Sequence[float],
        *,
        timeout: float,
        generation: int | None = None,
    ) -> Mapping[RowId, float]:
        """Return the cosines of rows; see `Search.cosines`."""
        self._require(generation)
        wanted = set(rows)
        return {
            row.id: cosine
            for row in self._records.visible_rows(caller)
            if row.id in wanted and (cosine := self._cosine(row.id, vector)) is not None
        }

    def _require(self, generation: int | None) -> None:
        kept = self._records.in_use
        if generation is not None and (kept is None or kept.generation.number != generation):
            raise InvalidInput("these vectors are not kept any more", field="generation")

    def _rows(self, caller: Caller, space: SearchSpace, scope: Scope) -> Sequence[Row]:
        return [
            row
            for row in self._records.visible_rows(caller, space.kinds)
            if in_scope(row.theme, row.subject, row.session, caller, scope)
        ]

    def _statistics(self, rows: Sequence[Row], lexemes: Sequence[str]) -> QueryStatistics:
        documents = [self._records.lexemes[row.id] for row in rows]
        distinct = tuple(dict.fromkeys(lexemes))
        return QueryStatistics(
            lexemes=distinct,
            documents=len(documents),
            average_length=sum(document.total() for document in documents) / len(documents) if documents else 0.0,
            frequencies={lexeme: sum(lexeme in document for document in documents) for lexeme in distinct},
        )

    def _bm25(self, row: Row, statistics: QueryStatistics) -> float | None:
        document = self._records.lexemes[row.id]
        if document.keys().isdisjoint(statistics.lexemes):
            return None
        return bm25(document, document.total(), statistics)

    def _held(self, row: Row, lexemes: Sequence[str]) -> int:
        return mask_of(lexeme in self._records.lexemes[row.id] for lexeme in lexemes)

    def _cosine(self, row: RowId, vector: Sequence[float]) -> float | None:
        """Return the cosine of a row's best part."""
        kept = self._records.in_use
        parts = [part for part in (kept.vectors.get(row, ()) if kept else ()) if len(part) == len(vector)]
        cosines = [cosine for part in parts if (cosine := _cosine(part, vector)) is not None]
        return max(cosines, default=None)


class InMemoryLook:
    """`Look` over rows in memory."""

    def __init__(self, search: InMemorySearch, caller: Caller, timeout: float) -> None:
        self._search = search
        self._caller = caller
        self._timeout = timeout

    async def by_text(self, space: SearchSpace, lexemes: Sequence[str], *, limit: int) -> TextMatches:
        """Find rows that hold any of the lexemes; see `Search.by_text`."""
        return await self._search.by_text(self._caller, space, lexemes, limit=limit, timeout=self._timeout)

    async def by_vector(
        self, space: SearchSpace, vector: Sequence[float], *, limit: int, generation: int | None = None
    ) -> Sequence[VectorHit]:
        """Find the rows nearest to a vector; see `Search.by_vector`."""
        return await self._search.by_vector(
            self._caller, space, vector, limit=limit, timeout=self._timeout, generation=generation
        )

    async def cosines(
        self, rows: Collection[RowId], vector: Sequence[float], *, generation: int | None = None
    ) -> Mapping[RowId, float]:
        """Return the cosines of rows; see `Search.cosines`."""
        return await self._search.cosines(self._caller, rows, vector, timeout=self._timeout, generation=generation)


def _cosine(one: Sequence[float], other: Sequence[float]) -> float | None:
    lengths = math.hypot(*one) * math.hypot(*other)
    return sum(map(mul, one, other)) / lengths if lengths else None


def _without_session(scope: Scope) -> Scope:
    """Widen a session to its theme: statistics are kept by theme and subject."""
    return CurrentScope() if isinstance(scope, SessionScope) else scope


def _asked_for(row: Row, caller: Caller, space: SearchSpace) -> bool:
    if isinstance(row, Entry) and space.target not in {None, row.target}:
        return False
    return in_scope(row.theme, row.subject, row.session, caller, space.scope)
