"""What a power cut may undo, and what not; and when the file is let go of."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from hermes_memory.adapters.spool import database
from hermes_memory.adapters.spool.connection import SpoolConnection
from hermes_memory.adapters.spool.database import Synchronous
from hermes_memory.adapters.spool.write_lock import WriteLock

LEVELS: dict[Synchronous, int] = {"NORMAL": 1, "FULL": 2}


def opened(directory: Path, synchronous: Synchronous) -> SpoolConnection:
    path = directory / "spool-a.db"
    database.make(path)
    return SpoolConnection(path, synchronous, WriteLock(path.with_suffix(".lock"), timeout=5.0))


def level(connection: SpoolConnection) -> int:
    (found,) = connection.get().execute("PRAGMA synchronous").fetchone()
    return int(found)


@pytest.mark.parametrize("synchronous", LEVELS)
def test_only_relaxed_work_does_not_wait_for_the_disk(tmp_path: Path, synchronous: Synchronous) -> None:
    connection = opened(tmp_path, synchronous)
    with connection.relaxed():
        relaxed = level(connection)
    afterwards = level(connection)
    connection.close()

    assert (relaxed, afterwards) == (LEVELS["NORMAL"], LEVELS[synchronous])


def test_work_waits_for_the_disk_again_when_relaxed_work_failed(tmp_path: Path) -> None:
    connection = opened(tmp_path, "FULL")
    with pytest.raises(sqlite3.OperationalError), connection.relaxed():
        connection.get().execute("SELECT 1 FROM nowhere")
    afterwards = level(connection)
    connection.close()

    assert afterwards == LEVELS["FULL"]


def test_a_connection_that_cannot_be_told_to_wait_for_the_disk_is_replaced(tmp_path: Path) -> None:
    connection = opened(tmp_path, "FULL")

    def refuse(action: int, name: str | None, *_: object) -> int:
        return sqlite3.SQLITE_DENY if action == sqlite3.SQLITE_PRAGMA and name == "synchronous" else sqlite3.SQLITE_OK

    with pytest.raises(sqlite3.DatabaseError), connection.relaxed():
        connection.get().set_authorizer(refuse)
    afterwards = level(connection)
    connection.close()

    assert afterwards == LEVELS["FULL"]


def test_a_connection_that_nobody_closes_ends_with_its_owner(tmp_path: Path) -> None:
    connection = opened(tmp_path, "FULL")
    connection.close()
    late = connection.get()
    del connection

    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        late.execute("SELECT 1")
