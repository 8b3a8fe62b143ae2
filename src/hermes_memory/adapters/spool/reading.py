"""What the rows of the spool are to its callers, and what is wrong with a damaged one."""

from __future__ import annotations

from datetime import UTC, datetime
from hashlib import blake2b
from typing import Final
from uuid import UUID

from hermes_memory.adapters.spool.codec import UnknownVersion, UnreadableOperation, decode
from hermes_memory.adapters.spool.row import LATEST, DamagedRow, Row
from hermes_memory.domain.model import OperationId
from hermes_memory.domain.operations import Operation
from hermes_memory.ports.spool import DeadLetter, Kept, Spooled

CHANGED: Final = "damaged in the local spool: the checksum does not fit"
NO_OPERATION: Final = "damaged in the local spool: not an operation"
_ID_BYTES: Final = 16


def damage_of(row: Row) -> str | None:
    """Say what is wrong with a row, None when it can be delivered, by this version of the library or a newer one."""
    if not row.sound:
        return CHANGED
    try:
        decode(row.body)
    except UnknownVersion:
        return None
    except UnreadableOperation:
        return NO_OPERATION
    return None


def operation_of(row: Row) -> Operation:
    """Return the operation in a row.

    Raises:
        DamagedRow: It is not what was written.
        UnknownVersion: A newer version of the library wrote it.
    """
    if not row.sound:
        raise DamagedRow
    try:
        return decode(row.body)
    except UnreadableOperation as error:
        raise DamagedRow from error


def id_of(row: Row) -> OperationId:
    """Return the id of a row; a damaged one is told from others by what is left of it."""
    try:
        return OperationId(UUID(bytes=row.id))
    except (ValueError, TypeError):  # in a damaged file a column may hold anything
        return OperationId(UUID(bytes=blake2b(repr(row.id).encode(), digest_size=_ID_BYTES).digest()))


def spooled(row: Row) -> Spooled:
    """Return a row as what waits for delivery.

    Raises:
        DamagedRow: It is not what was written.
        UnknownVersion: A newer version of the library wrote it.
    """
    return Spooled(sequence=row.sequence, operation=operation_of(row), attempts=row.attempts)


def letter(row: Row) -> DeadLetter:
    """Return a row as a dead letter."""
    return DeadLetter(
        id=id_of(row),
        operation=_known(row),
        reason=row.reason or "",
        buried_at=_moment(row.buried_at or 0.0),
    )


def kept(row: Row, now: float) -> Kept:
    """Return a row as an operator sees it."""
    held = row.buried_at is None and row.held(now)
    return Kept(
        sequence=row.sequence,
        id=id_of(row),
        operation=_known(row),
        body=row.body,
        attempts=row.attempts,
        held_until=_moment(row.not_before) if held else None,
        buried_at=None if row.buried_at is None else _moment(row.buried_at),
        reason=row.reason,
    )


def accepted_at(row: Row) -> datetime | None:
    """Return when a row was accepted, None when only a newer version could tell.

    Raises:
        DamagedRow: It is not what was written.
    """
    try:
        return operation_of(row).stamp.accepted_at
    except UnknownVersion:  # delivery shouts; the rest of the status is still worth having
        return None


def _moment(seconds: float) -> datetime:
    """Return a time that no checksum confirms, or the oldest one where damage made it none."""
    return datetime.fromtimestamp(seconds if 0 <= seconds < LATEST else 0.0, UTC)


def _known(row: Row) -> Operation | None:
    try:
        return operation_of(row)
    except (DamagedRow, UnknownVersion):
        return None
