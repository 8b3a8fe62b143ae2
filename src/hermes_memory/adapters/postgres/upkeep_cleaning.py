"""Removes what nothing refers to any more, in Postgres."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, LiteralString

from hermes_memory.adapters.postgres.upkeep import ROWS_A_STEP, Phase, Sweep, in_turn, number
from hermes_memory.domain.maintenance import Cleanup
from hermes_memory.domain.model import Json
from hermes_memory.ports.maintenance import Step

if TYPE_CHECKING:
    from hermes_memory.adapters.postgres.statements import Connection

ROWS_READ_AT_ONCE: Final = 20_000
"""Rows that a step looks through where most of them stay."""
FORGOTTEN_A_STEP: Final = 200

OLD_OPERATIONS: Final[LiteralString] = "select count(*) from hermes_memory.inbox i where i.applied_at < $1"
PLACES_OF_OPERATIONS: Final[LiteralString] = """
select distinct i.agent_identity from hermes_memory.inbox i where i.applied_at < $1"""
FORGET_OPERATIONS: Final[LiteralString] = """
with page as materialized (
  select i.operation, i.applied_at from hermes_memory.inbox i
   where i.agent_identity = $1 and ($2::uuid is null or i.operation > $2) order by i.operation limit $3),
gone as (
  delete from hermes_memory.inbox i using page p
   where i.agent_identity = $1 and i.operation = p.operation and p.applied_at < $4 returning 1)
select (select count(*) from gone) as gone, (select count(*) from page) as read,
       (select p.operation from page p order by p.operation desc limit 1) as ahead"""

ORPHANED_VECTORS: Final[LiteralString] = "select hermes_memory.orphaned_vectors(0, false)"
REMOVE_VECTORS: Final[LiteralString] = "select hermes_memory.orphaned_vectors($1, true)"

_ROWLESS: Final[LiteralString] = """
(not exists (select from hermes_memory.memory_rows r where r.agent_identity = j.agent_identity and r.id = j.row_id)
 or not exists (select from hermes_memory.embedding_models m where m.generation = j.generation))"""


def _filled(statement: LiteralString) -> LiteralString:
    """Say in a statement which jobs have no row, or no generation."""
    return statement.replace("{rowless}", _ROWLESS)


ORPHANED_JOBS: Final = _filled("select count(*) from hermes_memory.embedding_jobs j where {rowless}")
REMOVE_JOBS: Final = _filled("""
with doomed as materialized (
  select j.agent_identity, j.row_id, j.generation from hermes_memory.embedding_jobs j
   where {rowless} limit $1 for update of j),
gone as (
  delete from hermes_memory.embedding_jobs j using doomed d
   where j.agent_identity = d.agent_identity and j.row_id = d.row_id and j.generation = d.generation returning 1)
select count(*) from gone""")

DEAD_POSTINGS: Final[LiteralString] = "select hermes_memory.count_dead_postings()"
EMPTY_STATISTICS: Final[LiteralString] = """
select count(*) from hermes_memory.term_blocks b
 where b.lexeme = '' and not exists (
       select from hermes_memory.memory_documents d
        where d.agent_identity = b.agent_identity and d.shelf = b.shelf and d.subject = b.subject)"""

EXPIRED_GRANTS: Final[LiteralString] = "select count(*) from hermes_memory.theme_grants g where g.expires_at <= now()"
REMOVE_GRANTS: Final[LiteralString] = """
with gone as (delete from hermes_memory.theme_grants g where g.expires_at <= now() returning 1)
select count(*) from gone"""

# As expire_forgotten chooses them: all changes of what is gone and was forgotten long enough ago.
FORGOTTEN: Final[LiteralString] = """
with gone as (
  select distinct g.agent_identity, g.row_id from hermes_memory.history g
   where g.erasure is null and (g.change = 'removed' or g.merged_into is not null)
     and g.recorded_at < clock_timestamp() - make_interval(secs => 86400 * (select i.forgotten_days
                                                                              from hermes_memory.installation i))
     and not exists (select from hermes_memory.memory_entries e
                      where e.agent_identity = g.agent_identity and e.id = g.row_id))
select count(*) from gone g
  join hermes_memory.history h on h.agent_identity = g.agent_identity and h.row_id = g.row_id and h.erasure is null"""
EXPIRE: Final[LiteralString] = "select hermes_memory.expire_forgotten($1)"

OLD_LOG: Final[LiteralString] = "select count(*) from hermes_memory.memory_maintenance_log l where l.at < $1"
REMOVE_LOG: Final[LiteralString] = """
with doomed as materialized (
  select l.id from hermes_memory.memory_maintenance_log l where l.at < $1 limit $2),
