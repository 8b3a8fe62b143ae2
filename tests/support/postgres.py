"""A throw-away Postgres for the tests, with the extensions the library needs.

One server per test process: under pytest-xdist each worker has its own, so workers never meet. With the environment
variable ``HERMES_MEMORY_TEST_DSN`` (a superuser's DSN) that server is used, none is started, and names of databases
have to be unique: take them from `TestServer.unique_name`.
"""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Final
from urllib.parse import urlsplit, urlunsplit

import asyncpg

from hermes_memory.adapters.embedded_postgres import EmbeddedPostgres
from hermes_memory.adapters.embedded_postgres.filelock import FileLock

DSN_VARIABLE: Final = "HERMES_MEMORY_TEST_DSN"

# Nothing outlives the test run, so nothing has to survive a power cut.
_SETTINGS: Final = {
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "max_wal_size": "256MB",
    "max_connections": "200",
}
_PREFIX: Final = "hermes-memory-server-"
_ALIVE: Final = "alive.lock"
_CONNECT_SECONDS = 60.0
MEMORY = Path("/dev/shm")
_PLENTY_BYTES: Final = 8 * 1024**3
"""What is free there where it is half of a machine's memory, and a handful of servers do not fill it."""


def parent_of_clusters() -> Path:
    """Return where clusters that nobody keeps are made: in memory, where there is plenty of it.

    A copy of a database is hundreds of small files: on a disk it takes ten times as long.
    """
    with suppress(OSError):
        memory = os.statvfs(MEMORY)
        if memory.f_bavail * memory.f_frsize >= _PLENTY_BYTES and os.access(MEMORY, os.W_OK | os.X_OK):
            return MEMORY
    return Path(tempfile.gettempdir())


class TestServer:
    """A server and its databases. Use it as a context manager, once per session.

    Attributes:
        superuser_dsn: DSN of the superuser on the maintenance database.
        directory: Where the server of our own lies; None when it is not ours.
    """

    __test__ = False  # not a test, whatever its name looks like to pytest

    def __init__(self) -> None:
        self.superuser_dsn = os.environ.get(DSN_VARIABLE, "")
        self.directory: Path | None = None
        self._postgres: EmbeddedPostgres | None = None
        self._alive: FileLock | None = None

    def __enter__(self) -> TestServer:
        if not self.superuser_dsn:
            _sweep()
            self.directory, self._alive = _fresh_directory()
            self._postgres = _supervisor(self.directory)
            self.superuser_dsn = self._postgres.acquire().dsn()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._postgres and self._alive and self.directory:
            with self._alive:
                self._postgres.release()
                shutil.rmtree(self.directory)

    def dsn(self, database: str, *, user: str | None = None) -> str:
        """Return the DSN of a database for the superuser, or for a role that needs no password."""
        parts = urlsplit(self.superuser_dsn)
        place = parts.netloc.rpartition("@")[2] if user else parts.netloc
        return urlunsplit(parts._replace(netloc=f"{user}@{place}" if user else place, path=f"/{database}"))

    @staticmethod
    def unique_name(prefix: str = "test") -> str:
        """Return a name for a database or a role that no other test, worker or run uses."""
        return f"{prefix}_{secrets.token_hex(6)}"

    async def create_database(self, name: str, template: str | None = None) -> str:
        """Create a database, as a copy of the template if one is named, and return the superuser's DSN of it."""
        source = f" TEMPLATE {_quoted(template)} STRATEGY file_copy" if template else ""
        await self._execute(f"CREATE DATABASE {_quoted(name)}{source}")
        return self.dsn(name)

    async def drop_database(self, name: str) -> None:
        """Drop a database, ending the connections to it. A missing one is fine."""
        await self._execute(f"DROP DATABASE IF EXISTS {_quoted(name)} WITH (FORCE)")

    async def _execute(self, statement: str) -> None:
        connection = await asyncpg.connect(self.superuser_dsn, timeout=_CONNECT_SECONDS, command_timeout=60.0)
        try:
            await connection.execute(statement)
        finally:
            await connection.close()


def _fresh_directory() -> tuple[Path, FileLock]:
    """Return a new directory and the lock that says that its test run is alive."""
    draft = Path(tempfile.mkdtemp(prefix="hermes-memory-new-", dir=parent_of_clusters()))
    draft.chmod(0o711)
    alive = FileLock(draft / _ALIVE)
    assert alive.try_exclusive()
    # Only now may others look at it: they take a lock that is free for that of a killed run.
    return draft.rename(draft.with_name(f"{_PREFIX}{secrets.token_hex(6)}")), alive


def _supervisor(directory: Path) -> EmbeddedPostgres:
    return EmbeddedPostgres(
        directory / "postgres", settings=_SETTINGS, state_directory=directory / "state", start_timeout=100.0
    )


def _sweep() -> None:
    """Stop and remove the servers of test runs that were killed before they could do it themselves."""
    for directory in parent_of_clusters().glob(f"{_PREFIX}*"):
        # The directory may just have been removed, or be another user's.
        with suppress(FileNotFoundError, PermissionError), FileLock(directory / _ALIVE, create=False) as alive:
            if alive.try_exclusive():
                killed = _supervisor(directory)
                killed.acquire()
                killed.release()
                shutil.rmtree(directory)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
