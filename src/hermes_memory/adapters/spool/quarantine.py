"""Setting a damaged spool file aside and going on with what can be read from it."""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from pathlib import Path

from hermes_memory.adapters.spool import database
from hermes_memory.adapters.spool.carve import Carved, carve
from hermes_memory.adapters.spool.codec import UnknownVersion, UnreadableOperation, decode
from hermes_memory.adapters.spool.files import sync_directory
from hermes_memory.adapters.spool.row import Row

logger = logging.getLogger(__name__)


def begun(path: Path) -> bool:
    """Tell whether a quarantine, or the making of a spool, was cut short here."""
    return _fresh(path).exists()


def begin_anew(path: Path) -> None:
    """Put a sound file at `path` with every operation that can be read there, and keep the damaged one beside it.

    It may be cut short anywhere and called again: what was read is safe in the new file before the old one moves.
    The caller holds the write lock, and its connections to the old file may stay open but see old data.

    Raises:
        OSError: A file cannot be read, written or moved.
        sqlite3.Error: The new file cannot be written, for want of space for example. The old one is in place.
    """
    fresh = _fresh(path)
    rows, last_sequence, lost = _readable(carve(path), carve(fresh))
    fresh.unlink(missing_ok=True)
    fresh.with_name(f"{fresh.name}-journal").unlink(missing_ok=True)
    database.make(fresh, rows, last_sequence=last_sequence)
    aside = _move_aside(path)
    fresh.rename(path)
    sync_directory(path.parent)
    if aside is not None:
        logger.error(
            "the local spool was damaged: what could be read goes on, the damaged file is kept beside it",
            extra={"action": "spool.quarantined", "file": aside.name, "salvaged": len(rows), "unreadable": lost},
        )


def set_aside(path: Path) -> list[Path]:
    """List the damaged files that are kept beside a spool."""
    return [file for file in path.parent.glob(f"{path.name}.corrupt-*") if not file.name.endswith(("-wal", "-shm"))]


def _fresh(path: Path) -> Path:
    return path.with_name(f"{path.name}.new")


def _readable(*sources: Carved) -> tuple[list[Row], int, int]:
    """Return one row per id in their order, the last sequence, and how many are no operations."""
    rows = {row.id: row for carved in sources for row in carved.rows.values()}
    kept = [row for row in rows.values() if _known(row)]
    kept.sort(key=lambda row: row.sequence)
    return kept, max(carved.last_sequence for carved in sources), len(rows) - len(kept)


def _known(row: Row) -> bool:
    try:
        decode(row.body)
    except UnknownVersion:
        return True
    except UnreadableOperation:
        return False
    return True


def _move_aside(path: Path) -> Path | None:
    """Move a file and its journal; the journal first, because it must never meet the new file."""
    aside = path.with_name(f"{path.name}.corrupt-{datetime.now(UTC):%Y%m%dT%H%M%S%fZ}")
    journal = path.with_name(f"{path.name}-wal")
    if journal.exists():
        journal.rename(aside.with_name(f"{aside.name}-wal"))
    path.with_name(f"{path.name}-shm").unlink(missing_ok=True)
    if not path.exists():
        return None
    path.rename(aside)
    return aside
