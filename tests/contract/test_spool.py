"""Both spools keep the contract of the port, and so do both leaderships."""

from __future__ import annotations

import threading
from pathlib import Path

from hypothesis import HealthCheck, settings

from hermes_memory.adapters.inmemory.spool import InMemoryLeadership, InMemorySpool
from hermes_memory.adapters.spool.lock import FileLeadership
from hermes_memory.adapters.spool.sqlite_spool import SqliteSpool
from hermes_memory.ports.spool import Leadership, Spool
from hermes_memory.testing.leadership_contract import LeadershipContract
from hermes_memory.testing.spool_contract import Clock, SpoolContract
from hermes_memory.testing.spool_machine import MAX_ROWS, SpoolMachine

DESTINATION = "0123456789abcdef"


class TestSqliteSpool(SpoolContract):
    def make_spool(self, directory: Path, *, now: Clock, max_rows: int, max_bytes: int, max_item_bytes: int) -> Spool:
        return SqliteSpool(
            directory=directory,
            destination=DESTINATION,
            now=now,
            max_rows=max_rows,
            max_bytes=max_bytes,
            max_item_bytes=max_item_bytes,
            synchronous="NORMAL",
        )


class TestInMemorySpool(SpoolContract):
    def make_spool(self, directory: Path, *, now: Clock, max_rows: int, max_bytes: int, max_item_bytes: int) -> Spool:
        return InMemorySpool(now=now, max_rows=max_rows, max_bytes=max_bytes, max_item_bytes=max_item_bytes)


class TestFileLeadership(LeadershipContract):
    def make_contenders(self, directory: Path) -> tuple[Leadership, Leadership]:
        return FileLeadership(directory / "leader.lock"), FileLeadership(directory / "leader.lock")


class TestInMemoryLeadership(LeadershipContract):
    def make_contenders(self, directory: Path) -> tuple[Leadership, Leadership]:
        seat = threading.Lock()
        return InMemoryLeadership(seat), InMemoryLeadership(seat)


class SqliteSpoolMachine(SpoolMachine):
    def open_spool(self, directory: Path, now: Clock) -> Spool:
        return SqliteSpool(
            directory=directory, destination=DESTINATION, now=now, max_rows=MAX_ROWS, synchronous="NORMAL"
        )


class InMemorySpoolMachine(SpoolMachine):
    def open_spool(self, directory: Path, now: Clock) -> Spool:
        if not hasattr(self, "only"):
            self.only = InMemorySpool(now=now, max_rows=MAX_ROWS)
        return self.only


FEW = settings(max_examples=25, stateful_step_count=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])

TestSqliteSpoolHistories = SqliteSpoolMachine.TestCase
TestSqliteSpoolHistories.settings = FEW
TestInMemorySpoolHistories = InMemorySpoolMachine.TestCase
TestInMemorySpoolHistories.settings = FEW
