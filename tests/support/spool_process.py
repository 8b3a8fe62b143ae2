"""Programs that use a spool in a process of their own: `python -m tests.support.spool_process NAME DIRECTORY [MORE]`.

Each prints one line of what happened, flushed at once, so that what was printed is what was acknowledged.
"""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from hermes_memory.adapters.spool import database
from hermes_memory.adapters.spool.lock import FileLeadership
from hermes_memory.adapters.spool.spool_file import SpoolFile
from hermes_memory.adapters.spool.sqlite_spool import SqliteSpool
from hermes_memory.domain.errors import SpoolFull
from hermes_memory.domain.model import Caller, Theme
from hermes_memory.testing.making import add

DESTINATION = "0123456789abcdef"
DISK = 4 * 1024 * 1024
"""Bytes of the small disk."""


def open_spool(directory: Path, **options: Any) -> SqliteSpool:
    return SqliteSpool(directory=directory, destination=DESTINATION, **options)


def start(name: str, *arguments: object, wrapped_in: Sequence[str] = ()) -> subprocess.Popen[str]:
    """Start a program; its standard input stays open until it is closed or the process ends."""
    command = [*wrapped_in, sys.executable, "-m", "tests.support.spool_process", name, *map(str, arguments)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finish(process: subprocess.Popen[str]) -> list[str]:
    """Wait for a program that must succeed, and return what it printed."""
    printed, complaints = process.communicate(timeout=200)
    assert process.returncode == 0, complaints
    return printed.splitlines()


def small_disk() -> tuple[list[str], str]:
    """Return the command that gives a program a small disk of its own, and the program's way to have one.

    Where no file system may be mounted, SQLite's own limit of pages takes the part of the full disk.
    """
    namespace = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--user", "--map-root-user", "--mount"]
    mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK}", "tmpfs"]
    with contextlib.suppress(FileNotFoundError):
        if subprocess.run([*namespace, *mount, "/mnt"], capture_output=True, check=False).returncode == 0:
            return namespace, " ".join(mount)
    return [], ""


def say(line: object) -> None:
    os.write(1, f"{line}\n".encode())  # in one piece, also when several processes or threads speak


def write(directory: str, count: str = "0", synchronous: str = "NORMAL") -> None:
    """Put so many operations, for ever when 0, and print each id when it is accepted."""
    spool = open_spool(Path(directory), synchronous=synchronous)
    for number in itertools.count(1):
        operation = add("x" * 1_600, Caller(theme=Theme(f"theme {number % 7}")))
        spool.put(operation)
        say(operation.stamp.operation)
        if number == int(count):
            break
    spool.close()


def lead(path: str) -> None:
    """Lead until standard input ends."""
    leadership = FileLeadership(Path(path))
    say(leadership.try_acquire())
    sys.stdin.read()


def lead_and_fork(path: str, how: str) -> None:
    """Lead, and have a child that lives on until standard input ends; it asks for the seat, or knows nothing of it."""
    leadership = FileLeadership(Path(path))
    leadership.try_acquire()
    child = os.fork()
    if child == 0:
        if how == "asks":
            say(leadership.try_acquire())
            leadership.release()
        say("child")
        sys.stdin.read()
        os._exit(0)
    say(child)
    os.waitpid(child, 0)


def outlive(directory: str, how: str) -> None:
    """Fork while the spool is open, and go on in the child after the parent has closed it."""
    spool = open_spool(Path(directory), synchronous="NORMAL")

    def accept() -> None:
        operation = add("x" * 1_600)
        spool.put(operation)
        say(operation.stamp.operation)

    accept()
    opened, closed = os.pipe(), os.pipe()
    child = _fork_without_hooks() if how == "unaware" else os.fork()
    if child == 0:
        accept()
        os.write(opened[1], b".")
        os.read(closed[0], 1)
        accept()
        os._exit(0)
    os.read(opened[0], 1)
    spool.close()
    os.write(closed[1], b".")
    os.waitpid(child, 0)


def hold(directory: str) -> None:
    """Keep the write lock of the spool until standard input ends."""
    spool = open_spool(Path(directory))
    with spool._file._processes:  # what a process does that is stopped in the middle of a put
        say("held")
        sys.stdin.read()


def use(directory: str) -> None:
    """For each line: put one operation more, and print its id."""
    spool = open_spool(Path(directory))
    spool.status()
    say("open")
    for _ in sys.stdin:
        operation = add("one more")
        spool.put(operation)
        say(operation.stamp.operation)
    spool.close()


def read(directory: str) -> None:
    """Stand in the middle of reading until a line comes, then keep the spool open until standard input ends."""
    spool = open_spool(Path(directory))
    spool.status()
    connection = spool._file._connection.get()
    connection.execute("BEGIN")
    connection.execute("SELECT count(*) FROM operations").fetchone()
    say("reading")
    sys.stdin.readline()
    connection.execute("COMMIT")
    say("done")
    sys.stdin.read()
    spool.close()


def fork(directory: str, how: str) -> None:
    """Put, fork while other threads put, put in the child and go on in the parent."""
    spool = open_spool(Path(directory), synchronous="NORMAL")
    enough = threading.Event()

    def accept(count: int) -> None:
        for _ in range(count):
            operation = add("x" * 1_600)
            spool.put(operation)
            say(operation.stamp.operation)

    def busy() -> None:
        while not enough.is_set():
            accept(1)

    threads = [threading.Thread(target=busy) for _ in range(2)] if how == "busy" else []
    accept(20)
    for thread in threads:
        thread.start()
    for _ in range(3):
        child = _fork_without_hooks() if how == "unaware" else os.fork()
        if child == 0:
            accept(20)
            spool.close()
            if how == "unaware":
                os._exit(0)
            sys.exit()  # with everything the interpreter does at its end
        accept(20)
        _, status = os.waitpid(child, 0)
        assert status == 0
    enough.set()
    for thread in threads:
        thread.join()
    accept(20)
    spool.close()


