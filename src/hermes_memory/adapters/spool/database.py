"""The SQLite file of a spool: how it is made, opened and checked."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from sqlite3 import connect
from typing import Final, Literal, TypeAlias
from urllib.parse import quote

from hermes_memory.adapters.spool.changes import insert_rescued
from hermes_memory.adapters.spool.faults import READONLY
from hermes_memory.adapters.spool.files import check_file, open_private, sync_directory
from hermes_memory.adapters.spool.row import Damaged, Row, Totals
from hermes_memory.domain.errors import ConfigurationError

Synchronous: TypeAlias = Literal["FULL", "NORMAL"]
"""FULL survives a power cut and costs one fdatasync a put; NORMAL survives the death of the process only."""

PAGE_SIZE: Final = 4096
FORMAT: Final = 2
MARK: Final = 0x484D0000
"""The format is noted twice, once added to this, so that a flipped bit does not look like a newer version."""
BUSY_TIMEOUT: Final = 5.0
"""Seconds that SQLite waits for its own locks. The write lock in front makes this the exception."""

AUTOCHECKPOINT: Final = 128
"""Pages in the journal after which a commit brings it into the database."""

NOTHING: Final = Totals()

_PREPARE: Final = (
    "PRAGMA page_size = 4096",
    "PRAGMA auto_vacuum = INCREMENTAL",
    "PRAGMA secure_delete = ON",
    "PRAGMA synchronous = FULL",
    "PRAGMA user_version = 2",
    "PRAGMA application_id = 1213005826",
)
_TABLES: Final = (
    """
    CREATE TABLE operations (
        sequence   INTEGER PRIMARY KEY,
        id         BLOB NOT NULL UNIQUE,
        lane       BLOB NOT NULL,
        head       INTEGER NOT NULL,
        attempts   INTEGER NOT NULL,
        held_at    REAL NOT NULL,
        not_before REAL NOT NULL,
        buried_at  REAL,
        reason     TEXT,
        checksum   BLOB NOT NULL,
        body       BLOB NOT NULL
    )
    """,
    "CREATE INDEX waiting ON operations (lane, sequence) WHERE buried_at IS NULL",
    "CREATE INDEX heads ON operations (sequence, lane, not_before, held_at) WHERE head = 1",
    "CREATE INDEX dead ON operations (buried_at, sequence) WHERE buried_at IS NOT NULL",
    """
    CREATE TABLE counters (
        one           INTEGER PRIMARY KEY CHECK (one = 1),
        last_sequence INTEGER NOT NULL,
        kept          INTEGER NOT NULL,
        kept_bytes    INTEGER NOT NULL,
        waiting       INTEGER NOT NULL,
        waiting_bytes INTEGER NOT NULL,
        delivered     INTEGER NOT NULL DEFAULT 0,
        buried        INTEGER NOT NULL DEFAULT 0,
        discarded     INTEGER NOT NULL DEFAULT 0,
        refused       INTEGER NOT NULL DEFAULT 0
    )
    """,
)
_COUNTED: Final = (
    *("one", "last_sequence", "kept", "kept_bytes", "waiting", "waiting_bytes"),
    *("delivered", "buried", "discarded", "refused"),
)
# A process that has the file open meanwhile goes on with the columns it knows.
_FROM_FORMAT_1: Final = (
    "ALTER TABLE counters ADD COLUMN delivered INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE counters ADD COLUMN buried INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE counters ADD COLUMN discarded INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE counters ADD COLUMN refused INTEGER NOT NULL DEFAULT 0",
    "PRAGMA user_version = 2",
    "PRAGMA application_id = 1213005826",
)

# A small wal_autocheckpoint keeps the journal reusable on a full disk; secure_delete leaves no delivered text behind;
# cell_size_check meets damage where it is read and not later; temp_store has SQLite make no files of its own elsewhere.
_SET_UP: Final[tuple[str, ...]] = (
    "PRAGMA journal_mode = WAL",
    f"PRAGMA wal_autocheckpoint = {AUTOCHECKPOINT}",
    "PRAGMA journal_size_limit = 1048576",
    "PRAGMA secure_delete = ON",
    "PRAGMA temp_store = MEMORY",
    "PRAGMA cell_size_check = ON",
    "PRAGMA trusted_schema = OFF",
    "PRAGMA fullfsync = ON",
)
SYNCHRONOUS: Final[dict[Synchronous, str]] = {
    "FULL": "PRAGMA synchronous = FULL",
    "NORMAL": "PRAGMA synchronous = NORMAL",
}

CHECKED_BYTES = 8 * 1024 * 1024
"""Files up to this size are walked through when they are opened, which takes some 20 ms. Damage in a larger one is
met where it is read, by SQLite or by the checksum of the row."""
COMPARED_BYTES = 1024 * 1024
"""Files up to this size are also compared with their indexes, which takes three times as long: a wrong entry would hide
a row."""
_CHECK: Final = "PRAGMA quick_check(1)"
_THOROUGH_CHECK: Final = "PRAGMA integrity_check(1)"
_WRITE_NOTHING: Final = "DELETE FROM operations WHERE 0"
_CONSISTENT: Final = """
    SELECT typeof(last_sequence) = 'integer'
       AND last_sequence BETWEEN (SELECT coalesce(max(sequence), 0) FROM operations) AND 9007199254740991
       AND kept = (SELECT count(*) FROM operations)
       AND kept_bytes = (SELECT coalesce(sum(length(body)), 0) FROM operations)
       AND waiting = (SELECT count(*) FROM operations WHERE buried_at IS NULL)
       AND (SELECT count(*) FROM operations WHERE head = 1)
         = (SELECT count(DISTINCT lane) FROM operations WHERE buried_at IS NULL)
    FROM counters WHERE one = 1
