"""Where a server is reached, and the small record of it that the processes of a home share."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from hermes_memory.adapters.embedded_postgres.files import read_text, write_text

PORT = 5432
"""Names the socket file only: nothing listens on TCP, so it cannot collide with another server."""

SUPERUSER = "postgres"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerAddress:
    """The Unix socket of a server.

    Attributes:
        socket_directory: Absolute path of the directory that holds the socket.
        port: The number in the socket's name.
        superuser: The role that owns the cluster; it connects without a password.
    """

    socket_directory: Path
    port: int = PORT
    superuser: str = SUPERUSER

    @property
    def socket_path(self) -> Path:
        """The socket itself."""
        return self.socket_directory / f".s.PGSQL.{self.port}"

    def dsn(self, *, user: str | None = None, database: str = "postgres") -> str:
        """Return a URL that libpq and asyncpg both accept.

        Args:
            user: The role to connect as; the superuser when None.
            database: The database to connect to.

        Example:
            >>> ServerAddress(socket_directory=Path("/run/hm")).dsn(user="reader", database="memory")
            'postgresql://reader@/memory?host=%2Frun%2Fhm&port=5432'
        """
        role, name, host = (
            quote(part, safe="") for part in (user or self.superuser, database, str(self.socket_directory))
        )
        return f"postgresql://{role}@/{name}?host={host}&port={self.port}"


def save_address(path: Path, address: ServerAddress) -> None:
    """Leave the address where the other processes of the home look for it.

    Raises:
        OSError: The file cannot be written.
    """
    write_text(path, json.dumps({"socket_directory": str(address.socket_directory), "port": address.port}))


def load_address(path: Path) -> ServerAddress | None:
    """Return the recorded address, or None when there is none that makes sense.

    Raises:
        OSError: The file exists and cannot be read.
    """
    text = read_text(path)
    try:
        record = json.loads(text) if text else None
        if not isinstance(record, dict):
            return None
        return ServerAddress(socket_directory=Path(str(record["socket_directory"])), port=int(record["port"]))
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return None
