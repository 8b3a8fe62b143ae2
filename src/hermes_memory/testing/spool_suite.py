"""What the suites of the spool have in common: its making, its clock, and short words for putting and taking."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from hermes_memory.domain.model import OperationId
from hermes_memory.domain.operations import Operation
from hermes_memory.ports.spool import Spool
from hermes_memory.testing.making import PLENTY

ITEM_BYTES = 4_000
"""What the suite allows one operation."""
ROOM = 1_000_000
"""What the suite allows a spool in bytes, unless a test is about it."""


class Clock:
    """A clock that stands still until it is moved; called it tells the time in seconds since 1970."""

    def __init__(self, seconds: float = 1_700_000_000.0) -> None:
        self.seconds = seconds

    def __call__(self) -> float:
        return self.seconds

    def move(self, seconds: float) -> None:
        """Move the clock forward, or back when `seconds` is negative."""
        self.seconds += seconds


class SpoolSuite(ABC):
    """Makes the spools that the suites of the port test. A subclass says how to make an empty one."""

    @abstractmethod
    def make_spool(self, directory: Path, *, now: Clock, max_rows: int, max_bytes: int, max_item_bytes: int) -> Spool:
        """Make a spool that keeps files, if any, below `directory`; `max_bytes` counts its encoded operations."""

    @pytest.fixture
    def clock(self) -> Clock:
        """Return the clock of the spool."""
        return Clock()

    @pytest.fixture
    def spool(self, tmp_path: Path, clock: Clock) -> Iterator[Spool]:
        """Make a spool with room for everything a test puts."""
        spool = self.make_spool(
            tmp_path / "spool", now=clock, max_rows=PLENTY, max_bytes=ROOM, max_item_bytes=ITEM_BYTES
        )
        yield spool
        spool.close()

    @pytest.fixture
    def small_spool(self, tmp_path: Path, clock: Clock) -> Iterator[Spool]:
        """Make a spool for two operations."""
        spool = self.make_spool(tmp_path / "small", now=clock, max_rows=2, max_bytes=ROOM, max_item_bytes=ITEM_BYTES)
        yield spool
        spool.close()


def put(spool: Spool, *operations: Operation) -> list[Operation]:
    """Put operations in their order, and return them."""
    for operation in operations:
        spool.put(operation)
    return list(operations)


def due(spool: Spool, limit: int = PLENTY) -> list[Operation]:
    """Return the operations that are due."""
    return [item.operation for item in spool.due(limit)]


def ids(*operations: Operation) -> Sequence[OperationId]:
    """Return the ids of operations."""
    return [operation.stamp.operation for operation in operations]
