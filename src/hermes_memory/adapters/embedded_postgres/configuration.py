"""The server's configuration, written anew at each start so that code and cluster cannot drift apart."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from hermes_memory.adapters.embedded_postgres.address import ServerAddress
from hermes_memory.adapters.embedded_postgres.files import write_text
from hermes_memory.domain.errors import ConfigurationError

# Small and quiet, for one machine and a few agents: about 25 MB, no parallel workers (they need /dev/shm, of which
# containers have little), no replication. Durability stays complete.
DEFAULTS: Final[Mapping[str, str]] = {
    "max_connections": "50",
    "shared_buffers": "64MB",
    "maintenance_work_mem": "64MB",
    "huge_pages": "off",
    "io_method": "sync",
    "jit": "off",
    "max_worker_processes": "2",
    "max_logical_replication_workers": "0",
    "max_parallel_workers": "0",
    "max_parallel_workers_per_gather": "0",
    "max_parallel_maintenance_workers": "0",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "min_wal_size": "32MB",
    "max_wal_size": "256MB",
    "checkpoint_timeout": "15min",
    "autovacuum": "on",
    "autovacuum_max_workers": "2",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "lc_messages": "C",
    "default_text_search_config": "pg_catalog.simple",
}

# Settings that safety rests on; the caller cannot change them. The log ones keep the texts of memories out of the log:
# statements, parameters and details quote them, and so may error messages, which is why only the server's own life
# (level "log") is written.
_FIXED: Final[Mapping[str, str]] = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "allow_alter_system": "off",
    "cluster_name": "hermes_memory",
    "logging_collector": "off",
    "log_destination": "stderr",
    "log_line_prefix": "%m [%p] ",
    "log_min_messages": "log",
    "log_min_error_statement": "panic",
    "log_error_verbosity": "terse",
    "log_statement": "none",
    "log_min_duration_statement": "-1",
    "log_checkpoints": "off",
    "log_autovacuum_min_duration": "-1",
}

# Whoever reaches the socket may connect as any role. Only the owner of the directory (and root) reaches it: it has
# mode 0700. "peer" would refuse root, whose server runs as another account.
_ACCESS = "local all all trust\n"

_NAME = re.compile(r"[a-z_][a-z0-9_.]*")


def check_settings(settings: Mapping[str, str]) -> None:
    """Check settings that a caller adds to the defaults.

    Raises:
        ConfigurationError: A name is malformed or not the caller's to set.
    """
    for name, value in settings.items():
        if not _NAME.fullmatch(name) or "\n" in value:
            raise ConfigurationError(f"{name!r} is not a usable setting of the embedded Postgres")
        if name in _FIXED or name in {"unix_socket_directories", "port"}:
            raise ConfigurationError(f"The setting {name} of the embedded Postgres is fixed")


def write_configuration(data: Path, address: ServerAddress, settings: Mapping[str, str]) -> None:
    """Write ``postgresql.conf`` and ``pg_hba.conf`` into the data directory.

    Raises:
        OSError: A file cannot be written.
    """
    place = {"unix_socket_directories": os.fspath(address.socket_directory), "port": str(address.port)}
    lines = [f"{name} = {_quoted(value)}\n" for name, value in {**DEFAULTS, **settings, **_FIXED, **place}.items()]
    write_text(data / "postgresql.conf", "# Written at each start; changes are lost.\n" + "".join(lines))
    write_text(data / "pg_hba.conf", _ACCESS)


def _quoted(value: str) -> str:
    return "'" + value.replace("\\", "\\\\").replace("'", "''") + "'"
