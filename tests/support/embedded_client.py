"""A process that uses an embedded Postgres, driven through its standard input and output.

Run by path. It acquires, prints one JSON line, then answers each line it reads (``ensure``, ``release``, ``fork``) with
another, and ends at end of input.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import sys
from pathlib import Path

from hermes_memory.adapters.embedded_postgres import Binaries, EmbeddedPostgres, find_binaries
from hermes_memory.adapters.embedded_postgres.account import Account
from hermes_memory.adapters.embedded_postgres.binaries import reachable_binaries
from hermes_memory.adapters.embedded_postgres.layout import prepare_state_directory
from hermes_memory.domain.errors import HermesMemoryError

_PR_CAPBSET_DROP = 24
_CAP_SYS_PTRACE = 19


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("directory", type=Path)
    parser.add_argument("state_directory", type=Path)
    parser.add_argument("--uid", type=int)
    parser.add_argument("--without-ptrace", action="store_true")
    parser.add_argument("--start-timeout", type=float, default=60.0)
    arguments = parser.parse_args()
    if arguments.without_ptrace:
        _start_again_without_ptrace()
    binaries = _become(arguments.uid, arguments.state_directory) if arguments.uid else None
    postgres = EmbeddedPostgres(
        arguments.directory,
        state_directory=arguments.state_directory,
        binaries=binaries,
        start_timeout=arguments.start_timeout,
    )
    _answer(postgres, "acquire")
    for line in sys.stdin:
        _answer(postgres, line.strip())
    return 0


def _answer(postgres: EmbeddedPostgres, command: str) -> None:
    reply: dict[str, object]
    try:
        if command == "release":
            postgres.release()
            reply = {"released": True}
        elif command == "fork":
            reply = {"child": _fork_and_release(postgres)}
        else:
            address = postgres.acquire() if command == "acquire" else postgres.ensure_running()
            reply = {"dsn": address.dsn(), "socket_directory": str(address.socket_directory)}
    except HermesMemoryError as error:
        reply = {"error": type(error).__name__, "message": str(error)}
    print(json.dumps(reply), flush=True)


def _fork_and_release(postgres: EmbeddedPostgres) -> int:
    """Leave a child behind that has called `release` and sleeps; return its process id."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        postgres.release()
        os.close(0)
        os.close(1)
        os.write(writer, b"released")
        os.read(os.pipe()[0], 1)
    os.read(reader, 8)
    return child


def _become(uid: int, shelter: Path) -> Binaries:
    """Turn into an ordinary user; what it needs is loaded, and made reachable, while this is still root."""
    prepare_state_directory(shelter)
    binaries = reachable_binaries(find_binaries(), Account(uid=uid, gid=uid, switches=True), shelter)
    os.setgroups([])
    os.setgid(uid)
    os.setuid(uid)
    return binaries


def _start_again_without_ptrace() -> None:
    if ctypes.CDLL(None, use_errno=True).prctl(_PR_CAPBSET_DROP, _CAP_SYS_PTRACE, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "cannot drop the capability")
    os.execv(sys.executable, [sys.executable, *(part for part in sys.argv if part != "--without-ptrace")])


if __name__ == "__main__":
    sys.exit(main())
