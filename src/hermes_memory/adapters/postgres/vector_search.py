"""The vector leg: exact where that is quick, through the graph where it is not. The plan depends on sizes alone."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, LiteralString, TypeGuard

from hermes_memory.adapters.postgres.pool import Pool, Transaction
from hermes_memory.adapters.postgres.rows import own_subjects, persons, row_id_of, row_of
from hermes_memory.adapters.postgres.spaces import shelves, theme_of
from hermes_memory.adapters.postgres.vector_plan import (
    EXACT_ROWS,
    PARTS_A_ROW,
    Sizes,
    Walk,
    is_whole,
    walk,
)
from hermes_memory.adapters.postgres.vector_statements import (
    cosines_statement,
    exact_statement,
    sizes_statement,
    walk_statement,
)
from hermes_memory.domain.errors import InvalidInput
from hermes_memory.domain.model import AllScope, Caller, Kind, ReadPolicy, RowId, Scope, SessionScope
from hermes_memory.ports.reading import SearchSpace, VectorHit

if TYPE_CHECKING:
    from hermes_memory.adapters.postgres.rows import Record

# $1 the generation that is meant, null for the one in use.
MEANT: Final[LiteralString] = """
select m.generation, m.dimension
  from hermes_memory.installation i
  join hermes_memory.embedding_models m on m.generation = coalesce($1::int, i.active_generation)"""


_CROWDS: Final = (Kind.ENTRY, Kind.TURN)
"""The order in which the statement of the sizes tells how many rows of each kind a partition holds."""

# $1 theme, $2 ids. Those of them that are of the theme, with a vector or without.
OF_THEME: Final[LiteralString] = """
select d.id from hermes_memory.memory_documents d where d.agent_identity = $1 and d.id = any ($2::uuid[])"""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Question:
    """One search: on whose behalf, where, for what."""

    caller: Caller
    space: SearchSpace
    vector: list[float]
    limit: int

    @property
    def scope(self) -> Scope:
        return self.space.scope

    def arguments(self, *kinds: Kind) -> tuple[object, ...]:
        """Return the parameters of a statement that looks for these kinds."""
        common = (theme_of(self.caller, self.scope), own_subjects(self.caller), self.vector, self.limit)
        if isinstance(self.scope, SessionScope):
            return (*common, self.scope.session, shelves(frozenset(kinds), self.space.target))
        if Kind.ENTRY in kinds:
            return (*common, str(self.space.target) if self.space.target else None)
        return common


class VectorSearch:
    """Finds rows by the nearness of their embeddings.

    Args:
        pool: Connections of the runtime role.
        exact_rows: Rows of a space up to which every distance is computed.
    """

    def __init__(self, pool: Pool, *, exact_rows: int = EXACT_ROWS) -> None:
        self._pool = pool
        self._exact_rows = exact_rows

    async def find(
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
        question = _Question(caller=caller, space=space, vector=list(vector), limit=limit)
        if limit < 1:
            return []
        async with self._transaction(caller, timeout) as transaction:
            facts = await transaction.fetch_row(
                sizes_statement(space.scope),
                theme_of(caller, space.scope),
                own_subjects(caller),
                shelves(space.kinds, space.target),
                generation,
            )
            if not _fits(facts, generation, vector):
                return []
            ways = {kind: self._way(question, kind, facts) for kind in sorted(space.kinds) if facts[str(kind)] > 0}
            hits = list(
                await _exactly(transaction, question, [kind for kind, way in ways.items() if way is None], facts)
            )
            for kind, way in ways.items():
                if way is not None:
                    hits += await _walked(transaction, question, kind, way, facts)
        return sorted(hits, key=lambda hit: -hit.cosine)[:limit]

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
        if not rows:
            return {}
        async with self._transaction(caller, timeout) as transaction:
            meant = await transaction.fetch_row(MEANT, generation)
            if not _fits(meant, generation, vector):
                return {}
            asked = (caller.theme, persons(caller), list(vector))
            own = cosines_statement(meant["generation"], own_theme=True)
            known = _cosines(await transaction.fetch(own, *asked, list(rows)))
            if missing := [row for row in rows if row not in known]:
                # Most that have no vector yet are of the caller's theme as well, and looked for nowhere else.
                here = {row_id_of(record) for record in await transaction.fetch(OF_THEME, caller.theme, missing)}
                if elsewhere := [row for row in missing if row not in here]:
                    other = cosines_statement(meant["generation"], own_theme=False)
                    known |= _cosines(await transaction.fetch(other, *asked, elsewhere))
        return known

    def _transaction(self, caller: Caller, timeout: float) -> AbstractAsyncContextManager[Transaction]:
        return self._pool.transaction(caller, timeout=timeout, read_only=True, settings=self._pool.planned_once)

    def _way(self, question: _Question, kind: Kind, facts: Record) -> Walk | None:
        """Return how to walk the graph, None to compute every distance."""
        rows = facts[str(kind)]
        # Who speaks with somebody reads what was granted, not what all agents know.
        everybody = facts["read_policy"] == ReadPolicy.OPEN and question.caller.subject is None
        if is_whole(question.scope, rows, everybody=everybody, exact_rows=self._exact_rows):
            return None
        crowd = 0 if isinstance(question.scope, AllScope) else facts["crowds"][_CROWDS.index(kind)]
        sizes = Sizes(rows=rows, crowd=crowd, partitions=facts["partitions"], everybody=everybody)
        return walk(question.scope, sizes, question.limit, exact_rows=self._exact_rows)


def _fits(meant: Record | None, generation: int | None, vector: Sequence[float]) -> TypeGuard[Record]:
    """Tell whether there are vectors that a vector can be compared with.

    Raises:
        InvalidInput: The generation that was named is not there any more.
    """
    if meant is None and generation is not None:
        raise InvalidInput("these vectors are not kept any more", field="generation")
    return meant is not None and meant["dimension"] == len(vector)


async def _exactly(
    transaction: Transaction, question: _Question, kinds: Sequence[Kind], facts: Record
) -> Sequence[VectorHit]:
    """Compute every distance; look at all parts when those of few rows have taken the room of the others."""
    found: Sequence[Record] = ()
    for parts_a_row in (PARTS_A_ROW, 0) if kinds else ():
        statement = exact_statement(kinds, facts["generation"], question.scope, parts_a_row=parts_a_row)
        found = await transaction.fetch(statement, *question.arguments(*kinds))
        if not found or len(found) >= question.limit or found[0]["parts"] < question.limit * PARTS_A_ROW:
            break
    return _hits(found)


async def _walked(
    transaction: Transaction, question: _Question, kind: Kind, way: Walk, facts: Record
) -> Sequence[VectorHit]:
    """Walk the graph; compute every distance when the walk ends before it has met as many rows as there may be."""
    await transaction.set_local(*way.settings)
    statement = walk_statement(kind, facts["generation"], question.scope, parts_a_row=PARTS_A_ROW)
    found = await transaction.fetch(statement, *question.arguments(kind))
    if len(found) >= min(question.limit, facts[str(kind)]):
        return _hits(found)
    await transaction.set_local("enable_sort = on")
    return await _exactly(transaction, question, [kind], facts)


def _cosines(found: Sequence[Record]) -> dict[RowId, float]:
    return {row_id_of(record): 1.0 - record["distance"] for record in found}


def _hits(found: Sequence[Record]) -> Sequence[VectorHit]:
    return [VectorHit(row=row_of(record), cosine=1.0 - record["distance"]) for record in found]
