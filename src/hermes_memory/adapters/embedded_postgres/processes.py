"""The processes of a server, found by the directory they work in.

The process number in ``postmaster.pid`` may by now belong to anybody (after a restart of a container it usually does),
so nothing is ever signalled or waited for on its word alone.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from hermes_memory.adapters.embedded_postgres.account import Account
from hermes_memory.adapters.embedded_postgres.files import read_text

_PROC = Path("/proc")
_CHILD_TITLE = b"postgres:"
_LIST_SECONDS = 10.0

# The working directory of a process is shown to its own account, and to root only with a capability that containers
# usually lack. So root has the account look.
_LIST: Final = 'for process in /proc/[0-9]*; do [ "$process/cwd" -ef "$0" ] && echo "${process#/proc/}"; done; true'


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerProcess:
    """One living process of a server.

    Attributes:
        pid: Its number.
        leads: True for the process that started the others and stops them.
    """

    pid: int
    leads: bool


def server_processes(data: Path, account: Account) -> tuple[ServerProcess, ...]:
    """Return the Postgres processes of an account that work in a data directory. Zombies do not count.

    Where there is no ``/proc``, only the leading process is found.

    Raises:
        OSError: The processes cannot be listed.
        subprocess.TimeoutExpired: The same, because the machine hardly moves.
    """
    if not data.is_dir():
        return ()
    if not (_PROC / "self" / "cwd").exists():
        return tuple(_by_pid_file(data))
    pids = _listed_by(account, data) if account.switches else _listed(data)
    titles = {pid: title for pid in pids if (title := _title(pid)) is not None}
    leaders = {pid for pid, title in titles.items() if not title.startswith(_CHILD_TITLE)}
    # A child carries its parent's title until it has set its own.
    return tuple(ServerProcess(pid=pid, leads=pid in leaders and _parent(pid) not in leaders) for pid in titles)


def _listed(data: Path) -> Iterator[int]:
    wanted = data.stat()
    for entry in _PROC.iterdir():
        if entry.name.isdigit():
            with suppress(OSError):  # somebody else's, or just gone
                found = (entry / "cwd").stat()
                if (found.st_dev, found.st_ino) == (wanted.st_dev, wanted.st_ino):
                    yield int(entry.name)


def _listed_by(account: Account, data: Path) -> list[int]:
    with tempfile.TemporaryFile() as listing:
        account.run(["/bin/sh", "-c", _LIST, data], timeout=_LIST_SECONDS, output=listing)
        listing.seek(0)
        return [int(word) for word in listing.read().split() if word.isdigit()]


def _title(pid: int) -> bytes | None:
    """Return how a Postgres process calls itself, or None when it is another program or gone."""
    with suppress(OSError):
        title = (_PROC / str(pid) / "cmdline").read_bytes().partition(b"\0")[0]
        if title.startswith(_CHILD_TITLE) or title.rpartition(b"/")[2] == b"postgres":
            return title
    return None


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
        ["/bin/ps", "-p", first_line, "-o", "command="], check=False, capture_output=True, timeout=_LIST_SECONDS
    )
    if b"postgres" in listing.stdout:
        yield ServerProcess(pid=int(first_line), leads=True)
