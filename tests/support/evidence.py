"""What a store holds after a trial, in the form in which the checker compares it with what was accepted."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, LiteralString

import asyncpg

from hermes_memory.domain.model import OperationId, Role, RowId, SessionId, Subject, Target, Theme
from hermes_memory.domain.operations import Effect
from tests.support.index_and_rows import INDEX_AND_ROWS

_SECONDS: Final = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredEntry:
    """A durable memory."""

    id: RowId
    theme: Theme
    subject: Subject | None
    target: Target
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredTurn:
    """A message that was said."""

    id: RowId
    theme: Theme
    subject: Subject | None
    session: SessionId
    role: Role
    content: str
    position: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredChange:
    """A row of the history."""

    operation: OperationId
    change: str
    row: RowId
    old: str | None
    new: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Everything a trial left.

    Attributes:
        outcomes: What each operation is recorded to have done.
        vectors: First vector of each row that has any; None where nothing is embedded.
        dead: Why operations were set aside.
        index_errors: Themes and shelves where the text index does not fit the rows.
    """

    entries: Sequence[StoredEntry] = ()
    turns: Sequence[StoredTurn] = ()
    changes: Sequence[StoredChange] = ()
    outcomes: Mapping[OperationId, tuple[Effect, RowId | None]] = field(default_factory=dict)
    vectors: Mapping[RowId, Sequence[float]] | None = None
    dead: Mapping[OperationId, str] = field(default_factory=dict)
    index_errors: int = 0


_ENTRIES: Final[LiteralString] = "select id, agent_identity, subject, target, content from hermes_memory.memory_entries"
_TURNS: Final[LiteralString] = (
    "select id, agent_identity, subject, session_id, role, content, position from hermes_memory.conversations"
)
_CHANGES: Final[LiteralString] = "select operation, change, row_id, old_content, new_content from hermes_memory.history"
_OUTCOMES: Final[LiteralString] = "select operation, effect, row_id from hermes_memory.inbox"
_VECTORS: Final[LiteralString] = """
select row_id, embedding::text from hermes_memory.entry_vectors_g1 where part = 0
 union all select row_id, embedding::text from hermes_memory.turn_vectors_g1 where part = 0"""


async def gather(admin_dsn: str, *, embedded: bool, dead: Mapping[OperationId, str] | None = None) -> Evidence:
    """Read what a database holds, past the wall."""
    connection = await asyncpg.connect(admin_dsn, timeout=_SECONDS, command_timeout=_SECONDS)
    try:
        # One snapshot: what is read last must fit what is read first.
        async with connection.transaction(isolation="repeatable_read", readonly=True):
            return Evidence(
                entries=[_entry(row) for row in await connection.fetch(_ENTRIES)],
                turns=[_turn(row) for row in await connection.fetch(_TURNS)],
                changes=[_change(row) for row in await connection.fetch(_CHANGES)],
                outcomes={OperationId(row[0]): (Effect(row[1]), row[2]) for row in await connection.fetch(_OUTCOMES)},
                vectors=dict(_vector(row) for row in await connection.fetch(_VECTORS)) if embedded else None,
                dead=dead or {},
                index_errors=await connection.fetchval(INDEX_AND_ROWS),
            )
    finally:
        await connection.close()


def _entry(row: Any) -> StoredEntry:
    return StoredEntry(
        id=RowId(row[0]), theme=Theme(row[1]), subject=_subject(row[2]), target=Target(row[3]), content=row[4]
    )


def _turn(row: Any) -> StoredTurn:
    return StoredTurn(
        id=RowId(row[0]),
        theme=Theme(row[1]),
        subject=_subject(row[2]),
        session=SessionId(row[3]),
        role=Role(row[4]),
        content=row[5],
        position=row[6],
    )


def _change(row: Any) -> StoredChange:
    return StoredChange(operation=OperationId(row[0]), change=row[1], row=RowId(row[2]), old=row[3], new=row[4])


def _vector(row: Any) -> tuple[RowId, Sequence[float]]:
    return RowId(row[0]), [float(number) for number in json.loads(row[1])]


def _subject(key: bytes) -> Subject | None:
    return Subject(key) if key else None
