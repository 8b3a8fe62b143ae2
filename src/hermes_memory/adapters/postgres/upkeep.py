"""Runs maintenance on Postgres: each step a transaction of its own, which notes in the log what it did."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, LiteralString, Protocol, TypeAlias
from uuid import UUID, uuid4

from hermes_memory.adapters.postgres.administrator import Administrator
from hermes_memory.domain.model import Json
from hermes_memory.ports.maintenance import Step

if TYPE_CHECKING:
    from hermes_memory.adapters.postgres.statements import Connection

Phase: TypeAlias = "Callable[[Connection], Awaitable[Step]]"

ROWS_A_STEP: Final = 2_000
COUNT_SECONDS: Final = 3_600.0

BEGIN: Final[LiteralString] = """
insert into hermes_memory.memory_maintenance_log (id, verb, detail)
values ($1, $2, $3::text::jsonb || '{"counts": {}, "finished": false}')"""
ADD: Final[LiteralString] = """
update hermes_memory.memory_maintenance_log l
   set affected = l.affected + $3,
       detail = jsonb_set(l.detail, '{counts}', (
         select coalesce(jsonb_object_agg(n.name, n.count), '{}')
           from (select c.key as name, sum(c.value::bigint) as count
                   from (select * from jsonb_each_text(l.detail -> 'counts')
                         union all select * from jsonb_each_text($2::text::jsonb)) c
                  group by c.key) n))
 where l.id = $1"""
END: Final[LiteralString] = """
update hermes_memory.memory_maintenance_log
   set detail = detail || jsonb_build_object('finished', true, 'remaining', $2::text::jsonb)
 where id = $1"""

# One step at a time, of all operators: two who did the same at once would wait for each other's rows, or meet.
ALONE: Final[LiteralString] = """
set local lock_timeout = 120000; select pg_advisory_xact_lock(hashtextextended('hermes_memory maintenance', 9))"""


class Job(Protocol):
    """What there is to do, within a transaction with the owner's rights."""

    verb: str

    @property
    def detail(self) -> Mapping[str, Json]:
        """What exactly, as it may be kept."""
        ...

    async def count(self, connection: Connection) -> Mapping[str, int]:
        """Count what there is to do."""
        ...

    async def step(self, connection: Connection) -> Step:
        """Do a bounded part of it. Called again after a rollback it does the same."""
        ...


class PostgresUpkeep:
    """`Upkeep` on Postgres.

    Args:
        administrator: A connection with the owner's rights.
        job: What there is to do.
    """

    def __init__(self, administrator: Administrator, job: Job) -> None:
        self._administrator = administrator
        self._job = job
        self._log: UUID | None = None

    async def count(self) -> Mapping[str, int]:
        """Count what there is to do; see `Upkeep.count`."""
        async with self._administrator.transaction(isolation="repeatable_read", read_only=True) as connection:
            return await self._job.count(connection)

    async def begin(self) -> UUID:
        """Note that it begins; see `Upkeep.begin`."""
        log = self._log = uuid4()
        detail = json.dumps(dict(self._job.detail))
        await self._administrator.repeatedly(lambda connection: connection.execute(BEGIN, log, self._job.verb, detail))
        return log

    async def step(self) -> Step:
        """Do a part, and note it in the same transaction; see `Upkeep.step`."""
        return await self._administrator.repeatedly(self._noted_step)

    async def end(self, remaining: Mapping[str, int]) -> None:
        """Note that it was carried through; see `Upkeep.end`."""
        left = json.dumps({name: count for name, count in remaining.items() if count})
        await self._administrator.repeatedly(lambda connection: connection.execute(END, self._log, left))

    async def _noted_step(self, connection: Connection) -> Step:
        await connection.execute(ALONE)
        step = await self._job.step(connection)
        if done := {name: count for name, count in step.counts.items() if count}:
            await connection.execute(ADD, self._log, json.dumps(done), sum(done.values()))
        return step


async def in_turn(phases: Sequence[Phase], place: int, connection: Connection) -> tuple[Step, int]:
    """Take a step of one phase; return it, and the place of the phase that the next step belongs to.

    There is more to do until the last phase is over, after which it is the first one's turn again.
    """
    step = await phases[place](connection)
    following = place if step.more else (place + 1) % len(phases)
    return Step(counts=step.counts, more=step.more or following > 0), following


async def number(connection: Connection, statement: LiteralString, *values: Any) -> int:
    """Return the one number that a statement answers. Counting may take as long as a large memory is large."""
    found: int | None = await connection.fetchval(statement, *values, timeout=COUNT_SECONDS)
    return found or 0


PLACES: Final[LiteralString] = """
select distinct b.agent_identity, b.shelf, b.subject from hermes_memory.term_blocks b
 where $1::text is null or b.agent_identity = $1 order by 1, 2, 3"""
HOLD: Final[LiteralString] = "select hermes_memory.hold_themes(array[$1])"
SWEEP: Final[LiteralString] = """
select taken, lexeme, hi, id from hermes_memory.sweep_blocks($1, $2, $3, $4, $5, $6, $7)"""
END_STATISTICS: Final[LiteralString] = """
with gone as (
  delete from hermes_memory.term_blocks b
   where b.agent_identity = $1 and b.shelf = $2 and b.subject = $3 and b.lexeme = ''
     and not exists (select from hermes_memory.memory_documents d
                      where d.agent_identity = $1 and d.shelf = $2 and d.subject = $3)
  returning 1)
select count(*) from gone"""
BLOCKS_A_STEP: Final = 5_000
_FIRST: Final = ("", 0.0, 0)


@dataclass(slots=True)
class Sweep:
    """Takes words of rows that are gone out of the text index, place by place.

    Attributes:
        theme: Of this theme alone.
        blocks: Blocks, at most, that one step looks through.
    """

    theme: str | None = None
    blocks: int = BLOCKS_A_STEP
    _places: list[tuple[Any, ...]] | None = None
    _after: tuple[Any, ...] = _FIRST

    async def step(self, connection: Connection) -> Step:
        """Look through some blocks. A place where there is nothing any more loses its statistics as well."""
        places = self._places
        if places is None:
            places = [tuple(record) for record in await connection.fetch(PLACES, self.theme)]
        if not places:
            self._places = None
            return Step(counts={}, more=False)
        await connection.execute(HOLD, places[0][0])
        (swept,) = await connection.fetch(SWEEP, *places[0], *self._after, self.blocks)
        ended = 0 if swept["id"] else await number(connection, END_STATISTICS, *places[0])
        self._places = places if swept["id"] else places[1:]
        self._after = (swept["lexeme"], swept["hi"], swept["id"]) if swept["id"] else _FIRST
        return Step(counts={"postings": swept["taken"], "statistics": ended}, more=True)
