"""Moving what lies in the intake into the database, within a transaction that the caller opens."""

from __future__ import annotations

import logging
import sqlite3
import time
from collections.abc import Sequence
from typing import Final

from hermes_memory.adapters.spool.changes import room
from hermes_memory.adapters.spool.reading import CHANGED
from hermes_memory.adapters.spool.records import Record
from hermes_memory.adapters.spool.row import checksum_of

logger = logging.getLogger(__name__)

_TAKE: Final = """
    INSERT INTO operations (sequence, id, lane, head, attempts, held_at, not_before, checksum, body)
    VALUES (:sequence, :id, :lane, NOT EXISTS (SELECT 1 FROM operations WHERE lane = :lane AND buried_at IS NULL),
            0, 0, 0, :checksum, :body)
    ON CONFLICT (id) DO NOTHING
"""
_BURY: Final = """
    INSERT INTO operations
        (sequence, id, lane, head, attempts, held_at, not_before, buried_at, reason, checksum, body)
    VALUES (?, ?, ?, 0, 0, 0, 0, ?, ?, ?, ?)
    ON CONFLICT (id) DO NOTHING
"""
_COUNT: Final = """
    UPDATE counters
    SET last_sequence = :last,
        kept = kept + :waiting + :buried, kept_bytes = kept_bytes + :waiting_bytes + :buried_bytes,
        waiting = waiting + :waiting, waiting_bytes = waiting_bytes + :waiting_bytes,
        buried = buried + :buried
    WHERE one = 1
"""


def fold(connection: sqlite3.Connection, waiting: Sequence[Record]) -> None:
    """Number records and keep them, in their order, damaged ones as dead letters. Ids that are known are passed over.

    Raises:
        Damaged: The counters of the database are no counters.
    """
    first, _, _ = room(connection)
    last = first
    taken: list[Record] = []
    for record in waiting:
        if _keep(connection, last + 1, record):
            last += 1
            taken.append(record)
    _count(connection, last, taken)
    if buried := sum(not record.sound for record in taken):
        logger.error(
            "writes were damaged in the local spool: they are kept among the dead letters",
            extra={"action": "spool.damaged", "buried": buried},
        )


def _keep(connection: sqlite3.Connection, sequence: int, record: Record) -> bool:
    """Keep one record; False when its id is known."""
    if record.sound:
        row = {
            "sequence": sequence,
            "id": record.operation,
            "lane": record.lane,
            "checksum": checksum_of(sequence, record.operation, record.lane, record.body),
            "body": record.body,
        }
        return connection.execute(_TAKE, row).rowcount > 0
    remains = (record.operation, record.lane, time.time(), CHANGED, record.checksum, record.body)
    return connection.execute(_BURY, (sequence, *remains)).rowcount > 0


def _count(connection: sqlite3.Connection, last: int, taken: Sequence[Record]) -> None:
    sizes = {sound: [len(record.body) for record in taken if record.sound is sound] for sound in (True, False)}
    counted = {
        "last": last,
        "waiting": len(sizes[True]),
        "waiting_bytes": sum(sizes[True]),
        "buried": len(sizes[False]),
        "buried_bytes": sum(sizes[False]),
    }
    connection.execute(_COUNT, counted)
