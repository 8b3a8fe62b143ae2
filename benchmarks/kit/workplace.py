"""The directory of a run: made for it, removed with it, and swept up after a run that was killed."""

from __future__ import annotations

import secrets
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from hermes_memory.adapters.embedded_postgres import EmbeddedPostgres
from hermes_memory.adapters.embedded_postgres.filelock import FileLock

_PREFIX: Final = "hermes-memory-bench-"
_ALIVE: Final = "alive.lock"

# Enough connections for the peer's fifty agents. Durability stays as it is by default: complete.
SERVER_SETTINGS: Final = {"max_connections": "250", "shared_buffers": "256MB", "max_wal_size": "1GB"}


@contextmanager
def workplace() -> Iterator[Path]:
    """Make a directory that the account of an embedded server can enter too, and remove it at the end."""
    _sweep()
    draft = Path(tempfile.mkdtemp(prefix="hermes-memory-draft-"))
    draft.chmod(0o711)
    with FileLock(draft / _ALIVE) as alive:
        if not alive.try_exclusive():
            raise RuntimeError("somebody else holds the lock of a directory that was just made")
        # Only now may others look at it: they take a lock that is free for that of a killed run.
        directory = draft.rename(draft.with_name(f"{_PREFIX}{secrets.token_hex(6)}"))
        try:
            yield directory
        finally:
            shutil.rmtree(directory)


@contextmanager
def embedded_server(directory: Path, settings: Mapping[str, str] = SERVER_SETTINGS) -> Iterator[str]:
    """Run an embedded Postgres with these settings in a directory and hand out its superuser's DSN."""
    server = _supervisor(directory, settings)
    try:
        yield server.acquire().dsn()
    finally:
        server.release()


def _supervisor(directory: Path, settings: Mapping[str, str] = SERVER_SETTINGS) -> EmbeddedPostgres:
    # Nothing of it is kept, so nothing need be written out at its end.
    return EmbeddedPostgres(
        directory / "postgres",
        settings=settings,
        state_directory=directory / "state",
        start_timeout=60.0,
        stop_timeout=0.5,
    )


def _sweep() -> None:
    """Stop the servers of runs that were killed, and remove their directories."""
    for directory in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        # The directory may just have been removed, or be another user's.
        with suppress(FileNotFoundError, PermissionError), FileLock(directory / _ALIVE, create=False) as alive:
            if alive.try_exclusive():
                if (directory / "postgres").exists():
                    killed = _supervisor(directory)
                    killed.acquire()
                    killed.release()
                shutil.rmtree(directory)