"""


def make(path: Path, rows: Sequence[Row] = (), *, totals: Totals = NOTHING) -> None:
    """Make a complete database file with these rows and totals, durably; the file must not exist.

    Raises:
        sqlite3.Error: It cannot be written.
        OSError: It cannot be made.
    """
    os.close(open_private(path, exclusive=True))
    connection = _connect(path)
    try:
        for statement in _PREPARE:
            connection.execute(statement)
        connection.execute("BEGIN IMMEDIATE")
        for statement in _TABLES:
            connection.execute(statement)
        insert_rescued(connection, rows, totals)
        connection.execute("COMMIT")
    finally:
        connection.close()
    sync_directory(path.parent)


def open_checked(path: Path, synchronous: Synchronous, *, thorough: bool = False) -> sqlite3.Connection:
    """Open an existing spool file and make sure that it is sound, as far as that can be told at once.

    Args:
        thorough: Look at every page whatever the size, compare the indexes with the tables, and begin to write.

    Raises:
        Damaged: It is not.
        ConfigurationError: A newer version of the library made it.
        sqlite3.Error: It cannot be opened.
    """
    check_file(path)
    if path.stat().st_size < PAGE_SIZE:
        raise Damaged  # SQLite would take it for a new database, and throw its journal away
    connection = _connect(path)
    try:
        _check_format(connection)
        for statement in (*_SET_UP, SYNCHRONOUS[synchronous]):
            connection.execute(statement).fetchall()
        _check_schema(connection)
        _check(connection, path.stat().st_size, thorough=thorough)
        if thorough:
            _check_writable(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def _check(connection: sqlite3.Connection, size: int, *, thorough: bool) -> None:
    if size > CHECKED_BYTES and not thorough:
        return
    whole = thorough or size <= COMPARED_BYTES
    if connection.execute(_THOROUGH_CHECK if whole else _CHECK).fetchone() != ("ok",):
        raise Damaged
    if connection.execute(_CONSISTENT).fetchone() != (1,):
        raise Damaged


def _check_writable(connection: sqlite3.Connection, path: Path) -> None:
    """Make sure that a file which may be written does not bid SQLite not to."""
    try:
        connection.execute(_WRITE_NOTHING)
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode == READONLY and os.access(path, os.W_OK):
            raise Damaged from error
        raise


def _check_format(connection: sqlite3.Connection) -> None:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (mark,) = connection.execute("PRAGMA application_id").fetchone()
    if version == 1 and mark == 0:
        _upgrade(connection)
        return
    if mark != MARK + version:
        raise Damaged
    if version > FORMAT:
        raise ConfigurationError(
            f"the local spool has format {version}, this version knows up to {FORMAT}: upgrade hermes_memory"
        )
    if version != FORMAT:
        raise Damaged


def _check_schema(connection: sqlite3.Connection) -> None:
    """Make sure that our statements mean what they say: a table or an index may be damaged in name only."""
    stored = {str(sql).strip() for (sql,) in connection.execute("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL")}
    expected = {statement.strip() for statement in _TABLES if "TABLE counters" not in statement}
    counted = [name for (name,) in connection.execute("SELECT name FROM pragma_table_info('counters') ORDER BY cid")]
    if not expected <= stored or counted != list(_COUNTED):
        raise Damaged


def _upgrade(connection: sqlite3.Connection) -> None:
    connection.execute("BEGIN IMMEDIATE")
    try:
        for statement in _FROM_FORMAT_1:
            connection.execute(statement)
        connection.execute("COMMIT")
    except BaseException:
        with contextlib.suppress(sqlite3.Error):  # the first error is the one that counts
            connection.execute("ROLLBACK")
        raise


def _connect(path: Path) -> sqlite3.Connection:
    connection = connect(
        f"file:{quote(str(path))}?mode=rw",
        uri=True,
        isolation_level=None,
        check_same_thread=False,
        timeout=BUSY_TIMEOUT,
    )
    connection.text_factory = _text
    return connection


def _text(stored: bytes) -> str:
    return stored.decode("utf-8", "replace")
