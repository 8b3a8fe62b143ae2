"""The statements that change the spool. Each function is work inside a transaction that the caller opens."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import asdict, astuple, dataclass
from typing import Final

from hermes_memory.adapters.spool.lookups import counters, row_of, waiting
from hermes_memory.adapters.spool.reading import damage_of
from hermes_memory.adapters.spool.row import Damaged, Row, Totals, checksum_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """How much is kept at most, dead letters included."""

    rows: int
    stored_bytes: int

    def fill(self, rows: int, stored_bytes: int) -> float:
        """Return which share of the tighter bound is taken."""
        return max(rows / self.rows, stored_bytes / self.stored_bytes)


_KNOWN: Final = "SELECT 1 FROM operations WHERE id = ?"
_ROOM: Final = "SELECT last_sequence, kept, kept_bytes FROM counters WHERE one = 1"
_COUNT_IN: Final = """
    UPDATE counters
    SET last_sequence = :last,
        kept = kept + 1, kept_bytes = kept_bytes + :size,
        waiting = waiting + 1, waiting_bytes = waiting_bytes + :size
    WHERE one = 1
"""
_COUNT_REFUSED: Final = "UPDATE counters SET refused = refused + ? WHERE one = 1"
_INSERT: Final = """
    INSERT INTO operations (sequence, id, lane, head, attempts, held_at, not_before, checksum, body)
    VALUES (:sequence, :id, :lane, NOT EXISTS (SELECT 1 FROM operations WHERE lane = :lane AND buried_at IS NULL),
            0, 0, 0, :checksum, :body)
"""
_LAST: Final = 1 << 53
"""No sequence is so high: see the check of a file that is opened."""


def insert(connection: sqlite3.Connection, operation: bytes, lane: bytes, body: bytes, bounds: Bounds) -> float | None:
    """Keep an operation unless its id is known; return how full the spool is then, None when it was refused."""
    last, kept, kept_bytes = room(connection)
    if kept >= bounds.rows or kept_bytes + len(body) > bounds.stored_bytes:
        if _is_known(connection, operation):
            return bounds.fill(kept, kept_bytes)
        count_refused(connection, 1)
        return None
    sequence = last + 1
    checksum = checksum_of(sequence, operation, lane, body)
    row = {"sequence": sequence, "id": operation, "lane": lane, "checksum": checksum, "body": body}
    try:
        connection.execute(_INSERT, row)
    except sqlite3.IntegrityError:  # hardly ever, so that nothing is asked beforehand
        if not _is_known(connection, operation):
            raise
        return bounds.fill(kept, kept_bytes)
    connection.execute(_COUNT_IN, {"last": sequence, "size": len(body)})
    return bounds.fill(kept + 1, kept_bytes + len(body))


def room(connection: sqlite3.Connection) -> tuple[int, int, int]:
    """Return the last sequence that was given, how many operations are kept, and the size of their bodies."""
    found = connection.execute(_ROOM).fetchone()
    if found is None:
        raise Damaged
    last, kept, kept_bytes = found
    if not (isinstance(last, int) and isinstance(kept, int) and isinstance(kept_bytes, int)) or last >= _LAST:
        raise Damaged
    return last, kept, kept_bytes


def _is_known(connection: sqlite3.Connection, operation: bytes) -> bool:
    return connection.execute(_KNOWN, (operation,)).fetchone() is not None


def count_refused(connection: sqlite3.Connection, refused: int) -> None:
    """Note that operations were refused."""
    if refused:
        connection.execute(_COUNT_REFUSED, (refused,))


_FORGET: Final = "DELETE FROM operations WHERE id = ? AND buried_at IS NULL RETURNING lane, head, length(body)"
_COUNT_OUT: Final = """
    UPDATE counters
    SET kept = kept - :rows, kept_bytes = kept_bytes - :size,
        waiting = waiting - :rows, waiting_bytes = waiting_bytes - :size,
        delivered = delivered + :rows
    WHERE one = 1
"""


def forget(connection: sqlite3.Connection, operations: Iterable[bytes]) -> None:
    """Drop waiting operations that had their effect."""
    dropped = [row for operation in operations for row in connection.execute(_FORGET, (operation,)).fetchall()]
    if not dropped:
        return
    connection.execute(_COUNT_OUT, {"rows": len(dropped), "size": sum(size for _, _, size in dropped)})
    _lead(connection, {lane for lane, head, _ in dropped if head})
    if counters(connection).waiting == 0:
        shrink(connection)


_DISCARD: Final = """
    DELETE FROM operations WHERE id = ? AND (buried_at IS NOT NULL OR NOT ?)
    RETURNING lane, head, length(body), buried_at IS NULL
