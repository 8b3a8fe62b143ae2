"""Finds the waiting operations that take something away: asked before anything is shown, so it has to be cheap."""

from __future__ import annotations

import sqlite3
from typing import Final
from uuid import UUID

from hermes_memory.adapters.spool.encoding import beginning
from hermes_memory.adapters.spool.lookups import counters
from hermes_memory.domain.model import OperationId

# A lane holds either what is said or what is remembered, and its head tells which: of a backlog that is mostly turns,
# one row a lane is looked at.
_RETRACTIONS: Final = """
    SELECT w.id
    FROM operations AS first INDEXED BY heads
    CROSS JOIN operations AS w INDEXED BY waiting ON w.lane = first.lane AND w.buried_at IS NULL
    WHERE first.head = 1
      AND substr(first.body, 1, length(:turns)) <> :turns AND substr(first.body, 1, length(:delegation)) <> :delegation
      AND (substr(w.body, 1, length(:remove)) = :remove OR substr(w.body, 1, length(:replace)) = :replace)
    ORDER BY w.sequence
"""
_KINDS: Final = {kind: beginning(kind).encode() for kind in ("turns", "delegation", "remove", "replace")}


def retractions(connection: sqlite3.Connection) -> list[OperationId]:
    """Return the waiting operations that take something away, oldest first."""
    if counters(connection).waiting == 0:
        return []
    return [OperationId(UUID(bytes=operation)) for (operation,) in connection.execute(_RETRACTIONS, _KINDS)]
