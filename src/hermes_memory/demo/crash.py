"""Killing a worker in the middle of its work, and working out what became of every message it had accepted."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from uuid import UUID

import anyio
from anyio.abc import Process

from hermes_memory.demo.burst import MOST
from hermes_memory.domain.errors import DeadlineExceeded

RECEIPTS: Final = 150
"""Receipts to wait for before the kill."""
WORKER_SECONDS: Final = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Killed:
    """How the worker ended.

    Attributes:
        receipts: Ids of the writes it had reported as accepted.
        status: Its exit status: minus the number of the signal that ended it.
    """

    receipts: Sequence[UUID]
    status: int

    @property
    def by_kill(self) -> bool:
        """Whether SIGKILL ended it, in the middle."""
        return self.status == -signal.SIGKILL and len(self.receipts) < MOST


@dataclass(frozen=True, slots=True, kw_only=True)
class Aftermath:
    """What became of the burst.

    Attributes:
        receipts: Writes reported as accepted.
        accepted: Writes accepted in truth: the last one's receipt may not have got out.
        in_store: Messages in Postgres at the worker's death.
        in_spool: Writes in the spool on disk at its death.
        stored: Messages in Postgres in the end.
        lost: Receipts without a message in Postgres.
        duplicates: Messages in Postgres more often than once.
        seconds: From the start of the new process's memory until all was stored.
    """

    receipts: int
    accepted: int
    in_store: int
    in_spool: int
    stored: int
    lost: int
    duplicates: int
    seconds: float

    @property
    def in_both(self) -> int:
        """Writes that Postgres had committed when the spool had not been told yet: they were delivered twice."""
        return max(self.in_store + self.in_spool - self.accepted, 0)

    @property
    def exactly_once(self) -> bool:
        """Whether every accepted write is stored once, and nothing else is."""
        return not self.lost and not self.duplicates and self.stored == self.accepted


def aftermath(
    killed: Killed,
    *,
    accepted: int,
    in_store: int,
    in_spool: int,
    stored: Sequence[tuple[UUID, str]],
    seconds: float,
) -> Aftermath:
    """Work out what became of a burst whose contents all differ.

    Args:
        stored: Operation and content of each message that is in Postgres in the end.
    """
    operations = Counter(operation for operation, _ in stored)
    contents = Counter(content for _, content in stored)
    return Aftermath(
        receipts=len(killed.receipts),
        accepted=accepted,
        in_store=in_store,
        in_spool=in_spool,
        stored=len(stored),
        lost=sum(1 for receipt in killed.receipts if not operations[receipt]),
        duplicates=max(operations.total() - len(operations), contents.total() - len(contents)),
        seconds=seconds,
    )


async def kill_in_the_middle(home: Path, *, stored: Callable[[], Awaitable[int]]) -> Killed:
    """Let a worker record a burst, and kill it hard while it accepts and delivers.

    Args:
        stored: Counts the worker's messages in Postgres. It is killed once there are some, and not before it has
            handed out `RECEIPTS` receipts.

    Raises:
        DeadlineExceeded: It handed out too few in time.
    """
    command = [sys.executable, "-P", "-m", "hermes_memory.demo.burst", str(home)]
    process = await anyio.open_process(command, stdin=subprocess.DEVNULL, stderr=None, start_new_session=True)
    try:
        with anyio.fail_after(WORKER_SECONDS):
            return await _watch(process, stored)
    except TimeoutError:
        raise DeadlineExceeded("the worker of the demonstration recorded too little in time") from None
    finally:
        if process.returncode is None:
            process.kill()
        await process.aclose()


async def _watch(process: Process, stored: Callable[[], Awaitable[int]]) -> Killed:
    said = bytearray()
    ordered = False
    if process.stdout is not None:
        async for piece in process.stdout:
            said += piece
            if not ordered and said.count(b"\n") >= RECEIPTS and await stored():
                process.kill()
                ordered = True
    status = await process.wait()
    *whole, _cut = said.decode("ascii").split("\n")
    return Killed(receipts=[UUID(receipt) for receipt in whole], status=status)
