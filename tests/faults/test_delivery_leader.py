"""Several processes of a home: one delivers, and another one does as soon as it dies or stands still."""

from __future__ import annotations

import signal
import subprocess
import time
from pathlib import Path

import anyio
import pytest

from hermes_memory.adapters.inmemory import InMemoryStore
from hermes_memory.adapters.inmemory.spool import InMemoryLeadership
from hermes_memory.adapters.spool.lock import FileLeadership
from hermes_memory.adapters.spool.sqlite_spool import SqliteSpool
from hermes_memory.application import deliver
from hermes_memory.application.breaker import STORE, Breaker
from hermes_memory.application.deliver import Deliverer
from hermes_memory.application.spool_access import SpoolAccess
from hermes_memory.application.worker import Worker
from hermes_memory.domain.operations import Operation
from hermes_memory.testing.making import add
from tests.support.agents import eventually
from tests.support.drain_process import drainer, line_of
from tests.support.postgres_store import Installation
from tests.support.spool_process import open_spool

GUARD = 60.0
"""Seconds; a guard against hanging. A hand-over takes about a quarter of a second on an idle machine."""
LEASE = 3.0
STORED = "select array_agg(content order by created_at) from hermes_memory.memory_entries"


def led_at(process: subprocess.Popen[str]) -> float:
    """Wait until a process leads and return since when."""
    word, moment = line_of(process).split()
    assert word == "leads"
    return float(moment)


async def stored(database: Installation) -> list[str]:
    found = await database.administer("select array_agg(content order by created_at) from hermes_memory.memory_entries")
    return list(found or [])


def deliver_through(spool: SqliteSpool, *operations: Operation) -> None:
    for operation in operations:
        spool.put(operation)
    eventually(lambda: not spool.pending_before(), seconds=GUARD)


async def test_another_process_takes_over_when_the_leader_is_killed(database: Installation, tmp_path: Path) -> None:
    directory = tmp_path / "spool"
    spool = open_spool(directory)
    with drainer(directory, database.runtime_dsn) as first:
        led_at(first)
        with drainer(directory, database.runtime_dsn) as second:
            deliver_through(spool, add("by the first"))
            killed = time.monotonic()
            first.kill()
            seconds = led_at(second) - killed
            deliver_through(spool, add("by the second"), add("and more"))
    print(f"the hand-over took {seconds:.3f} s")

    assert seconds < GUARD
    assert await stored(database) == ["by the first", "by the second", "and more"]


async def test_another_process_takes_over_from_a_leader_that_stands_still_and_that_one_follows_when_it_goes_on(
    database: Installation, tmp_path: Path
) -> None:
    directory = tmp_path / "spool"
    spool = open_spool(directory)
    with drainer(directory, database.runtime_dsn, lease=LEASE) as first:
        led_at(first)
        deliver_through(spool, add("by the first"))
        with drainer(directory, database.runtime_dsn, lease=LEASE) as second:
            stopped = time.monotonic()
            first.send_signal(signal.SIGSTOP)
            seconds = led_at(second) - stopped
            deliver_through(spool, add("by the second"))
            first.send_signal(signal.SIGCONT)
            deliver_through(spool, add("by either"))

    assert seconds >= LEASE
    assert await stored(database) == ["by the first", "by the second", "by either"]


def test_a_leader_that_shows_life_keeps_its_seat_for_longer_than_a_lease(tmp_path: Path) -> None:
    leader, rival = (FileLeadership(tmp_path / "drain.lock", lease=1.0) for _ in range(2))
    assert leader.try_acquire()
    taken = []
    end = time.monotonic() + 2.5
    while time.monotonic() < end:
        assert leader.try_acquire()
        taken.append(rival.try_acquire())
    leader.release()

    assert not any(taken)
    assert rival.try_acquire()
    rival.release()


def test_only_one_of_many_rivals_takes_the_seat_of_a_leader_that_shows_no_life(tmp_path: Path) -> None:
    hung, *rivals = (FileLeadership(tmp_path / "drain.lock", lease=0.2) for _ in range(6))
    assert hung.try_acquire()
    eventually(lambda: any(rival.try_acquire() for rival in rivals), seconds=GUARD)
    leaders = [rival for rival in rivals if rival.try_acquire()]

    assert len(leaders) == 1
    assert not hung.try_acquire()
    for each in (hung, *rivals):
        each.release()


async def test_what_another_process_accepts_is_noticed_without_looking_through_what_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deliver, "LOOK_SECONDS", 3_600.0)
    own, others = open_spool(tmp_path / "spool"), open_spool(tmp_path / "spool")
    store = InMemoryStore(analyze=str.split)
    breaker = Breaker(STORE, failures=1, delay=0.1)
    deliverer = Deliverer(SpoolAccess(own, Worker()), InMemoryLeadership(), store.delivery, breaker=breaker, batch=2)
    with anyio.fail_after(GUARD):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(deliverer.run)
            for count in (1, 5):
                await anyio.sleep(0.3)
                for number in range(count):
                    others.put(add(f"{count} {number}"))
                while own.pending_before():
                    await anyio.sleep(0.02)
            tasks.cancel_scope.cancel()

    assert deliverer.counts.delivered == 6
