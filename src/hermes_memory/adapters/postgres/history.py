"""Keeps one row of history for each change of an entry."""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final, LiteralString
from uuid import uuid5

from hermes_memory.adapters.postgres.pool import Transaction
from hermes_memory.adapters.postgres.rows import columns_in_parts
from hermes_memory.domain.model import RowId, Target
from hermes_memory.domain.operations import Stamp

SALT_BYTES: Final = 16

NOTE: Final[LiteralString] = """
insert into hermes_memory.history
  (agent_identity, subject, id, row_id, change, target, old_content, new_content, origin, tool, session_id, operation,
   at, salt, row_hash)
select $1, $2, u.* from unnest(
  $3::uuid[], $4::uuid[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[], $11::text[],
  $12::uuid[], $13::timestamptz[], $14::bytea[], $15::bytea[]) as u"""


class What(StrEnum):
    """What became of an entry."""

    ADDED = "added"
    REPLACED = "replaced"
    REMOVED = "removed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One change of one entry: its content before, None when it is new, and after, None when it is gone."""

    what: What
    stamp: Stamp
    row: RowId
    target: Target
    old: str | None
    new: str | None


async def note(transaction: Transaction, theme: str, subject: bytes, changes: Sequence[Change]) -> None:
    """Write the history of changes of entries of one theme and subject."""
    for part in columns_in_parts(_row(theme, subject, change) for change in changes):
        await transaction.execute(NOTE, theme, subject, *part)


def row_hash(salt: bytes, canonical: bytes) -> bytes:
    """Return SHA-256 over salt and canonical form, 32 bytes. Without the salt it tells nothing about the text."""
    return hashlib.sha256(salt + canonical).digest()


def canonical_form(fields: Sequence[str | None]) -> bytes:
    """Return the one spelling of a history row: its fields as a JSON array in ASCII, without spaces."""
    return json.dumps(list(fields), ensure_ascii=True, separators=(",", ":")).encode()


def _row(theme: str, subject: bytes, change: Change) -> tuple[object, ...]:
    stamp = change.stamp
    identity = uuid5(stamp.operation, f"history {change.row}")
    salt = secrets.token_bytes(SALT_BYTES)
    texts = (str(change.what), str(change.target), change.old, change.new, str(stamp.origin), stamp.tool)
    session = stamp.caller.session
    ids = (str(identity), str(change.row), str(stamp.operation))
    canonical = canonical_form([theme, subject.hex(), *ids, *texts, session, _moment(stamp.accepted_at)])
    return (
        identity,
        change.row,
        *texts,
        session,
        stamp.operation,
        stamp.accepted_at,
        salt,
        row_hash(salt, canonical),
    )


def _moment(at: datetime) -> str:
    return f"{at.timestamp():.6f}"
