"""Embedding generations in Postgres, as their owner makes, fills, switches and drops them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from datetime import datetime
from itertools import count
from typing import TYPE_CHECKING, Final, LiteralString, TypeAlias, TypeVar
from uuid import UUID, uuid4

import asyncpg

from hermes_memory.adapters.postgres.administrator import Administrator
from hermes_memory.adapters.postgres.errors import DRIVER_ERRORS, translated
from hermes_memory.adapters.postgres.generation_index import index_generation
from hermes_memory.adapters.postgres.generation_standing import STANDING, standing_of
from hermes_memory.adapters.postgres.rows import columns
from hermes_memory.domain.errors import InvalidInput, StoreBusy, StoreUnavailable
from hermes_memory.domain.model import Kind, RowId, Theme
from hermes_memory.ports.generations import GenerationStanding, WaitingRow

if TYPE_CHECKING:
    from hermes_memory.adapters.postgres.statements import Connection

Answer = TypeVar("Answer")
Place: TypeAlias = tuple[UUID | None, str | None]
"""Id and theme of the row that was looked at last; None when there are no more."""

# Of the session, and gone with it when the process is killed.
TRY_ALONE: Final[LiteralString] = "select pg_try_advisory_lock(hashtextextended('hermes_memory reembed', 0))"
UNLOCK: Final[LiteralString] = "select pg_advisory_unlock(hashtextextended('hermes_memory reembed', 0))"

MOMENT: Final[LiteralString] = "select clock_timestamp()"
MADE: Final[LiteralString] = "select i.generations_made from hermes_memory.installation i"
KEPT: Final[LiteralString] = """
select exists (select from hermes_memory.embedding_models m where m.generation = $1 and m.fed)"""
REGISTER: Final[LiteralString] = "select hermes_memory.register_generation($1, $2, $3)"
QUEUE: Final[LiteralString] = """
select queued, last, last_theme from hermes_memory.queue_rows($1, $2, $3, $4, $5)"""
SWITCH: Final[LiteralString] = "select hermes_memory.switch_generation($1)"
HOLD_IN_USE: Final[LiteralString] = "select i.active_generation from hermes_memory.installation i for update"
STARVE: Final[LiteralString] = "update hermes_memory.embedding_models set fed = false where generation = $1"
DROP: Final[LiteralString] = "select hermes_memory.drop_generation($1)"
DELETE_JOBS: Final[LiteralString] = """
with chosen as (
  select j.agent_identity, j.row_id from hermes_memory.embedding_jobs j where j.generation = $1 limit $2),
gone as (
  delete from hermes_memory.embedding_jobs j using chosen s
   where j.agent_identity = s.agent_identity and j.row_id = s.row_id and j.generation = $1 returning true)
