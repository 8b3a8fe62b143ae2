"""Keeps one row of history for each change of an entry."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, LiteralString
from uuid import uuid5

from hermes_memory.adapters.postgres.pool import Transaction
from hermes_memory.adapters.postgres.rows import columns_in_parts, json_text
from hermes_memory.domain.archive import SAID_TARGET
from hermes_memory.domain.history import ChangeKind
from hermes_memory.domain.model import Metadata, RowId, SessionId, Target
from hermes_memory.domain.operations import Stamp

SALT_BYTES: Final = 16

# The database hashes, because the moment is its own: it is taken while the entry is locked, so that the changes of an
# entry are in the order of their effect whatever the clocks of their hosts say.
NOTE: Final[LiteralString] = """
with moment as materialized (select clock_timestamp() as now)
insert into hermes_memory.history
  (agent_identity, subject, id, row_id, operation, change, target, old_content, new_content, origin, tool, session_id,
   reason, at, said_at, metadata, merged_into, salt, recorded_at, row_hash)
select $1, $2, u.*, m.now,
       sha256(u.salt || convert_to(hermes_memory.change_form(
         $1, $2, u.id, u.row_id, u.operation, u.change, u.target, u.old_content, u.new_content, u.origin, u.tool,
         u.session_id, u.reason, u.at, u.said_at, m.now, u.metadata, u.merged_into), 'UTF8'))
  from unnest($3::uuid[], $4::uuid[], $5::uuid[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[],
              $11::text[], $12::text[], $13::text[], $14::timestamptz[], $15::timestamptz[], $16::jsonb[], $17::uuid[],
              $18::bytea[])
    as u(id, row_id, operation, change, target, old_content, new_content, origin, tool, session_id, reason, at, said_at,
         metadata, merged_into, salt)
 cross join moment m"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One change of one entry: its content before, None when it is new, and after, None when it is gone.

    Attributes:
        target: None of what was said in a conversation.
        said_at: When the content after it was said or became true; what was said, when it is forgotten.
        metadata: Of an entry that is added.
        merged_into: The entry that has that content already, and stays in the place of this one.
        session: What it is about was said in; None for the session of who changes it.
    """

    what: ChangeKind
    stamp: Stamp
    row: RowId
    target: Target | None
    old: str | None
    new: str | None
    said_at: datetime | None = None
    metadata: Metadata | None = None
    merged_into: RowId | None = None
    session: SessionId | None = None


async def note(transaction: Transaction, theme: str, subject: bytes, changes: Sequence[Change]) -> None:
    """Write the history of changes of entries of one theme and subject."""
    for part in columns_in_parts(_row(change) for change in changes):
        await transaction.execute(NOTE, theme, subject, *part)


def _row(change: Change) -> tuple[object, ...]:
    stamp = change.stamp
    return (
        *(uuid5(stamp.operation, f"history {change.row}"), change.row, stamp.operation),
        *(str(change.what), str(change.target or SAID_TARGET), change.old, change.new),
        *(str(stamp.origin), stamp.tool, change.session or stamp.caller.session, stamp.reason),
        *(stamp.accepted_at, change.said_at, None if change.metadata is None else json_text(change.metadata)),
        *(change.merged_into, secrets.token_bytes(SALT_BYTES)),
    )
