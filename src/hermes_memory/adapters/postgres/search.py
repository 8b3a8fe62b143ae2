"""The two legs of recall on Postgres."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from hermes_memory.adapters.postgres.pool import Pool
from hermes_memory.adapters.postgres.text_search import POSTINGS_BUDGET, TextSearch
from hermes_memory.adapters.postgres.vector_plan import EXACT_ROWS
from hermes_memory.adapters.postgres.vector_search import VectorSearch
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
        self._text = TextSearch(pool, budget=postings_budget)
        self._vectors = VectorSearch(pool, exact_rows=exact_rows)

    async def by_text(
        self, caller: Caller, space: SearchSpace, lexemes: Sequence[str], *, limit: int, timeout: float
    ) -> TextMatches:
        """Find rows that hold any of the lexemes; see `Search.by_text`."""
        return await self._text.find(caller, space, lexemes, limit=limit, timeout=timeout)

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
        return await self._vectors.find(caller, space, vector, limit=limit, timeout=timeout, generation=generation)

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
        return await self._vectors.cosines(caller, rows, vector, timeout=timeout, generation=generation)
