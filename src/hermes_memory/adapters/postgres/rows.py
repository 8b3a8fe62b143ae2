"""Reads the rows of the database as the nouns of the domain, and writes values as the database wants them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from hermes_memory.adapters.postgres.pacing import VALUES_A_STATEMENT
from hermes_memory.domain.model import (
    NO_METADATA,
    Caller,
    Entry,
    Kind,
    Metadata,
    Origin,
    Role,
    Row,
    RowId,
    Subject,
    Target,
    Turn,
)

if TYPE_CHECKING:
    import asyncpg

    Record: TypeAlias = asyncpg.Record

_ORIGINS: Final = {str(origin): origin for origin in Origin}
_ROLES: Final = {str(role): role for role in Role}
_TARGETS: Final = {str(target): target for target in Target}
_TURN: Final = str(Kind.TURN)
# Looking a name up here takes a quarter of the time of asking the enumeration, and an answer reads hundreds of rows.

NOBODY: Final = b""
"""How the database writes "no subject"."""


def subject_key(subject: Subject | None) -> bytes:
    """Return a subject as the database writes it."""
    return subject or NOBODY


def own_subjects(caller: Caller) -> list[bytes]:
    """Return the subjects whose rows a caller may meet within a readable theme: nobody's and its own."""
    return [NOBODY, *persons(caller)]


def persons(caller: Caller) -> list[bytes]:
    """Return the subjects that are the caller: its own, and others of the same person; none for nobody."""
    return [caller.subject, *sorted(caller.also)] if caller.subject else []


def content_hash(content: str) -> bytes:
    """Return the SHA-256 of a content, 32 bytes. Half a surrogate pair, which the database refuses, has one as well."""
    return hashlib.sha256(content.encode("utf-8", "surrogatepass")).digest()


def json_text(metadata: Metadata) -> str:
    """Return metadata as JSON."""
    return json.dumps(dict(metadata)) if metadata else "{}"


def columns(rows: Iterable[tuple[Any, ...]]) -> list[list[Any]]:
    """Turn at least one row of equal lengths into columns, as `unnest` wants them."""
    return [list(column) for column in zip(*rows, strict=True)]


def columns_in_parts(rows: Iterable[tuple[Any, ...]]) -> Iterator[list[list[Any]]]:
    """Turn rows of equal lengths into columns, in parts that are made and encoded quickly; none when there are no rows.

    The rows are taken one part at a time, so that what makes them need not make all at once.
    """
    coming = iter(rows)
    for first in coming:
        others = max(1, VALUES_A_STATEMENT // len(first)) - 1
        yield columns([first, *islice(coming, others)])


# The values of a record are passed on as they are: calls that only name their types take longer than reading them.


def row_of(record: Record) -> Row:
    """Read a row of the view `memory_rows`."""
    return turn_of(record) if record["kind"] == _TURN else entry_of(record)


def entry_of(record: Record) -> Entry:
    """Read a row of the view `memory_rows` that is an entry."""
    return Entry(
        id=record["id"],
        theme=record["agent_identity"],
        subject=record["subject"] or None,
        target=_TARGETS[record["target"]],
        content=record["content"],
        at=utc(record["at"]),
        updated_at=utc(record["updated_at"]),
        origin=_ORIGINS[record["origin"]],
        session=record["session_id"],
        source=record["source"],
        metadata=NO_METADATA if (metadata := record["metadata"]) == "{}" else _metadata(metadata),
        operation=record["operation"],
        tool=record["tool"],
    )


def turn_of(record: Record) -> Turn:
    """Read a row of the view `memory_rows` that is a turn."""
    return Turn(
        id=record["id"],
        theme=record["agent_identity"],
        subject=record["subject"] or None,
        session=record["session_id"],
        role=_ROLES[record["role"]],
        content=record["content"],
        at=utc(record["at"]),
        origin=_ORIGINS[record["origin"]],
        position=record["position"],
        speaker=record["speaker"],
        metadata=NO_METADATA if (metadata := record["metadata"]) == "{}" else _metadata(metadata),
        operation=record["operation"],
    )


def row_id_of(record: Record) -> RowId:
    """Read the id of a row."""
    return RowId(record["id"])


def subject_of(record: Record) -> Subject | None:
    """Read the subject of a row."""
    return Subject(record["subject"]) if record["subject"] else None


def utc(moment: datetime) -> datetime:
    """Return a moment in UTC. What the driver gives for infinity has no zone, and cannot be converted from one."""
    if moment.tzinfo is UTC:  # as the driver gives every other one
        return moment
    return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)


def _metadata(text: str) -> Metadata:
    read: Mapping[str, Any] = json.loads(text)
    return read or NO_METADATA