def _fork_without_hooks() -> int:
    """Fork as C code may do that tells the interpreter nothing."""
    child: int = ctypes.PyDLL(None).fork()
    return child


def _limit_pages() -> None:
    """Let SQLite's own limit take the part of a small disk, and lift it where the reserve is given up."""
    database._SET_UP = (*database._SET_UP, "PRAGMA max_page_count = 100")  # type: ignore[misc]
    make_room = SpoolFile._make_room

    def give_room(file: SpoolFile, *, reserve: bool) -> None:
        make_room(file, reserve=reserve)
        if reserve:
            file._connection.get().execute("PRAGMA max_page_count = 400")

    setattr(SpoolFile, "_make_room", give_room)  # noqa: B010 - a method whose self has another name is another type


def fill(directory: str, mount: str) -> None:
    """Fill a small disk with operations, and with a foreign file; print what was possible then, as JSON."""
    if mount:
        subprocess.run([*mount.split(), directory], check=True)
    else:
        _limit_pages()
    home = Path(directory) / "spool"
    spool = open_spool(home)
    ballast = home / f"spool-{DESTINATION}.ballast"
    report: dict[str, Any] = {"ballast at first": ballast.exists()}

    accepted = _put_until_full(spool)
    report["accepted"] = len(accepted)
    report["kept"] = [item.operation.stamp.operation.hex for item in spool.due(10_000)] == accepted
    if mount:
        _exhaust(Path(directory) / "foreign")
    spool.postpone([item.operation.stamp.operation for item in spool.due(50)], 0)
    spool.done([item.operation.stamp.operation for item in spool.due(len(accepted) // 2)])
    report["ballast when full"] = ballast.exists()
    spool.close()
    spool = open_spool(home)
    report["after reopening"] = spool.status().depth
    spool.done([item.operation.stamp.operation for item in spool.due(10_000)])
    report["at the end"] = spool.status().depth
    (Path(directory) / "foreign").unlink(missing_ok=True)
    spool.close()
    spool = open_spool(home)
    report["accepted again"] = len(_put_until_full(spool))
    report["refused"] = spool.status().refused
    report["ballast at last"] = ballast.exists()
    report["quarantined"] = spool.status().quarantined
    spool.close()
    say(json.dumps(report))


def clean(directory: str, mount: str) -> None:
    """Have the files of a spool cleaned on a disk that others fill, then when they are gone; print it all as JSON.

    Where no file system may be mounted, it is said only that the disk has no room.
    """
    if mount:
        subprocess.run([*mount.split(), directory], check=True)
    home = Path(directory) / "spool"
    ballast, note = (home / f"spool-{DESTINATION}.{kind}" for kind in ("ballast", "scrub"))
    spool = open_spool(home)
    for _ in range(700):
        spool.put(add("x" * 1_600))
    spool.discard([item.operation.stamp.operation for item in spool.due(200)])
    real = os.statvfs
    if mount:
        _exhaust(Path(directory) / "foreign")
    else:
        setattr(os, "statvfs", _no_room)  # noqa: B010 - a function of another name is another type
    report: dict[str, Any] = {"ballast at first": ballast.exists(), "cleaned when full": spool.scrub(0)}
    report["owed"] = note.exists()
    report["ballast when full"] = ballast.exists()
    report["due when full"] = len(spool.due(10_000))
    spool.close()
    spool = open_spool(home)
    report["due by another"] = len(spool.due(10_000))
    report["ballast at last"] = ballast.exists()
    spool.done([item.operation.stamp.operation for item in spool.due(50)])
    report["kept"] = spool.status().depth
    (Path(directory) / "foreign").unlink(missing_ok=True)
    setattr(os, "statvfs", real)  # noqa: B010
    spool.close()
    spool = open_spool(home)
    report["due with room"] = len(spool.due(10_000))
    report["owed at last"] = note.exists()
    report["quarantined"] = spool.status().quarantined
    spool.close()
    say(json.dumps(report))


def _no_room(path: str | os.PathLike[str]) -> os.statvfs_result:
    return os.statvfs_result((4096, 4096, 1024, 0, 0, 1024, 1024, 1024, 0, 255))


def _put_until_full(spool: SqliteSpool) -> list[str]:
    accepted: list[str] = []
    while True:
        operation = add("x" * 1_600)
        try:
            spool.put(operation)
        except SpoolFull:
            return accepted
        accepted.append(operation.stamp.operation.hex)


def _exhaust(path: Path) -> None:
    with path.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        for size in (4096, 1):
            while file.write(b"x" * size) == size:
                pass


PROGRAMS: dict[str, Callable[..., None]] = {
    "write": write,
    "lead": lead,
    "lead_and_fork": lead_and_fork,
    "outlive": outlive,
    "hold": hold,
    "use": use,
    "read": read,
    "fork": fork,
    "fill": fill,
    "clean": clean,
}

if __name__ == "__main__":
    PROGRAMS[sys.argv[1]](*sys.argv[2:])
