"""What a process that writes tells of its writes, in a file that survives it: the checker's evidence.

Each process has a file of its own, so that a line that was cut short by a kill is the last one and spoils no other.
The times are those of the system's monotonic clock, which all processes share.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias
from unittest.mock import patch
from uuid import UUID

from hermes_memory.adapters.spool.codec import decode, encode
from hermes_memory.adapters.spool.sqlite_spool import SqliteSpool
from hermes_memory.domain.errors import HermesMemoryError
from hermes_memory.domain.model import OperationId
from hermes_memory.domain.operations import Operation
from hermes_memory.ports.spool import Spooled

Step: TypeAlias = Literal["invoke", "ok", "refused", "drawn"]

_APPENDING: Final = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One line of a journal.

    Attributes:
        step: `invoke` before the operation is handed to the spool, `ok` when that accepted it, `refused` when it did
            not, `drawn` before it is delivered.
        home: The Hermes home that accepts it.
        at: Nanoseconds of the monotonic clock.
        body: The operation, with `invoke`.
        sequence: Its place in the order of acceptance, with `drawn`.
    """

    step: Step
    home: str
    operation: OperationId
    at: int
    body: Operation | None = None
    sequence: int | None = None


class Journal:
    """Writes the events of one home. Any thread may call; a forked child goes on in a file of its own."""

    def __init__(self, directory: Path, home: str) -> None:
        self._directory = directory
        self._home = home
        self._lock = threading.Lock()
        self._pid = -1
        self._file = -1
        os.register_at_fork(after_in_child=self._after_fork)

    def invoked(self, operation: Operation) -> None:
        """Note that an operation is about to be handed in."""
        self._write("invoke", operation.stamp.operation, body=encode(operation).decode("utf-8", "surrogatepass"))

    def accepted(self, operation: OperationId) -> None:
        """Note that an operation was accepted; on disk before it returns."""
        self._write("ok", operation)
        os.fdatasync(self._file)

    def refused(self, operation: OperationId) -> None:
        """Note that an operation was not accepted."""
        self._write("refused", operation)

    def drawn(self, spooled: Sequence[Spooled]) -> None:
        """Note the places of operations that are about to be delivered."""
        for each in spooled:
            self._write("drawn", each.operation.stamp.operation, sequence=each.sequence)

    def _write(self, step: Step, operation: OperationId, **more: object) -> None:
        line = json.dumps({"step": step, "home": self._home, "op": operation.hex, "at": time.monotonic_ns(), **more})
        with self._lock:
            if self._pid != os.getpid():
                self._pid = os.getpid()
                name = f"{Path(self._home).name}-{self._pid}-{time.monotonic_ns()}.jsonl"
                self._file = os.open(
                    self._directory / name, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600
                )
            os.write(self._file, f"{line}\n".encode())

    def _after_fork(self) -> None:
        self._lock = threading.Lock()  # the thread that may hold it does not exist in the child


@contextmanager
def journalling(journal: Journal) -> Iterator[None]:
    """Have every spool of this process tell the journal what it accepts, and in which order that leaves it."""
    put, due = SqliteSpool.put, SqliteSpool.due
    told: set[OperationId] = set()

    def noted_put(spool: SqliteSpool, operation: Operation) -> None:
        journal.invoked(operation)
        try:
            put(spool, operation)
        except HermesMemoryError:
            journal.refused(operation.stamp.operation)
            raise
        journal.accepted(operation.stamp.operation)

    def noted_due(spool: SqliteSpool, limit: int) -> Sequence[Spooled]:
        found = due(spool, limit)
        journal.drawn([each for each in found if each.operation.stamp.operation not in told])
        told.update(each.operation.stamp.operation for each in found)
        return found

    with patch.multiple(SqliteSpool, put=noted_put, due=noted_due):
        yield


def read_journals(directory: Path) -> list[Event]:
    """Return the events of all journals below a directory, in the order of time. A line cut short is left out."""
    lines = [line for path in sorted(directory.glob("*.jsonl")) for line in path.read_bytes().split(b"\n")[:-1]]
    return sorted((_event(json.loads(line)) for line in lines), key=lambda event: event.at)


def _event(told: dict[str, Any]) -> Event:
    body = told.get("body")
    return Event(
        step=told["step"],
        home=told["home"],
        operation=OperationId(UUID(told["op"])),
        at=told["at"],
        body=None if body is None else decode(body.encode("utf-8", "surrogatepass")),
        sequence=told.get("sequence"),
    )
