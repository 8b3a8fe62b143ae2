"""The directory of the server's socket: private, and short enough for the kernel."""

from __future__ import annotations

import hashlib
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from hermes_memory.adapters.embedded_postgres.address import ServerAddress
from hermes_memory.adapters.embedded_postgres.files import make_owned_directory
from hermes_memory.adapters.embedded_postgres.layout import Layout
from hermes_memory.domain.errors import ConfigurationError

LONGEST_SOCKET_PATH = 107 if sys.platform.startswith("linux") else 103
"""Bytes of ``sun_path`` without the closing NUL."""

# Commas separate list items in Postgres and libpq; quotes, backslashes and control characters need escaping there.
_AWKWARD = re.compile(r"""[,"'\\\x00-\x1f\x7f\udc80-\udcff]""")


def make_socket_directory(layout: Layout, *, key: int) -> Path:
    """Return a directory of mode 0700, owned by the account, that can hold the socket.

    It is inside the cluster's place when the path permits, otherwise a short one of our own under XDG_RUNTIME_DIR or
    the directory for temporary files.

    Args:
        layout: The cluster.
        key: A number that tells this directory from an earlier one of the same path, so that the server of a
            deleted home is never taken for the server of its successor.

    Raises:
        ConfigurationError: A name is taken by somebody else, or no directory is short enough.
        OSError: The directory cannot be created.
    """
    account = layout.account
    for candidate in (layout.sockets, *_short_directories(layout, key)):
        if _fits(candidate) and (not account.switches or account.can_enter(candidate.parent)):
            make_owned_directory(candidate, uid=account.uid, gid=account.gid)
            return candidate
    raise ConfigurationError(
        "No directory is short enough for the socket of the embedded Postgres; set XDG_RUNTIME_DIR"
    )


def remove_socket_files(address: ServerAddress) -> None:
    """Remove what a dead server has left of its socket.

    Raises:
        OSError: A file cannot be removed.
    """
    address.socket_path.unlink(missing_ok=True)
    Path(f"{address.socket_path}.lock").unlink(missing_ok=True)


def remove_short_directory(layout: Layout, address: ServerAddress) -> None:
    """Remove a socket directory outside the place, if it is empty. The next start makes it again."""
    if address.socket_directory != layout.sockets:
        with suppress(OSError):  # not empty, or already gone: then there is nothing to tidy
            address.socket_directory.rmdir()


def _fits(directory: Path) -> bool:
    path = os.fspath(ServerAddress(socket_directory=directory).socket_path)
    return len(os.fsencode(path)) <= LONGEST_SOCKET_PATH and not _AWKWARD.search(path)


def _short_directories(layout: Layout, key: int) -> Iterator[Path]:
    digest = hashlib.sha256(os.fsencode(layout.directory) + f"\0{layout.account.uid}\0{key}".encode()).hexdigest()[:16]
    for base in (os.environ.get("XDG_RUNTIME_DIR"), tempfile.gettempdir(), "/tmp"):  # noqa: S108 - 0700, owner checked
        if base and Path(base).is_absolute() and os.access(base, os.W_OK | os.X_OK):
            yield Path(base) / f"hermes-memory-{layout.account.uid}-{digest}"
