"""What a spool tells and counts of its own state: fullness, refusals, the leader, and where it lies."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from hermes_memory.adapters.spool import files
from hermes_memory.adapters.spool.lock import FileLeadership
from hermes_memory.adapters.spool.sqlite_spool import SqliteSpool
from hermes_memory.domain.errors import InvalidInput, SpoolFull
from hermes_memory.testing.making import add
from hermes_memory.testing.spool_contract import ids, put
from tests.support.spool_process import open_spool, start


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "spool"


def actions(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Return what was told since this was last asked."""
    told = [record.action for record in caplog.records]  # type: ignore[attr-defined]
    caplog.clear()
    return told


def refuse(spool: SqliteSpool, times: int = 1) -> None:
    for _ in range(times):
        with pytest.raises(SpoolFull):
            spool.put(add("one too many"))


# -- full -------------------------------------------------------------------------------------------------------------


def test_a_spool_that_fills_and_has_room_again_says_each_once(home: Path, caplog: pytest.LogCaptureFixture) -> None:
    spool = open_spool(home, max_rows=20)
    with caplog.at_level(logging.INFO):
        operations = put(spool, *(add(str(number)) for number in range(20)))
        quiet = actions(caplog)
        refuse(spool, 3)
        full, is_full = actions(caplog), spool.full()
        spool.done(ids(*operations[:5]))
        put(spool, add("one more"))
        room, has_room = actions(caplog), spool.full()
        put(spool, add("another"))
        again = actions(caplog)
    spool.close()

    assert (quiet, full, room, again) == ([], ["spool.full"], ["spool.room"], [])
    assert (is_full, has_room) == (True, False)


def test_a_spool_that_flutters_at_its_bound_says_nothing_more(home: Path, caplog: pytest.LogCaptureFixture) -> None:
    spool = open_spool(home, max_rows=20)
    operations = put(spool, *(add(str(number)) for number in range(20)))
    with caplog.at_level(logging.INFO):
        for operation in operations[:5]:
            refuse(spool)
            spool.done(ids(operation))
            put(spool, add("in its place"))
    spool.close()

    assert actions(caplog) == ["spool.full"]


def test_what_was_refused_is_counted_for_all_processes_and_for_good(home: Path) -> None:
    first, second = open_spool(home, max_rows=2, max_item_bytes=2_000), open_spool(home, max_rows=2)
    put(first, add("one"), add("two"))
    refuse(first)
    refuse(second, 2)
    with pytest.raises(InvalidInput):
        first.put(add("x" * 3_000))
    seen_at_once = first.status().refused
    first.close()
    second.close()
    again = open_spool(home, max_rows=2)
    counted = again.status().refused
    again.close()

    assert (seen_at_once, counted) == (4, 4)


def test_a_spool_that_was_made_smaller_keeps_what_it_holds(home: Path) -> None:
    spool = open_spool(home)
    operations = put(spool, *(add(str(number)) for number in range(5)))
    spool.close()
    spool = open_spool(home, max_rows=2)
    refuse(spool)
    status = spool.status()

    assert [item.operation for item in spool.due(10)] == operations
    assert status.fill > 1
    spool.close()


# -- the leader -------------------------------------------------------------------------------------------------------


def test_the_leader_is_known_to_other_processes_until_it_dies(tmp_path: Path) -> None:
    seat = tmp_path / "seat" / "leader.lock"
    observer = FileLeadership(seat)
    before = observer.leader()
    program = start("lead", seat)
    try:
        assert program.stdout is not None
        assert program.stdout.readline().strip() == "True"
        during, taken = observer.leader(), observer.try_acquire()
    finally:
        program.kill()
        program.communicate(timeout=60)

    assert (before, during, taken) == (None, program.pid, False)
    assert observer.leader() is None
    assert observer.try_acquire()
    observer.release()


def test_a_leader_that_signed_nothing_is_a_leader_that_is_not_known(tmp_path: Path) -> None:
    seat = tmp_path / "seat" / "leader.lock"
    leader, observer = FileLeadership(seat), FileLeadership(seat)
    leader.try_acquire()
    seat.write_bytes(b"")

    assert observer.leader() == 0
    leader.release()


# -- where it lies ----------------------------------------------------------------------------------------------------


def test_a_network_file_system_is_warned_of_once_and_told_in_the_status(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(f"/dev/vda / ext4 rw 0 0\nserver:/export {home.parent.resolve()} nfs4 rw 0 0\n")
    monkeypatch.setattr(files, "_MOUNTS", mounts)
    with caplog.at_level(logging.INFO):
        first = open_spool(home)
        second = open_spool(home)

    assert actions(caplog) == ["spool.network"]
    assert first.status().network == second.status().network == "nfs4"
    first.close()
    second.close()


def test_a_machine_that_does_not_tell_its_mounts_is_no_trouble(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "_MOUNTS", home / "absent")
    spool = open_spool(home)

    assert spool.status().network == ""
    spool.close()
