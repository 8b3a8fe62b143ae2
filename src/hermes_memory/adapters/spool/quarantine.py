"""Setting a damaged spool file aside and going on with what can be read from it."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import reduce
from pathlib import Path

from hermes_memory.adapters.spool import database
from hermes_memory.adapters.spool.carve import Carved, carve, highest
from hermes_memory.adapters.spool.files import sync_directory
from hermes_memory.adapters.spool.reading import damage_of, id_of
from hermes_memory.adapters.spool.row import Row, Totals

logger = logging.getLogger(__name__)


def begun(path: Path) -> bool:
    """Tell whether a quarantine, or the making of a spool, was cut short here."""
    return _fresh(path).exists()


def begin_anew(path: Path) -> None:
    """Put a sound file at `path` with every operation that can be read there, and keep the damaged one beside it.

    What was an operation and is damaged becomes a dead letter.

    It may be cut short anywhere and called again: what was read is safe in the new file before the old one moves.
    The caller holds the write lock, and its connections to the old file may stay open but see old data.

    Raises:
        OSError: A file cannot be read, written or moved.
        sqlite3.Error: The new file cannot be written, for want of space for example. The old one is in place.
    """
    fresh = _fresh(path)
    rescued = _rescue(carve(path), carve(fresh))
    fresh.unlink(missing_ok=True)
    fresh.with_name(f"{fresh.name}-journal").unlink(missing_ok=True)
    database.make(fresh, [*rescued.sound, *rescued.damaged], totals=rescued.totals)
    aside = _move_aside(path)
    fresh.rename(path)
    sync_directory(path.parent)
    if aside is not None:
        logger.error(
            "the local spool was damaged: what could be read goes on, the damaged file is kept beside it",
            extra={
                "action": "spool.quarantined",
                "file": aside.name,
                "salvaged": len(rescued.sound),
                "damaged": len(rescued.damaged),
            },
        )


def set_aside(path: Path) -> list[Path]:
    """List the damaged files that are kept beside a spool."""
    return [file for file in path.parent.glob(f"{path.name}.corrupt-*") if not file.name.endswith(("-wal", "-shm"))]


def remove(path: Path) -> int:
    """Remove the damaged files beside a spool, and their journals; return how many.

    Raises:
        OSError: One of them cannot be removed.
    """
    damaged = set_aside(path)
    for file in damaged:
        for companion in ("-wal", "-shm", ""):
            file.with_name(f"{file.name}{companion}").unlink(missing_ok=True)
    return len(damaged)


def _fresh(path: Path) -> Path:
    return path.with_name(f"{path.name}.new")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rescued:
    sound: list[Row]
    damaged: list[Row]
    totals: Totals


def _rescue(*sources: Carved) -> _Rescued:
    """Return one row per id and per sequence: those that can be delivered, in their order, and what is damaged."""
    rows = {row.id: row for carved in sources for row in carved.rows.values()}
    sound = sorted((row for row in rows.values() if damage_of(row) is None), key=lambda row: row.sequence)
    no_operations = [row for row in rows.values() if damage_of(row) is not None]
    changed = [row for carved in sources for row in carved.damaged]
    totals = reduce(highest, (carved.totals for carved in sources))
    now = time.time()
    letters = _dead_letters([*no_operations, *changed], sound, totals.last_sequence, now)
    buried = totals.buried + sum(1 for letter in letters if letter.buried_at == now)
    return _Rescued(sound=sound, damaged=letters, totals=replace(totals, buried=buried))


def _dead_letters(damaged: Sequence[Row], sound: Sequence[Row], last: int, now: float) -> list[Row]:
    """Bury damaged rows, each in its own place where that is free, else after all others.

    One whose id is that of a sound row, or of another damaged one, is a copy and left out.
    """
    ids, places = {row.id for row in sound}, {row.sequence for row in sound}
    letters: list[Row] = []
    for row in damaged:
        name = id_of(row).bytes
        if name in ids:
            continue
        if row.sequence in places or row.sequence > last:
            last += 1
            sequence = last
        else:
            sequence = row.sequence
        letters.append(_buried(row, name, sequence, now))
        ids.add(name)
        places.add(sequence)
    return letters


def _buried(row: Row, name: bytes, sequence: int, now: float) -> Row:
    """Return a damaged row as a dead letter; one that was refused before keeps its reason."""
    was_dead = row.buried_at is not None and row.reason is not None
    return replace(
        row,
        id=name,
        sequence=sequence,
        buried_at=row.buried_at if was_dead else now,
        reason=row.reason if was_dead else damage_of(row),
    )


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
