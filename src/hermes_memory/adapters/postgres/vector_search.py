"""The vector leg: exact where that is quick, through the graph where it is not. The plan depends on sizes alone."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, LiteralString

from hermes_memory.adapters.postgres.pool import Pool, Transaction
from hermes_memory.adapters.postgres.rows import own_subjects, row_id_of, row_of, subject_key
from hermes_memory.adapters.postgres.spaces import shelves, theme_of
from hermes_memory.adapters.postgres.vector_statements import cosines_statement, near_statement, sizes_statement
from hermes_memory.domain.model import AllScope, Caller, Kind, ReadPolicy, RowId, Scope, SessionScope
from hermes_memory.ports.reading import SearchSpace, VectorHit

if TYPE_CHECKING:
    from hermes_memory.adapters.postgres.rows import Record

EXACT_ROWS: Final = 5_000
"""Rows of a space up to which every distance is computed: about a millisecond, and nothing is missed."""
EF_TIERS: Final = ((100_000, 100), (200_000, 200))
EF_BEYOND: Final = 300
"""Width of the search in the graph, by rows of the space: recall at ten stays above .98 at a million rows."""
EF_ALL_THEMES: Final = 100
EF_MAX: Final = 1_000
BREADTHS: Final = (2, 16)
"""Parts taken from the graph for each row that is wanted. Long texts near the question may be there with all their
parts; when they leave too few rows, the search is made once more and wider."""

ACTIVE: Final[LiteralString] = """
select i.active_generation as generation, m.dimension
  from hermes_memory.installation i join hermes_memory.embedding_models m on m.generation = i.active_generation"""


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

    def arguments(self, kind: Kind) -> tuple[object, ...]:
        """Return the parameters of `near_statement`."""
        common = (theme_of(self.caller, self.scope), own_subjects(self.caller), self.vector, self.limit)
        if isinstance(self.scope, SessionScope):
            return (*common, self.scope.session, shelves(frozenset({kind}), self.space.target))
        if kind is Kind.ENTRY:
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
        self, caller: Caller, space: SearchSpace, vector: Sequence[float], *, limit: int, timeout: float
    ) -> Sequence[VectorHit]:
        """Find the rows nearest to a vector; see `Search.by_vector`."""
        question = _Question(caller=caller, space=space, vector=list(vector), limit=limit)
        if limit < 1:
            return []
        async with self._pool.transaction(caller, timeout=timeout, read_only=True) as transaction:
            facts = await transaction.fetch_row(
                sizes_statement(space.scope),
                theme_of(caller, space.scope),
                own_subjects(caller),
                shelves(space.kinds, space.target),
            )
            if facts is None or facts["dimension"] != len(vector):
                return []
            hits = [
                hit
                for kind in sorted(space.kinds)
                if facts[str(kind)] > 0
                for hit in await self._nearest(transaction, question, kind, facts)
            ]
        return sorted(hits, key=lambda hit: -hit.cosine)[:limit]

    async def cosines(
        self, caller: Caller, rows: Collection[RowId], vector: Sequence[float], *, timeout: float
    ) -> Mapping[RowId, float]:
        """Return the cosines of rows; see `Search.cosines`."""
        known: dict[RowId, float] = {}
        if not rows:
            return known
        async with self._pool.transaction(caller, timeout=timeout, read_only=True) as transaction:
            active = await transaction.fetch_row(ACTIVE)
            if active is None or active["dimension"] != len(vector):
                return {}
            for own_theme in (True, False):
                if wanted := [row for row in rows if row not in known]:
                    found = await transaction.fetch(
                        cosines_statement(active["generation"], own_theme=own_theme),
                        *(caller.theme, subject_key(caller.subject), list(vector), wanted),
                    )
                    known.update({row_id_of(record): 1.0 - record["distance"] for record in found})
        return known

    async def _nearest(
        self, transaction: Transaction, question: _Question, kind: Kind, facts: Record
    ) -> Sequence[VectorHit]:
        if isinstance(question.scope, SessionScope) or facts[str(kind)] <= self._exact_rows:
            statement = near_statement(kind, facts["generation"], question.scope, exact=True)
            return _hits(await transaction.fetch(statement, *question.arguments(kind)))
        found: Sequence[VectorHit] = []
        for breadth in BREADTHS:
            settings = _graph_settings(question, facts[str(kind)], ReadPolicy(facts["read_policy"]), breadth)
            await transaction.set_local(*settings)
            statement = near_statement(kind, facts["generation"], question.scope, exact=False, parts_a_row=breadth)
            found = _hits(await transaction.fetch(statement, *question.arguments(kind)))
            if len(found) >= question.limit:
                break
        return found


def _hits(found: Sequence[Record]) -> Sequence[VectorHit]:
    return [VectorHit(row=row_of(record), cosine=1.0 - record["distance"]) for record in found]


def _graph_settings(question: _Question, rows: int, policy: ReadPolicy, breadth: int) -> tuple[str, str]:
    """Return how to walk the graph.

    Within a theme the walk goes on until enough rows have passed the other conditions. Over all themes that everybody
    may read nearly every row passes, and going on would cost more in every partition than it finds.
    """
    if isinstance(question.scope, AllScope) and policy is ReadPolicy.OPEN:
        iterate, width = "off", EF_ALL_THEMES
    else:
        iterate = "relaxed_order"
        width = next((ef for size, ef in EF_TIERS if rows <= size), EF_BEYOND)
    return f"hnsw.iterative_scan = {iterate}", f"hnsw.ef_search = {min(max(width, question.limit * breadth), EF_MAX):d}"
