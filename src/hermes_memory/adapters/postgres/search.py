"""The two legs of recall on Postgres."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager

from hermes_memory.adapters.postgres.errors import translated
from hermes_memory.adapters.postgres.looking import Looking
from hermes_memory.adapters.postgres.pool import Pool
from hermes_memory.adapters.postgres.text_search import POSTINGS_BUDGET, TextSearch
from hermes_memory.adapters.postgres.vector_plan import EXACT_ROWS
from hermes_memory.adapters.postgres.vector_search import VectorSearch
from hermes_memory.domain.errors import DeadlineExceeded
from hermes_memory.domain.model import Caller, RowId
from hermes_memory.ports.reading import SearchSpace, TextMatches, VectorHit


class PostgresSearch:
    """`Search` on Postgres.

    Args:
        pool: Connections of the runtime role.
        postings_budget: Postings read for one query, about; half a microsecond each.
        exact_rows: Rows of a space up to which every distance is computed.
    """

    def __init__(self, pool: Pool, *, postings_budget: int = POSTINGS_BUDGET, exact_rows: int = EXACT_ROWS) -> None:
        self._pool = pool
        self._text = TextSearch(budget=postings_budget)
        self._vectors = VectorSearch(exact_rows=exact_rows)

    @asynccontextmanager
    async def look(self, caller: Caller, *, timeout: float) -> AsyncIterator[PostgresLook]:
        """Open a look for a caller; see `Search.look`."""
        async with Looking(self._pool, caller, timeout=timeout) as looking:
            yield PostgresLook(looking, self._text, self._vectors)

    async def by_text(
        self, caller: Caller, space: SearchSpace, lexemes: Sequence[str], *, limit: int, timeout: float
    ) -> TextMatches:
        """Find rows that hold any of the lexemes; see `Search.by_text`."""
        async with self.look(caller, timeout=timeout) as look:
            return await look.by_text(space, lexemes, limit=limit)

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
        async with self.look(caller, timeout=timeout) as look:
            return await look.by_vector(space, vector, limit=limit, generation=generation)

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
        async with self.look(caller, timeout=timeout) as look:
            return await look.cosines(rows, vector, generation=generation)


class PostgresLook:
    """`Look` on Postgres: all that is asked is asked in one transaction.

    What the driver raises is translated here as well, so that it reaches nobody within the block of the look.
    """

    def __init__(self, looking: Looking, text: TextSearch, vectors: VectorSearch) -> None:
        self._looking = looking
        self._text = text
        self._vectors = vectors

    async def by_text(self, space: SearchSpace, lexemes: Sequence[str], *, limit: int) -> TextMatches:
        """Find rows that hold any of the lexemes; see `Search.by_text`."""
        with translated(DeadlineExceeded):
            return await self._text.find(self._looking, space, lexemes, limit=limit)

    async def by_vector(
        self, space: SearchSpace, vector: Sequence[float], *, limit: int, generation: int | None = None
    ) -> Sequence[VectorHit]:
        """Find the rows nearest to a vector; see `Search.by_vector`."""
        with translated(DeadlineExceeded):
            return await self._vectors.find(self._looking, space, vector, limit=limit, generation=generation)

    async def cosines(
        self, rows: Collection[RowId], vector: Sequence[float], *, generation: int | None = None
    ) -> Mapping[RowId, float]:
        """Return the cosines of rows; see `Search.cosines`."""
        with translated(DeadlineExceeded):
            return await self._vectors.cosines(self._looking, rows, vector, generation=generation)
