"""The statements that change the spool. Each function is work inside a transaction that the caller opens."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass
from typing import Final

from hermes_memory.adapters.spool.lookups import counters
from hermes_memory.adapters.spool.row import Row, checksum_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """How much is kept at most, dead letters included."""

    rows: int
    stored_bytes: int


_KNOWN: Final = "SELECT 1 FROM operations WHERE id = ?"
_COUNT_IN: Final = """
    UPDATE counters
    SET last_sequence = last_sequence + 1,
        kept = kept + 1, kept_bytes = kept_bytes + :size,
        waiting = waiting + 1, waiting_bytes = waiting_bytes + :size
    WHERE one = 1 AND kept < :rows AND kept_bytes + :size <= :stored_bytes
    RETURNING last_sequence
"""
_INSERT: Final = """
    INSERT INTO operations (sequence, id, lane, head, attempts, held_at, not_before, checksum, body)
    VALUES (:sequence, :id, :lane,
            NOT EXISTS (SELECT 1 FROM operations WHERE lane = :lane AND buried_at IS NULL),
            0, 0, 0, :checksum, :body)
"""


def insert(connection: sqlite3.Connection, operation: bytes, lane: bytes, body: bytes, bounds: Bounds) -> bool:
    """Keep an operation unless its id is known; False when a bound is reached."""
    if connection.execute(_KNOWN, (operation,)).fetchone():
        return True
    room = {"size": len(body), "rows": bounds.rows, "stored_bytes": bounds.stored_bytes}
    counted = connection.execute(_COUNT_IN, room).fetchall()
    if not counted:
        return False
    ((sequence,),) = counted
    checksum = checksum_of(sequence, operation, lane, body)
    connection.execute(
        _INSERT, {"sequence": sequence, "id": operation, "lane": lane, "checksum": checksum, "body": body}
    )
    return True


_FORGET: Final = "DELETE FROM operations WHERE id = ? AND buried_at IS NULL RETURNING lane, head, length(body)"
_COUNT_OUT: Final = """
    UPDATE counters
    SET kept = kept - :rows, kept_bytes = kept_bytes - :size,
        waiting = waiting - :rows, waiting_bytes = waiting_bytes - :size
    WHERE one = 1
"""


def forget(connection: sqlite3.Connection, operations: Iterable[bytes]) -> None:
    """Drop waiting operations."""
    dropped = [row for operation in operations for row in connection.execute(_FORGET, (operation,)).fetchall()]
    if not dropped:
        return
    connection.execute(_COUNT_OUT, {"rows": len(dropped), "size": sum(size for _, _, size in dropped)})
    _lead(connection, {lane for lane, head, _ in dropped if head})
    if counters(connection).waiting == 0:
        shrink(connection)


_FREE_PAGES: Final = "PRAGMA freelist_count"
_SHRINK: Final = "PRAGMA incremental_vacuum(1)"
_SPARE_PAGES: Final = 256


def shrink(connection: sqlite3.Connection) -> bool:
    """Give up to 1 MiB that a large file does not use back to the file system; tell whether there was so much."""
    (free,) = connection.execute(_FREE_PAGES).fetchone()
    if free <= _SPARE_PAGES:
        return False
    for _ in range(_SPARE_PAGES):  # one at a time: sqlite3 ends the statement after its first page
        connection.execute(_SHRINK)
    return True


_POSTPONE: Final = """
    UPDATE operations SET attempts = attempts + 1, held_at = :now, not_before = :now + :seconds
    WHERE id = :id AND buried_at IS NULL
"""


def postpone(connection: sqlite3.Connection, operations: Iterable[bytes], now: float, seconds: float) -> None:
    """Hold waiting operations back."""
    connection.executemany(
        _POSTPONE, [{"id": operation, "now": now, "seconds": seconds} for operation in dict.fromkeys(operations)]
    )


_BURY: Final = """
    UPDATE operations SET buried_at = :now, reason = :reason, head = 0
    WHERE id = :id AND buried_at IS NULL
    RETURNING lane, length(body)
"""
_COUNT_WAITING: Final = """
    UPDATE counters SET waiting = waiting + :rows, waiting_bytes = waiting_bytes + :size WHERE one = 1
"""


def bury(connection: sqlite3.Connection, operation: bytes, reason: str, now: float) -> None:
    """Turn a waiting operation into a dead letter."""
    buried = connection.execute(_BURY, {"id": operation, "reason": reason, "now": now}).fetchall()
    for lane, size in buried:
        connection.execute(_COUNT_WAITING, {"rows": -1, "size": -size})
        _lead(connection, {lane})


_ALL_DEAD: Final = "SELECT id FROM operations INDEXED BY dead WHERE buried_at IS NOT NULL"
_RAISE: Final = """
    UPDATE operations SET buried_at = NULL, reason = NULL, attempts = 0, held_at = 0, not_before = 0
    WHERE id = ? AND buried_at IS NOT NULL
    RETURNING lane, length(body)
"""


def raise_dead(connection: sqlite3.Connection, operations: Sequence[bytes] | None) -> int:
    """Put dead letters back at the place their sequence gives them; return how many."""
    chosen = [row[0] for row in connection.execute(_ALL_DEAD)] if operations is None else operations
    raised = [row for operation in chosen for row in connection.execute(_RAISE, (operation,)).fetchall()]
    connection.execute(_COUNT_WAITING, {"rows": len(raised), "size": sum(size for _, size in raised)})
    _lead(connection, {lane for lane, _ in raised})
    return len(raised)


_UNLEAD: Final = "UPDATE operations SET head = 0 WHERE lane = ? AND buried_at IS NULL AND head = 1"
_LEAD: Final = """
    UPDATE operations SET head = 1
    WHERE sequence = (SELECT min(sequence) FROM operations INDEXED BY waiting WHERE lane = ? AND buried_at IS NULL)
"""


def _lead(connection: sqlite3.Connection, lanes: Iterable[bytes]) -> None:
    for lane in lanes:
        connection.execute(_UNLEAD, (lane,))
        connection.execute(_LEAD, (lane,))


_RESCUED: Final = """
    INSERT INTO operations
        (sequence, id, lane, head, attempts, held_at, not_before, buried_at, reason, checksum, body)
    VALUES (?, ?, ?, 0, ?, ?, ?, ?, ?, ?, ?)
"""
_LEAD_ALL: Final = """
    UPDATE operations SET head = 1
    WHERE sequence IN (SELECT min(sequence) FROM operations WHERE buried_at IS NULL GROUP BY lane)
"""
_COUNT_ALL: Final = """
    INSERT INTO counters (one, last_sequence, kept, kept_bytes, waiting, waiting_bytes)
    SELECT 1, max(?, coalesce(max(sequence), 0)), count(*), coalesce(sum(length(body)), 0),
           count(*) FILTER (WHERE buried_at IS NULL),
           coalesce(sum(length(body)) FILTER (WHERE buried_at IS NULL), 0)
    FROM operations
"""


def insert_rescued(connection: sqlite3.Connection, rows: Iterable[Row], *, last_sequence: int) -> None:
    """Fill a new file with rows as they were, and count them."""
    connection.executemany(_RESCUED, [astuple(row) for row in rows])
    connection.execute(_LEAD_ALL)
    connection.execute(_COUNT_ALL, (last_sequence,))
