"""PgBouncer in transaction mode before a test's server. The system's package of that name has to be installed."""

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

from tests.support.fault_proxy import place_of
from tests.support.pooled_connections import SERVER_CONNECTIONS
from tests.support.transaction_pooler import PORT

_KEEPS_STATEMENTS: Final = (1, 21)
"""From this version on it can follow prepared statements; the checks are about a pooler that does not."""
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


def program() -> str | None:
    """Return the path of PgBouncer, None where the system has none."""
    return shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin")


@contextmanager
def pgbouncer(server_dsn: str, roles: Sequence[str]) -> Iterator[Path]:
    """Run PgBouncer for these roles before a server while the block lasts; give the folder of its socket."""
    binary = program()
    assert binary, "pgbouncer is not installed: take it from the system's packages"
    socket = place_of(server_dsn)
    assert isinstance(socket, Path), "PgBouncer is tried before a server of the tests' own"
    folder = Path(tempfile.mkdtemp(prefix="hermes-memory-pooler-"))
    account = pwd.getpwuid(socket.parent.stat().st_uid)
    try:
        settings = _SETTINGS.format(
            host=socket.parent,
            port=socket.suffix.removeprefix("."),
            own_port=PORT,
            folder=folder,
            connections=SERVER_CONNECTIONS,
        )
        if _version(binary) >= _KEEPS_STATEMENTS:
            settings += "max_prepared_statements = 0\n"
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


def _version(binary: str) -> tuple[int, ...]:
    told = subprocess.run([binary, "--version"], check=True, capture_output=True, text=True).stdout.split()[1]
    return tuple(int(part) for part in told.split(".")[:2])


def _await(socket: Path, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + _SECONDS
    while not socket.exists():
        assert process.poll() is None, "the pooler ended at once"
        assert time.monotonic() < deadline, "the pooler does not listen"
        time.sleep(0.05)
