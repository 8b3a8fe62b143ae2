"""The vector leg: exact where that is quick, through the graph where it is not. The plan depends on sizes alone."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, LiteralString

import asyncpg

from hermes_memory.adapters.postgres.looking import Looking
from hermes_memory.adapters.postgres.rows import own_subjects, persons, row_id_of, row_of
from hermes_memory.adapters.postgres.spaces import shelves, theme_of
from hermes_memory.adapters.postgres.vector_plan import (
    EVERY_ROW,
    EXACT_ROWS,
    PARTS_A_ROW,
    Sizes,
    Walk,
    walk,
    whole_up_to,
)
from hermes_memory.adapters.postgres.vector_statements import (
    cosines_statement,
    exact_statement,
    vectors_table,
    walk_statement,
)
from hermes_memory.domain.errors import InvalidInput
from hermes_memory.domain.model import AllScope, Caller, Kind, RowId, Scope, SessionScope
from hermes_memory.ports.reading import SearchSpace, VectorHit

if TYPE_CHECKING:
    from hermes_memory.adapters.postgres.rows import Record

IN_USE: Final[LiteralString] = "select i.active_generation from hermes_memory.installation i"

_CROWDS: Final = {Kind.ENTRY: "entries_around", Kind.TURN: "turns_around"}

# $1 theme, $2 ids. Those of them that are of the theme, with a vector or without.
OF_THEME: Final[LiteralString] = """
select d.id from hermes_memory.memory_documents d where d.agent_identity = $1 and d.id = any ($2::uuid[])"""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Question:
    """One search: on whose behalf, where, for what, among the vectors of which generation."""

    caller: Caller
    space: SearchSpace
    vector: list[float]
    limit: int
    generation: int

    @property
    def scope(self) -> Scope:
        return self.space.scope

    @property
    def _common(self) -> tuple[object, ...]:
        return theme_of(self.caller, self.scope), own_subjects(self.caller), self.vector, self.limit

    def exactly(self, kinds: Sequence[Kind], up_to: tuple[int, int]) -> tuple[object, ...]:
        """Return the parameters of the statement that computes every distance."""
        space = (shelves(frozenset(kinds), self.space.target), self.generation)
        if isinstance(self.scope, SessionScope):
            return (*self._common, *space, *up_to, [*self.scope.names])
        return (*self._common, *space, *up_to, *self._target(kinds))

    def walking(self, kind: Kind) -> tuple[object, ...]:
        """Return the parameters of the statement that walks the graph of a kind."""
        return (*self._common, *self._target([kind]))

    def up_to(self, exact_rows: int) -> tuple[int, int]:
        """Return up to how many rows every distance is computed, where themes read each other and where they do not."""
        # Who speaks with somebody reads what was granted, not what all agents know.
        nobody = self.caller.subject is None
        return (
            whole_up_to(self.scope, everybody=nobody, exact_rows=exact_rows),
            whole_up_to(self.scope, everybody=False, exact_rows=exact_rows),
        )

    def _target(self, kinds: Sequence[Kind]) -> tuple[object, ...]:
        if Kind.ENTRY not in kinds:
            return ()
        return (str(self.space.target) if self.space.target else None,)


class VectorSearch:
    """Finds rows by the nearness of their embeddings.

    Args:
        exact_rows: Rows of a space up to which every distance is computed.
    """

    def __init__(self, *, exact_rows: int = EXACT_ROWS) -> None:
        self._exact_rows = exact_rows

    async def find(
        self,
        looking: Looking,
        space: SearchSpace,
        vector: Sequence[float],
        *,
        limit: int,
        generation: int | None = None,
    ) -> Sequence[VectorHit]:
        """Find the rows nearest to a vector; see `Search.by_vector`."""
        if limit < 1 or not space.kinds:
            return []
        meant = generation if generation is not None else await _in_use(looking)
        if meant is None:
            return []
        question = _Question(caller=looking.caller, space=space, vector=list(vector), limit=limit, generation=meant)
        with _kept(meant):
            found = await _exactly(looking, question, sorted(space.kinds), question.up_to(self._exact_rows))
            if not found:
                raise _not_kept()
            hits, facts = _hits(found), found[0]
            if facts["dimension"] == len(vector):
                for kind in sorted(space.kinds):
                    if facts[str(kind)] > facts["whole"]:
                        hits += await self._walked(looking, question, kind, facts)
        return sorted(hits, key=lambda hit: -hit.cosine)[:limit]

    async def cosines(
        self, looking: Looking, rows: Collection[RowId], vector: Sequence[float], *, generation: int | None = None
    ) -> Mapping[RowId, float]:
        """Return the cosines of rows; see `Search.cosines`."""
        if not rows:
            return {}
        meant = generation if generation is not None else await _in_use(looking)
        if meant is None:
            return {}
        caller = looking.caller
        asked, transaction = (caller.theme, persons(caller), list(vector)), await looking.transaction()
        with _kept(meant):
            own = cosines_statement(meant, own_theme=True)
            known = _cosines(await transaction.fetch(own, *asked, list(rows), meant))
            if missing := [row for row in rows if row not in known]:
                # Most that have no vector yet are of the caller's theme as well, and looked for nowhere else.
                here = {row_id_of(record) for record in await transaction.fetch(OF_THEME, caller.theme, missing)}
                if elsewhere := [row for row in missing if row not in here]:
                    other = cosines_statement(meant, own_theme=False)
                    known |= _cosines(await transaction.fetch(other, *asked, elsewhere, meant))
        return known

    async def _walked(self, looking: Looking, question: _Question, kind: Kind, facts: Record) -> list[VectorHit]:
        """Find rows of a kind with too many for all their distances, or compute those where a walk would be longer."""
        everybody = facts["open"] and question.caller.subject is None
        crowd = 0 if isinstance(question.scope, AllScope) else facts[_CROWDS[kind]] or 0
        sizes = Sizes(rows=facts[str(kind)], crowd=crowd, partitions=facts["partitions"], everybody=everybody)
        way = walk(question.scope, sizes, question.limit, exact_rows=self._exact_rows)
        found: Sequence[Record] = () if way is None else await _walk(looking, question, kind, way)
        if len(found) < min(question.limit, sizes.rows):  # the walk has ended before it met as many as there may be
            found = await _exactly(looking, question, [kind], (EVERY_ROW, EVERY_ROW))
        return _hits(found)


async def _in_use(looking: Looking) -> int | None:
    number: int | None = await (await looking.transaction()).fetch_value(IN_USE)
    return number


@contextmanager
def _kept(generation: int) -> Iterator[None]:
    """Say so when the tables of a generation are not there any more."""
    try:
        yield
    except asyncpg.UndefinedTableError as error:
        if any(vectors_table(kind, generation) in str(error) for kind in Kind):
            raise _not_kept() from None
        raise


def _not_kept() -> InvalidInput:
    return InvalidInput("these vectors are not kept any more", field="generation")


async def _exactly(
    looking: Looking, question: _Question, kinds: Sequence[Kind], up_to: tuple[int, int]
) -> Sequence[Record]:
    """Compute every distance; look at all parts when those of few rows have taken the room of the others."""
    transaction = await looking.transaction()
    found: Sequence[Record] = ()
    for parts_a_row in (PARTS_A_ROW, 0):
        statement = exact_statement(kinds, question.generation, question.scope, parts_a_row=parts_a_row)
        found = await transaction.fetch(statement, *question.exactly(kinds, up_to))
        taken = (found[0]["parts"] or 0) if found else 0
        if len(found) >= question.limit or taken < question.limit * PARTS_A_ROW:
            break
    return found


async def _walk(looking: Looking, question: _Question, kind: Kind, way: Walk) -> Sequence[Record]:
    transaction = await looking.planned_otherwise(*way.settings)
    statement = walk_statement(kind, question.generation, question.scope, parts_a_row=PARTS_A_ROW)
    return await transaction.fetch(statement, *question.walking(kind))


def _cosines(found: Sequence[Record]) -> dict[RowId, float]:
    return {row_id_of(record): 1.0 - record["distance"] for record in found}


def _hits(found: Sequence[Record]) -> list[VectorHit]:
    return [
        VectorHit(row=row_of(record), cosine=1.0 - record["distance"])
        for record in found
        if record["distance"] is not None
    ]
