"""Lets rows without a vector wait for one again, in Postgres."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, LiteralString, TypeAlias
from uuid import UUID

from hermes_memory.adapters.postgres.upkeep import number
from hermes_memory.domain.maintenance import Backfill
from hermes_memory.domain.model import Json
from hermes_memory.ports.maintenance import Step

if TYPE_CHECKING:
    from hermes_memory.adapters.postgres.statements import Connection

Place: TypeAlias = tuple[int, str]
"""A generation, and the kind of rows."""

ROWS_A_STEP: Final = 10_000
"""Rows that a step looks at. Most of them have their vector."""

LACKING: Final[LiteralString] = "select hermes_memory.count_lacking_rows()"
PLACES: Final[LiteralString] = """
select m.generation, k.kind from hermes_memory.embedding_models m cross join (values ('entry'), ('turn')) as k(kind)
 where m.fed order by 1, 2"""
QUEUE: Final[LiteralString] = """
select queued, last, last_theme from hermes_memory.queue_rows($1, $2, $3, $4, $5)"""
PARKED: Final[LiteralString] = """
select count(*) from hermes_memory.embedding_jobs j where j.parked_reason is not null"""
RETRY: Final[LiteralString] = """
with chosen as materialized (
  select j.agent_identity, j.row_id, j.generation from hermes_memory.embedding_jobs j
   where j.parked_reason is not null limit $1 for update),
due as (
  update hermes_memory.embedding_jobs j set parked_reason = null, attempts = 0, not_before = now()
    from chosen c
   where j.agent_identity = c.agent_identity and j.row_id = c.row_id and j.generation = c.generation
  returning 1)
select count(*) from due"""


@dataclass(slots=True)
class Backfilling:
    """A `Job` that lets rows wait for their vectors, of every generation that is fed.

    Attributes:
        rows: Rows, at most, that one step looks at.
    """

    backfill: Backfill
    rows: int = ROWS_A_STEP
    verb: str = "backfill"
    _places: list[Place] | None = None
    _after: tuple[UUID | None, str | None] = (None, None)

    @property
    def detail(self) -> Mapping[str, Json]:
        """Whether those are tried again that were refused."""
        return {"retry_parked": self.backfill.retry_parked}

    async def count(self, connection: Connection) -> Mapping[str, int]:
        """Count the rows that lack a vector and wait for none, and those to be tried again."""
        retried = await number(connection, PARKED) if self.backfill.retry_parked else 0
        return {"queued": await number(connection, LACKING), "retried": retried}

    async def step(self, connection: Connection) -> Step:
        """Look at some rows of a kind, and let those wait that lack their vector."""
        places = self._places
        if places is None:
            places = [(each["generation"], each["kind"]) for each in await connection.fetch(PLACES)]
        if not places:
            return await self._retry(connection)
        (done,) = await connection.fetch(QUEUE, *places[0], *self._after, self.rows)
        self._after = (done["last"], done["last_theme"])
        self._places = places if done["last"] else places[1:]
        return Step(counts={"queued": done["queued"]}, more=True)

    async def _retry(self, connection: Connection) -> Step:
        retried = await number(connection, RETRY, self.rows) if self.backfill.retry_parked else 0
        more = retried == self.rows
        self._places = [] if more else None
        return Step(counts={"retried": retried}, more=more)