select count(*) from gone"""
WAITING: Final[LiteralString] = """
select j.agent_identity, j.row_id, j.content_hash from hermes_memory.embedding_jobs j
 where j.generation = $1 and j.parked_reason is null limit $2"""
STILL_WAITING: Final[LiteralString] = """
select j.agent_identity, j.row_id, j.content_hash
  from hermes_memory.embedding_jobs j
  join unnest($2::text[], $3::uuid[], $4::bytea[]) as u(theme, id, hash)
    on j.agent_identity = u.theme and j.row_id = u.id and j.content_hash = u.hash
 where j.generation = $1 and j.parked_reason is null"""
NOTE: Final[LiteralString] = """
insert into hermes_memory.memory_maintenance_log (id, verb, detail, affected)
values ($1, 'reembed', $2::text::jsonb, $3)"""

ROWS_A_STEP: Final = 1_000
JOBS_A_STEP: Final = 5_000
MOST_WAITING: Final = 4_000
LOCK_WAIT: Final[LiteralString] = "set local lock_timeout = '1s'"
"""Whoever asks for a lock that nobody else goes with holds up all who come after: so not for long."""
LOCK_TRIES: Final = 30
LOCK_PAUSE: Final = 1.0
ALONE_PAUSE: Final = 0.2


class PostgresGenerations:
    """`Generations` on Postgres, with an operator's connection of its own."""

    def __init__(self, administrator: Administrator) -> None:
        self._administrator = administrator

    @asynccontextmanager
    async def alone(self, waits: Callable[[], object] = lambda: None) -> AsyncIterator[None]:
        """Wait for other operators; see `Generations.alone`."""
        # Waiting in the server would keep the other one's index from being made, which waits for all that wait.
        for tried in count():
            if await self._tried_alone():
                break
            if not tried:
                waits()
            await asyncio.sleep(ALONE_PAUSE)
        try:
            yield
        finally:
            with suppress(*DRIVER_ERRORS):  # a connection that is lost has lost its locks
                await self._administrator.value(UNLOCK)

    async def _tried_alone(self) -> bool:
        with translated(StoreUnavailable):
            return bool(await self._administrator.value(TRY_ALONE))

    async def standing(self) -> Sequence[GenerationStanding]:
        """Return how things stand; see `Generations.standing`."""
        async with self._transaction(read_only=True) as connection:
            return [standing_of(record) for record in await connection.fetch(STANDING)]

    async def moment(self) -> datetime:
        """Return the time; see `Generations.moment`."""
        async with self._transaction(read_only=True) as connection:
            now: datetime = await connection.fetchval(MOMENT)
        return now

    async def made(self) -> int:
        """Return how many there have been; see `Generations.made`."""
        async with self._transaction(read_only=True) as connection:
            count: int = await connection.fetchval(MADE)
        return count

    async def kept(self, generation: int) -> bool:
        """Tell whether a generation is there; see `Generations.kept`."""
        async with self._transaction(read_only=True) as connection:
            return bool(await connection.fetchval(KEPT, generation))

    async def register(self, model: str, dimension: int, part_tokens: int) -> int:
        """Make a generation; see `Generations.register`."""

        async def made(connection: Connection) -> int:
            await connection.execute(LOCK_WAIT)
            number: int = await connection.fetchval(REGISTER, model, dimension, part_tokens)
            return number

        return await self._when_there_is_room(made)

    async def queue_rows(self, generation: int, kind: Kind, seen: Callable[[int], object]) -> int:
        """Let rows wait; see `Generations.queue_rows`. Short transactions: who writes waits for none of them long."""
        total: int = 0
        last: Place = (None, None)
        while True:
            queued, last = await self._when_there_is_room(_queueing(generation, kind, last))
            total += queued
            seen(total)
            if last[0] is None:
                return total

    async def waiting(self, generation: int, among: Collection[WaitingRow] | None = None) -> Sequence[WaitingRow]:
        """Return rows that wait; see `Generations.waiting`."""
        async with self._transaction(read_only=True) as connection:
            if among is None:
                found = await connection.fetch(WAITING, generation, MOST_WAITING)
            else:
                found = await connection.fetch(STILL_WAITING, generation, *columns(among))
        return [WaitingRow(Theme(theme), RowId(row), content_hash) for theme, row, content_hash in found]

    async def index(self, generation: int, made: Callable[[int, int], object]) -> None:
        """Make the index; see `Generations.index`."""
        with translated(StoreUnavailable):
            await index_generation(self._administrator, generation, made)

    async def switch(self, generation: int) -> int | None:
        """Use a generation; see `Generations.switch`."""
        async with self._transaction() as connection:
            with _misuse_told():
                former: int | None = await connection.fetchval(SWITCH, generation)
            await _note(connection, {"act": "switch", "from": former, "to": generation})
        return former

    async def drop(self, generation: int) -> None:
        """Remove a generation; see `Generations.drop`."""
        one = next((each for each in await self.standing() if each.generation == generation), None)
        if one is None:
            raise InvalidInput(f"there is no embedding generation {generation}", field="generation")
        async with self._transaction() as connection:
            if await connection.fetchval(HOLD_IN_USE) == generation:
                raise InvalidInput(f"the embedding generation {generation} is in use", field="generation")
            await connection.execute(STARVE, generation)
        while await self._when_there_is_room(_deleting_jobs(generation)):
            pass

        async def dropped(connection: Connection) -> None:
            await connection.execute(LOCK_WAIT)
            with _misuse_told():
                await connection.execute(DROP, generation)
            named = {"generation": generation, "model": one.model, "dimension": one.dimension}
            await _note(connection, {"act": "drop", **named}, affected=one.embedded)

        await self._when_there_is_room(dropped)

    @asynccontextmanager
    async def _transaction(self, *, read_only: bool = False) -> AsyncIterator[Connection]:
        """Open a transaction; whatever the driver raises in it, also at its end, becomes an error of the domain."""
        with translated(StoreUnavailable):
            async with self._administrator.transaction(read_only=read_only) as connection:
                yield connection

    async def _when_there_is_room(self, act: Callable[[Connection], Awaitable[Answer]]) -> Answer:
        """Act in a transaction, again while others are in its way."""
        for _ in range(LOCK_TRIES - 1):
            try:
                async with self._transaction() as connection:
                    return await act(connection)
            except StoreBusy:
                await asyncio.sleep(LOCK_PAUSE)
        async with self._transaction() as connection:
            return await act(connection)


@contextmanager
def _misuse_told() -> Iterator[None]:
    """Tell of a generation that is not there, not ready or in use in the words of the function that found it so."""
    try:
        yield
    except (asyncpg.NoDataFoundError, asyncpg.ObjectInUseError) as error:
        raise InvalidInput(error.args[0], field="generation") from error


def _queueing(generation: int, kind: Kind, after: Place) -> Callable[[Connection], Awaitable[tuple[int, Place]]]:
    async def queued(connection: Connection) -> tuple[int, Place]:
        (found,) = await connection.fetch(QUEUE, generation, str(kind), *after, ROWS_A_STEP)
        return found["queued"], (found["last"], found["last_theme"])

    return queued


def _deleting_jobs(generation: int) -> Callable[[Connection], Awaitable[int]]:
    async def deleted(connection: Connection) -> int:
        count: int = await connection.fetchval(DELETE_JOBS, generation, JOBS_A_STEP)
        return count

    return deleted


async def _note(connection: Connection, detail: dict[str, object], affected: int = 0) -> None:
    await connection.execute(NOTE, uuid4(), json.dumps(detail), affected)
