"""Notes which rows wait for a vector, and forgets vectors and jobs of rows that change or go."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, LiteralString

from hermes_memory.adapters.postgres.pool import Transaction
from hermes_memory.adapters.postgres.rows import columns_in_parts
from hermes_memory.domain.model import Kind, RowId

# A statement of its own after the rows': it sees a generation that was made while the rows waited for its lock.
ENQUEUE: Final[LiteralString] = """
insert into hermes_memory.embedding_jobs (agent_identity, subject, row_id, generation, kind, content_hash, not_before)
select $1, $2, u.row_id, m.generation, u.kind, u.content_hash, now()
  from unnest($3::uuid[], $4::text[], $5::bytea[]) as u(row_id, kind, content_hash)
 cross join hermes_memory.embedding_models m
 where m.fed
    on conflict (agent_identity, row_id, generation) do nothing"""

FORGET_JOBS: Final[LiteralString] = """
delete from hermes_memory.embedding_jobs where agent_identity = $1 and subject = $2 and row_id = any ($3::uuid[])"""

FORGET_VECTORS: Final[LiteralString] = "select hermes_memory.forget_vectors($1, $2::uuid[])"


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """A row that is to have a vector of its content."""

    row: RowId
    kind: Kind
    content_hash: bytes


async def enqueue(transaction: Transaction, theme: str, subject: bytes, rows: Sequence[Waiting]) -> None:
    """Let rows of one theme and subject wait for their vectors, of every generation that is fed."""
    for part in columns_in_parts((row.row, row.kind.value, row.content_hash) for row in rows):
        await transaction.execute(ENQUEUE, theme, subject, *part)


async def forget(transaction: Transaction, theme: str, subject: bytes, row: RowId) -> None:
    """Remove a row's vectors and jobs.

    The transaction has changed or removed the row before, or of a turn the one before it, which a worker locks as well:
    one about to store a vector of the old content passes the row over, and one that stores it already is waited for.
    """
    await transaction.execute(FORGET_JOBS, theme, subject, [row])
    await transaction.execute(FORGET_VECTORS, theme, [row])
