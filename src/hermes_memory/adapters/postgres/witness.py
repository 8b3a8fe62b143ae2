"""Tells an import what is stored already, and whether what it stored is there."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Final, LiteralString

from hermes_memory.adapters.postgres import inbox
from hermes_memory.adapters.postgres.pool import Pool
from hermes_memory.adapters.postgres.rows import columns, content_hash, own_subjects
from hermes_memory.domain.model import Caller, OperationId, RowId, Theme
from hermes_memory.domain.operations import Effect, Outcome, row_id

PRESENT: Final[LiteralString] = """
select r.id from unnest($2::uuid[], $3::bytea[]) as u(id, hash)
  join hermes_memory.memory_rows r on r.agent_identity = $1 and r.id = u.id
 where sha256(convert_to(r.content, 'UTF8')) = u.hash"""

# History outlasts what is known of deliveries, and tells of entries that were changed or forgotten since.
TOLD: Final[LiteralString] = """
select distinct h.row_id from hermes_memory.history h
 where h.agent_identity = $1 and h.subject = any ($2::bytea[]) and h.row_id = any ($3::uuid[])"""

NOTE: Final[LiteralString] = """
insert into hermes_memory.memory_agents as a (agent_identity, first_seen_at, last_seen_at) values ($1, $2, $3)
    on conflict (agent_identity)
    do update set first_seen_at = least(a.first_seen_at, excluded.first_seen_at),
                  last_seen_at = greatest(a.last_seen_at, excluded.last_seen_at)"""


class PostgresWitness:
    """`Witness` on Postgres.

    Args:
        pool: Connections of the runtime role.
        timeout: Seconds that a call may take.
    """

    def __init__(self, pool: Pool, *, timeout: float = 30.0) -> None:
        self._pool = pool
        self._timeout = timeout

    async def delivered(self, caller: Caller, operations: Collection[OperationId]) -> Mapping[OperationId, Outcome]:
        """Return recorded outcomes; see `Witness.delivered`."""
        async with self._pool.transaction(caller, timeout=self._timeout, read_only=True) as transaction:
            found = await inbox.recorded(transaction, caller, list(operations))
            rows = {row_id(operation): operation for operation in operations if operation not in found}
            told = await transaction.fetch(TOLD, caller.theme, own_subjects(caller), list(rows))
        for row in (RowId(record["row_id"]) for record in told):
            found[rows[row]] = Outcome(operation=rows[row], effect=Effect.STORED, row=row)
        return found

    async def present(self, caller: Caller, rows: Mapping[RowId, str]) -> frozenset[RowId]:
        """Return rows with exactly this text; see `Witness.present`."""
        if not rows:
            return frozenset()
        wanted = columns((row, content_hash(text)) for row, text in rows.items())
        async with self._pool.transaction(caller, timeout=self._timeout, read_only=True) as transaction:
            return frozenset(RowId(found["id"]) for found in await transaction.fetch(PRESENT, caller.theme, *wanted))

    async def note_theme(self, theme: Theme, first_seen_at: datetime, last_seen_at: datetime) -> None:
        """Enter a theme into the registry; see `Witness.note_theme`."""
        async with self._pool.transaction(Caller(theme=theme), timeout=self._timeout) as transaction:
            await transaction.execute(NOTE, theme, first_seen_at, last_seen_at)
