"""The pieces of work on the spool's file, each in a transaction that its caller opens, in the words of the port."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from datetime import datetime

from hermes_memory.adapters.spool import changes, lookups, reading
from hermes_memory.adapters.spool.row import Row, lane_key
from hermes_memory.domain.operations import Operation, lane_of
from hermes_memory.ports.spool import DeadLetter, Kept, Spooled


def insert(
    connection: sqlite3.Connection, operation: Operation, body: bytes, bounds: changes.Bounds, refused: int
) -> float | None:
    """Keep an operation, and note what was refused before; return how full the spool is, None when it refuses."""
    changes.count_refused(connection, refused)
    lane = lane_key(lane_of(operation))
    return changes.insert(connection, operation.stamp.operation.bytes, lane, body, bounds)


def due(connection: sqlite3.Connection, now: float, limit: int) -> list[Spooled]:
    """Return what may be delivered now, oldest first."""
    return spooled(lookups.due(connection, now, limit))


def spooled(rows: Iterable[Row]) -> list[Spooled]:
    """Read the operations in rows, which needs no connection."""
    return [reading.spooled(row) for row in rows]


def dead(connection: sqlite3.Connection) -> list[DeadLetter]:
    """Return the dead letters in the order of their burial."""
    return [reading.letter(row) for row in lookups.dead(connection)]


def kept(connection: sqlite3.Connection, now: float, after: int, limit: int) -> list[Kept]:
    """Return what is kept, waiting or dead, oldest first."""
    return [reading.kept(row, now) for row in lookups.kept(connection, after, limit)]


def snapshot(connection: sqlite3.Connection) -> tuple[lookups.Counters, datetime | None]:
    """Return what is counted, and when the oldest waiting operation was accepted."""
    oldest = lookups.oldest(connection)
    return lookups.counters(connection), None if oldest is None else reading.accepted_at(oldest)
