"""What the tests of the embedded Postgres share: places for clusters, client processes, and a look at what runs."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any

import asyncpg

from hermes_memory.adapters.embedded_postgres import EmbeddedPostgres
from tests.support.postgres import parent_of_clusters

_CLIENT = Path(__file__).with_name("embedded_client.py")
NOBODY = 65534


class Client:
    """A process that acquires the server of a directory as soon as it runs."""

    def __init__(self, directory: Path, *options: str, state: Path | None = None) -> None:
        command = [sys.executable, str(_CLIENT), str(directory), str(state or directory.parent / "state"), *options]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
        )

    def reply(self) -> dict[str, Any]:
        """Wait for the next answer."""
        assert self.process.stdout
        reply: dict[str, Any] = json.loads(self.process.stdout.readline())
        return reply

    def ask(self, command: str) -> dict[str, Any]:
        """Send a command and wait for its answer."""
        assert self.process.stdin
        self.process.stdin.write(f"{command}\n")
        self.process.stdin.flush()
        return self.reply()

    def kill(self, order: signal.Signals = signal.SIGKILL) -> None:
        """Signal the client's whole process group and wait for the client's end."""
        os.killpg(self.process.pid, order)
        self.process.wait(timeout=90)

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        with self.process:
            pass


@contextmanager
def place() -> Iterator[Path]:
    """Give a new directory that every account can enter, which ``tmp_path`` is not under root.

    Whatever runs in it, or is left of it elsewhere, is ended and removed.
    """
    directory = Path(tempfile.mkdtemp(prefix="hermes-memory-test-", dir=parent_of_clusters()))
    directory.chmod(0o755)
    try:
        yield directory
    finally:
        end_processes(directory)
        shutil.rmtree(directory)


def end_processes(directory: Path) -> None:
    """Kill the servers that work below a directory."""
    while pids := postgres_below(directory):
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def postgres_below(directory: Path) -> list[int]:
    """Return the living Postgres processes that work below a directory."""
    found = []
    for entry in Path("/proc").iterdir():
        with suppress(OSError):
            if entry.name.isdigit() and (entry / "comm").read_text() == "postgres\n":
                cwd = str((entry / "cwd").readlink())
                found += [int(entry.name)] if cwd.startswith(f"{directory}/") else []
    return found


def leader_below(directory: Path) -> int:
    """Return the one process that leads the one server below a directory."""
    parents = {pid: _parent(pid) for pid in postgres_below(directory)}
    (leader,) = (pid for pid, parent in parents.items() if parent is not None and parent not in parents)
    return leader


async def query(dsn: str, *statements: str) -> Any:
    """Run statements on a new connection and return the first value of the last one."""
    connection = await asyncpg.connect(dsn, timeout=60, command_timeout=60)
    try:
        for statement in statements[:-1]:
            await connection.execute(statement)
        return await connection.fetchval(statements[-1])
    finally:
        await connection.close()


def supervisor(root: Path, name: str = "postgres", **options: Any) -> EmbeddedPostgres:
    """Return what runs the cluster of this name below a directory, and keeps its state there."""
    return EmbeddedPostgres(root / name, state_directory=root / "state", **options)


def new_cluster(directory: Path) -> None:
    """Create a cluster at a directory and leave it stopped."""
    postgres = supervisor(directory.parent, directory.name)
    postgres.acquire()
    postgres.release()


def _parent(pid: int) -> int | None:
    """Return the parent of a process, or None when it has just gone, as connections do."""
    with suppress(FileNotFoundError, ProcessLookupError):
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    return None
