"""The processes of a server, found by the directory they work in.

The process number in ``postmaster.pid`` may by now belong to anybody (after a restart of a container it usually does),
so nothing is ever signalled or waited for on its word alone.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from hermes_memory.adapters.embedded_postgres.files import read_text

_PROC = Path("/proc")
_CHILD_TITLE = b"postgres:"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerProcess:
    """One living process of a server.

    Attributes:
        pid: Its number.
        leads: True for the process that started the others and stops them.
    """

    pid: int
    leads: bool


def server_processes(data: Path) -> tuple[ServerProcess, ...]:
    """Return the Postgres processes that this process may see and that work in a data directory. Zombies do not count.

    Where there is no ``/proc``, only the leading process is found.
    """
    if not data.is_dir():
        return ()
    if not (_PROC / "self" / "cwd").exists():
        return tuple(_by_pid_file(data))
    titles = dict(_titles_in(data))
    leaders = {pid for pid, title in titles.items() if not title.startswith(_CHILD_TITLE)}
    # A child carries its parent's title until it has set its own.
    return tuple(ServerProcess(pid=pid, leads=pid in leaders and _parent(pid) not in leaders) for pid in titles)


def _titles_in(data: Path) -> Iterator[tuple[int, bytes]]:
    wanted = data.stat()
    for entry in _PROC.iterdir():
        if not entry.name.isdigit():
            continue
        with suppress(OSError):  # not ours to see, or just gone
            found = (entry / "cwd").stat()
            title = (entry / "cmdline").read_bytes()
            program = title.split(b"\0", 1)[0]
            is_postgres = program.startswith(_CHILD_TITLE) or os.path.basename(program) == b"postgres"  # noqa: PTH119
            if is_postgres and (found.st_dev, found.st_ino) == (wanted.st_dev, wanted.st_ino):
                yield int(entry.name), program


def _parent(pid: int) -> int:
    with suppress(OSError):
        status = (_PROC / str(pid) / "stat").read_text(errors="replace")
        return int(status.rpartition(")")[2].split()[1])
    return 0


def _by_pid_file(data: Path) -> Iterator[ServerProcess]:
    first_line = (read_text(data / "postmaster.pid") or "").partition("\n")[0].strip()
    if not first_line.isdigit():
        return
    listing = subprocess.run(  # noqa: S603 - fixed program, the argument is a number
        ["/bin/ps", "-p", first_line, "-o", "command="], check=False, capture_output=True, timeout=10.0
    )
    if b"postgres" in listing.stdout:
        yield ServerProcess(pid=int(first_line), leads=True)
