"""Makes the index of an embedding generation partition by partition, while others read and write."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from itertools import count
from typing import TYPE_CHECKING, Final, LiteralString

import asyncpg

from hermes_memory.adapters.postgres.administrator import Administrator
from hermes_memory.adapters.postgres.statements import composed, identifier

if TYPE_CHECKING:
    from hermes_memory.adapters.postgres.rows import Record
    from hermes_memory.adapters.postgres.statements import Connection, Statement

# $1 the tables of a generation. Each of their partitions, with the state of the index made here for it, and whether any
# is part of the whole already.
PARTITIONS: Final[LiteralString] = """
select p.relname as vectors, c.relname as part,
       x.indexrelid is not null as there, coalesce(x.indisvalid, false) as valid,
       exists (select from pg_inherits h join pg_index k on k.indexrelid = h.inhrelid
                where k.indrelid = c.oid and h.inhparent = to_regclass('hermes_memory.' || p.relname || '_near'))
       as attached
  from pg_class p
  join pg_inherits i on i.inhparent = p.oid
  join pg_class c on c.oid = i.inhrelid
  left join pg_index x on x.indexrelid = to_regclass('hermes_memory.' || c.relname || '_near')
 where p.relnamespace = 'hermes_memory'::regnamespace and p.relname = any ($1::text[])
 order by p.relname, c.oid"""

IS_THERE: Final[LiteralString] = "select to_regclass('hermes_memory.' || $1) is not null"

LOCK_SECONDS: Final = 1
LOCK_TRIES: Final = 60
LONGEST: Final = 7 * 86_400.0
"""Seconds that the graph of one partition may take: millions of vectors take hours on a small machine."""


async def index_generation(administrator: Administrator, generation: int, made: Callable[[int, int], object]) -> None:
    """Make what is missing of the index of a generation.

    The whole is valid once every part is. What a killed process left half made is dropped and made anew.
    """
    tables = [f"{kind}_vectors_g{generation:d}" for kind in ("entry", "turn")]
    async with administrator.session() as session:
        for vectors in [table for table in tables if not await session.fetchval(IS_THERE, f"{table}_near")]:
            await _briefly(
                session,
                composed(
                    "create index {index} on only hermes_memory.{vectors} "
                    "using hnsw (embedding public.halfvec_cosine_ops)",
                    index=identifier(f"{vectors}_near"),
                    vectors=identifier(vectors),
                ),
            )
        parts: Sequence[Record] = await session.fetch(PARTITIONS, tables)
        for done, part in enumerate(parts):
            made(done, len(parts))
            if not part["attached"]:
                await _index_part(session, part)
    made(len(parts), len(parts))


async def _index_part(session: Connection, part: Record) -> None:
    index, table = identifier(f"{part['part']}_near"), identifier(part["part"])
    if part["there"] and not part["valid"]:
        await session.execute(composed("drop index concurrently hermes_memory.{index}", index=index), timeout=LONGEST)
    if not part["valid"]:
        await session.execute(
            composed(
                "create index concurrently {index} on hermes_memory.{table} "
                "using hnsw (embedding public.halfvec_cosine_ops)",
                index=index,
                table=table,
            ),
            timeout=LONGEST,
        )
    whole = identifier(f"{part['vectors']}_near")
    attaching = "alter index hermes_memory.{whole} attach partition hermes_memory.{index}"
    await _briefly(session, composed(attaching, whole=whole, index=index))


async def _briefly(session: Connection, statement: Statement) -> None:
    """Run a statement that needs a strong lock for a moment: while it waits for one, all who come after wait too."""
    for tried in count(1):
        try:
            async with session.transaction():
                await session.execute(composed("set local lock_timeout = '{seconds}s'", seconds=LOCK_SECONDS))
                await session.execute(statement)
        except asyncpg.LockNotAvailableError:
            if tried == LOCK_TRIES:
                raise
            await asyncio.sleep(LOCK_SECONDS)
        else:
            return