gone as (delete from hermes_memory.memory_maintenance_log l using doomed d where l.id = d.id returning 1)
select count(*) from gone"""


@dataclass(slots=True)
class Cleaning:
    """A `Job` that cleans up, kind after kind.

    Attributes:
        rows: Rows, at most, that one step removes.
        read: Rows, at most, that one step looks through.
    """

    cleanup: Cleanup
    rows: int = ROWS_A_STEP
    read: int = ROWS_READ_AT_ONCE
    verb: str = "cleanup"
    _phase: int = 0
    _sweep: Sweep = field(default_factory=Sweep)
    _places: list[tuple[Any, ...]] | None = None
    _after: tuple[Any, ...] = field(default=())

    @property
    def detail(self) -> Mapping[str, Json]:
        """From when on things stay."""
        log = self.cleanup.log_before
        return {
            "operations_before": self.cleanup.operations_before.isoformat(),
            "log_before": None if log is None else log.isoformat(),
        }

    async def count(self, connection: Connection) -> Mapping[str, int]:
        """Count what nothing refers to."""
        log = self.cleanup.log_before
        return {
            "operations": await number(connection, OLD_OPERATIONS, self.cleanup.operations_before),
            "vectors": await number(connection, ORPHANED_VECTORS),
            "jobs": await number(connection, ORPHANED_JOBS),
            "postings": await number(connection, DEAD_POSTINGS),
            "statistics": await number(connection, EMPTY_STATISTICS),
            "grants": await number(connection, EXPIRED_GRANTS),
            "forgotten": await number(connection, FORGOTTEN),
            "log": 0 if log is None else await number(connection, OLD_LOG, log),
        }

    async def step(self, connection: Connection) -> Step:
        """Do a part of one kind, and tell whether there are others."""
        phases: tuple[Phase, ...] = (
            self._operations,
            self._vectors,
            self._jobs,
            self._blocks,
            self._grants,
            self._forgotten,
            self._log,
        )
        step, self._phase = await in_turn(phases, self._phase, connection)
        return step

    async def _operations(self, connection: Connection) -> Step:
        before = self.cleanup.operations_before
        places = await self._of(connection, PLACES_OF_OPERATIONS, before)
        if not places:
            return self._ended({})
        after = self._after or (None,)
        (done,) = await connection.fetch(FORGET_OPERATIONS, *places[0], *after, self.read, before)
        self._advance(places, (done["ahead"],), is_last=done["read"] < self.read)
        return Step(counts={"operations": done["gone"]}, more=True)

    async def _blocks(self, connection: Connection) -> Step:
        return await self._sweep.step(connection)

    async def _vectors(self, connection: Connection) -> Step:
        gone = await number(connection, REMOVE_VECTORS, self.rows)
        return Step(counts={"vectors": gone}, more=gone >= self.rows)

    async def _jobs(self, connection: Connection) -> Step:
        gone = await number(connection, REMOVE_JOBS, self.rows)
        return Step(counts={"jobs": gone}, more=gone == self.rows)

    async def _grants(self, connection: Connection) -> Step:
        return Step(counts={"grants": await number(connection, REMOVE_GRANTS)}, more=False)

    async def _forgotten(self, connection: Connection) -> Step:
        erased = await number(connection, EXPIRE, FORGOTTEN_A_STEP)
        return Step(counts={"forgotten": erased}, more=erased > 0)

    async def _log(self, connection: Connection) -> Step:
        before = self.cleanup.log_before
        gone = 0 if before is None else await number(connection, REMOVE_LOG, before, self.rows)
        return Step(counts={"log": gone}, more=gone == self.rows)

    async def _of(self, connection: Connection, statement: LiteralString, *values: Any) -> list[tuple[Any, ...]]:
        """Return the places that are still to be looked through."""
        if self._places is None:
            return [tuple(record) for record in await connection.fetch(statement, *values)]
        return self._places

    def _advance(self, places: list[tuple[Any, ...]], ahead: tuple[Any, ...], *, is_last: bool) -> None:
        self._places = places[1:] if is_last else places
        self._after = () if is_last else ahead

    def _ended(self, counts: Mapping[str, int]) -> Step:
        self._places = None
        return Step(counts=counts, more=False)
