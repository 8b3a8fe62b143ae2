"""The statements that read the spool."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from hermes_memory.adapters.spool.row import LONGEST_HOLD, Damaged, Row


@dataclass(frozen=True, slots=True)
class Counters:
    """What is kept, the columns in their order. `waiting` and `waiting_bytes` leave the dead letters out."""

    last_sequence: int
    kept: int
    kept_bytes: int
    waiting: int
    waiting_bytes: int
    delivered: int
    buried: int
    discarded: int
    refused: int


# SQLite takes the rows of a recursive query with ORDER BY from a priority queue, so this merges the lanes by sequence
# and touches `limit` rows whatever waits behind them. A hold that began in the future is void, because the clock was
# set back, and so is one that is longer than any, because no checksum guards it.
_DUE: Final = """
    WITH RECURSIVE
    first (sequence, lane) AS (
        SELECT sequence, lane FROM operations INDEXED BY heads
        WHERE head = 1 AND (not_before <= :now OR held_at > :now OR not_before > held_at + :longest)
        ORDER BY sequence LIMIT :limit
    ),
    ready (sequence, lane) AS (
        SELECT sequence, lane FROM first
        UNION ALL
        SELECT next.sequence, next.lane
        FROM ready JOIN operations AS next ON next.sequence = (
            SELECT min(sequence) FROM operations INDEXED BY waiting
            WHERE lane = ready.lane AND sequence > ready.sequence AND buried_at IS NULL
        )
        WHERE next.not_before <= :now OR next.held_at > :now OR next.not_before > next.held_at + :longest
        ORDER BY 1 LIMIT :limit
    )
    SELECT o.sequence, o.id, o.lane, o.attempts, o.held_at, o.not_before, o.buried_at, o.reason, o.checksum, o.body
    FROM ready JOIN operations AS o ON o.sequence = ready.sequence
    ORDER BY o.sequence
"""


def due(connection: sqlite3.Connection, now: float, limit: int) -> list[Row]:
    """Return up to `limit` rows that may be delivered, oldest first."""
    return [
        Row(*columns) for columns in connection.execute(_DUE, {"now": now, "limit": limit, "longest": LONGEST_HOLD})
    ]


_PENDING: Final = "SELECT 1 FROM operations WHERE id = ? AND buried_at IS NULL"


def pending(connection: sqlite3.Connection, operation: bytes) -> bool:
    """Tell whether an operation waits."""
    return connection.execute(_PENDING, (operation,)).fetchone() is not None


# One statement takes the locks of a reader once. The ids, of 16 bytes each, come as one value: SQLite knows no lists.
_STILL_PENDING: Final = """
    WITH RECURSIVE asked (place) AS (SELECT 0 UNION ALL SELECT place + 1 FROM asked WHERE place + 1 < :count)
    SELECT o.id FROM asked CROSS JOIN operations AS o ON o.id = substr(:ids, place * 16 + 1, 16)
    WHERE o.buried_at IS NULL
"""


def still_pending(connection: sqlite3.Connection, operations: Sequence[bytes]) -> set[bytes]:
    """Return which of these operations wait."""
    asked = {"ids": b"".join(operations), "count": len(operations)}
    return {operation for (operation,) in connection.execute(_STILL_PENDING, asked)}


_PENDING_AFTER: Final = """
    SELECT count(*) FROM operations INDEXED BY waiting WHERE buried_at IS NULL AND sequence > ?
"""


def pending_before(connection: sqlite3.Connection, sequence: int | None) -> int:
    """Count what waits up to a sequence: all but what came after it, for that is mostly nothing."""
    counted = counters(connection)
    if sequence is None or sequence >= counted.last_sequence or counted.waiting == 0:
        return counted.waiting
    (after,) = connection.execute(_PENDING_AFTER, (sequence,)).fetchone()
    return counted.waiting - int(after)


_COUNTERS: Final = """
    SELECT last_sequence, kept, kept_bytes, waiting, waiting_bytes, delivered, buried, discarded, refused
    FROM counters WHERE one = 1
"""


def counters(connection: sqlite3.Connection) -> Counters:
    """Return what the spool holds, without counting it."""
    columns = connection.execute(_COUNTERS).fetchone()
    if columns is None or not all(isinstance(column, int) for column in columns):
        raise Damaged
    return Counters(*columns)


_OLDEST: Final = """
    SELECT sequence, id, lane, attempts, held_at, not_before, buried_at, reason, checksum, body
    FROM operations WHERE sequence = (SELECT min(sequence) FROM operations INDEXED BY heads WHERE head = 1)
"""
_DEAD: Final = """
    SELECT sequence, id, lane, attempts, held_at, not_before, buried_at, reason, checksum, body
    FROM operations INDEXED BY dead WHERE buried_at IS NOT NULL ORDER BY buried_at, sequence
"""
_WAITING: Final = """
    SELECT sequence, id, lane, attempts, held_at, not_before, buried_at, reason, checksum, body
    FROM operations WHERE buried_at IS NULL ORDER BY sequence
"""
_KEPT: Final = """
    SELECT sequence, id, lane, attempts, held_at, not_before, buried_at, reason, checksum, body
    FROM operations WHERE sequence > ? ORDER BY sequence LIMIT ?
"""
_ONE: Final = """
    SELECT sequence, id, lane, attempts, held_at, not_before, buried_at, reason, checksum, body
    FROM operations WHERE id = ?
"""
_REASON: Final = "SELECT reason FROM operations WHERE id = ? AND buried_at IS NOT NULL"


def oldest(connection: sqlite3.Connection) -> Row | None:
    """Return the waiting row that was accepted first."""
    columns = connection.execute(_OLDEST).fetchone()
    return None if columns is None else Row(*columns)


def dead(connection: sqlite3.Connection) -> list[Row]:
    """Return the dead letters, in the order of their burial."""
    return [Row(*columns) for columns in connection.execute(_DEAD)]


def waiting(connection: sqlite3.Connection) -> Iterator[Row]:
    """Return what waits, in the order of acceptance."""
    return (Row(*columns) for columns in connection.execute(_WAITING))


def kept(connection: sqlite3.Connection, after: int, limit: int) -> list[Row]:
    """Return up to `limit` rows, waiting or dead, whose sequence is above `after`, in the order of acceptance."""
    return [Row(*columns) for columns in connection.execute(_KEPT, (after, limit))]


def row_of(connection: sqlite3.Connection, operation: bytes) -> Row | None:
    """Return the row of an operation, None when it is not kept."""
    columns = connection.execute(_ONE, (operation,)).fetchone()
    return None if columns is None else Row(*columns)


def dead_reason(connection: sqlite3.Connection, operation: bytes) -> str | None:
    """Return why an operation was buried, None when it was not."""
    found = connection.execute(_REASON, (operation,)).fetchone()
    return None if found is None else str(found[0])


_DATA_VERSION: Final = "PRAGMA data_version"
_CHECKPOINT: Final = "PRAGMA wal_checkpoint(PASSIVE)"


def data_version(connection: sqlite3.Connection) -> int:
    """Return a number that changes when another connection commits."""
    (version,) = connection.execute(_DATA_VERSION).fetchone()
    return int(version)


def checkpoint(connection: sqlite3.Connection) -> None:
    """Write the journal back into the file, as far as readers allow."""
    connection.execute(_CHECKPOINT).fetchall()
