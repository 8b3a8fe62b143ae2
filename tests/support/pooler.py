"""A PgBouncer in transaction mode before a test's server. The system's package of that name has to be installed."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final
from urllib.parse import parse_qs, quote, urlsplit

from tests.support.postgres import TestServer

PORT: Final = 6432
SERVER_CONNECTIONS: Final = 3
_SECONDS: Final = 30.0
_SETTINGS: Final = """
[databases]
* = host={host} port={port}
[pgbouncer]
listen_addr =
listen_port = {own_port}
unix_socket_dir = {folder}
auth_type = trust
auth_file = {folder}/users.txt
pool_mode = transaction
default_pool_size = {connections}
max_client_conn = 200
ignore_startup_parameters = extra_float_digits
logfile = {folder}/pooler.log
pidfile = {folder}/pooler.pid
"""


@contextmanager
def pooler(server: TestServer, roles: Sequence[str]) -> Iterator[Path]:
    """Run a pooler for these roles while the block lasts; give the folder of its socket."""
    binary = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    assert binary, "pgbouncer is not installed: take it from the system's packages"
    told = parse_qs(urlsplit(server.superuser_dsn).query)
    host, port = told["host"][0], told["port"][0]
    folder = Path(tempfile.mkdtemp(prefix="hermes-memory-pooler-"))
    account = pwd.getpwuid(Path(host).stat().st_uid)
    try:
        settings = _SETTINGS.format(host=host, port=port, own_port=PORT, folder=folder, connections=SERVER_CONNECTIONS)
        (folder / "pooler.ini").write_text(settings)
        (folder / "users.txt").write_text("".join(f'"{role}" ""\n' for role in roles))
        for path in (folder, *folder.iterdir()):
            os.chown(path, account.pw_uid, account.pw_gid)
        # It refuses to run as root.
        identity = ["-u", account.pw_name] if os.geteuid() == 0 else []
        process = subprocess.Popen([binary, "-q", *identity, str(folder / "pooler.ini")])
        try:
            _await(folder / f".s.PGSQL.{PORT}", process)
            yield folder
        finally:
            process.terminate()
            process.wait(_SECONDS)
    finally:
        shutil.rmtree(folder)


def pooled_dsn(folder: Path, role: str, database: str) -> str:
    """Return the address of a database through the pooler."""
    return f"postgresql://{quote(role)}@/{quote(database)}?host={quote(str(folder), safe='')}&port={PORT}"


def _await(socket: Path, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + _SECONDS
    while not socket.exists():
        assert process.poll() is None, "the pooler ended at once"
        assert time.monotonic() < deadline, "the pooler does not listen"
        time.sleep(0.05)