"""
_COUNT_DISCARDED: Final = """
    UPDATE counters
    SET kept = kept - :rows, kept_bytes = kept_bytes - :size,
        waiting = waiting - :waiting, waiting_bytes = waiting_bytes - :waiting_size,
        discarded = discarded + :rows
    WHERE one = 1
"""


def discard(connection: sqlite3.Connection, operations: Iterable[bytes], *, dead_only: bool) -> int:
    """Drop operations, dead letters or waiting ones as well, that had no effect; return how many."""
    dropped = [
        row for operation in operations for row in connection.execute(_DISCARD, (operation, dead_only)).fetchall()
    ]
    sizes = [(size, waits) for _, _, size, waits in dropped]
    counted = {
        "rows": len(sizes),
        "size": sum(size for size, _ in sizes),
        "waiting": sum(waits for _, waits in sizes),
        "waiting_size": sum(size for size, waits in sizes if waits),
    }
    if dropped:
        connection.execute(_COUNT_DISCARDED, counted)
        _lead(connection, {lane for lane, head, _, _ in dropped if head})
        shrink(connection)
    return len(dropped)


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
_COUNT_BURIED: Final = """
    UPDATE counters SET waiting = waiting - 1, waiting_bytes = waiting_bytes - ?, buried = buried + 1 WHERE one = 1
"""
_COUNT_RAISED: Final = """
    UPDATE counters SET waiting = waiting + :rows, waiting_bytes = waiting_bytes + :size WHERE one = 1
"""


def bury(connection: sqlite3.Connection, operation: bytes, reason: str, now: float) -> None:
    """Turn a waiting operation into a dead letter."""
    buried = connection.execute(_BURY, {"id": operation, "reason": reason, "now": now}).fetchall()
    for lane, size in buried:
        connection.execute(_COUNT_BURIED, (size,))
        _lead(connection, {lane})


def bury_damaged(connection: sqlite3.Connection, now: float) -> int:
    """Turn every waiting operation that is not what was written into a dead letter; return how many."""
    damaged = [(row.id, damage) for row in waiting(connection) if (damage := damage_of(row))]
    for operation, damage in damaged:
        bury(connection, operation, damage, now)
    return len(damaged)


_ALL_DEAD: Final = "SELECT id FROM operations INDEXED BY dead WHERE buried_at IS NOT NULL"
_RAISE: Final = """
    UPDATE operations SET buried_at = NULL, reason = NULL, attempts = 0, held_at = 0, not_before = 0
    WHERE id = ? AND buried_at IS NOT NULL
    RETURNING lane, length(body)
"""


def raise_dead(connection: sqlite3.Connection, operations: Sequence[bytes] | None) -> int:
    """Put dead letters that can be delivered back at the place their sequence gives them; return how many."""
    chosen = [row[0] for row in connection.execute(_ALL_DEAD)] if operations is None else operations
    sound = [id_ for id_ in chosen if (row := row_of(connection, id_)) is not None and damage_of(row) is None]
    raised = [row for operation in sound for row in connection.execute(_RAISE, (operation,)).fetchall()]
    connection.execute(_COUNT_RAISED, {"rows": len(raised), "size": sum(size for _, size in raised)})
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
    INSERT INTO counters (one, last_sequence, kept, kept_bytes, waiting, waiting_bytes,
                          delivered, buried, discarded, refused)
    SELECT 1, max(:last_sequence, coalesce(max(sequence), 0)), count(*), coalesce(sum(length(body)), 0),
           count(*) FILTER (WHERE buried_at IS NULL),
           coalesce(sum(length(body)) FILTER (WHERE buried_at IS NULL), 0),
           :delivered, :buried, :discarded, :refused
    FROM operations
"""


def insert_rescued(connection: sqlite3.Connection, rows: Iterable[Row], totals: Totals) -> None:
    """Fill a new file with rows as they were, and count them."""
    connection.executemany(_RESCUED, [astuple(row) for row in rows])
    connection.execute(_LEAD_ALL)
    connection.execute(_COUNT_ALL, asdict(totals))
