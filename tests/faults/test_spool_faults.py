"""The spool among processes that die, fork, write at once, stand still, or have no disk left."""

from __future__ import annotations

import json
import logging
import os
import signal
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import UUID

import pytest

from hermes_memory.adapters.spool import changes, database
from hermes_memory.adapters.spool.files import filesystem_of
from hermes_memory.adapters.spool.lock import FileLeadership
from hermes_memory.adapters.spool.row import Row, lane_key
from hermes_memory.adapters.spool.sqlite_spool import SqliteSpool
from hermes_memory.domain.errors import ConfigurationError, StoreUnavailable
from hermes_memory.domain.model import OperationId
from hermes_memory.testing.making import SALES_DESK, add
from hermes_memory.testing.spool_contract import due, ids, put
from tests.support.spool_process import DESTINATION, finish, open_spool, small_disk, start

DATABASE = f"spool-{DESTINATION}.db"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "spool"


@pytest.fixture
def programs() -> Iterator[list[subprocess.Popen[str]]]:
    """Programs that end with the test, whatever it does."""
    started: list[subprocess.Popen[str]] = []
    yield started
    for program in started:
        program.kill()
        program.communicate()


def lines(program: subprocess.Popen[str], count: int) -> list[str]:
    assert program.stdout is not None
    printed = [program.stdout.readline().strip() for _ in range(count)]
    assert all(printed), "the program ended early"
    return printed


def pending(directory: Path, printed: list[str]) -> list[bool]:
    spool = open_spool(directory)
    found = [spool.pending(OperationId(UUID(line))) for line in printed]
    spool.close()
    return found


# -- death ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("synchronous", ["FULL", "NORMAL"])
def test_what_was_acknowledged_before_kill_9_is_there(
    home: Path, programs: list[subprocess.Popen[str]], synchronous: str
) -> None:
    acknowledged: list[str] = []
    for _ in range(3):
        pair = [start("write", home, 0, synchronous) for _ in range(2)]
        programs.extend(pair)
        for program in pair:
            acknowledged += lines(program, 20)
        for program in pair:
            program.kill()
        for program in pair:
            assert program.stdout is not None
            acknowledged += program.stdout.read().splitlines()

    assert len(acknowledged) >= 120
    assert all(pending(home, acknowledged))


def test_the_seat_of_a_leader_that_was_killed_is_free(tmp_path: Path, programs: list[subprocess.Popen[str]]) -> None:
    path = tmp_path / "leader.lock"
    leader = start("lead", path)
    programs.append(leader)
    assert lines(leader, 1) == ["True"]
    follower = FileLeadership(path)
    while_it_lives = follower.try_acquire()

    leader.kill()
    leader.wait()

    assert not while_it_lives
    assert follower.try_acquire()
    follower.release()


# -- forks ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["quiet", "busy", "unaware"])
def test_parent_and_child_both_go_on_after_a_fork(home: Path, how: str) -> None:
    printed = finish(start("fork", home, how))

    assert len(printed) >= 160
    assert all(pending(home, printed))


@pytest.mark.parametrize("how", ["quiet", "unaware"])
def test_a_child_loses_nothing_when_its_parent_closes_the_spool(home: Path, how: str) -> None:
    printed = finish(start("outlive", home, how))

    assert len(printed) == 3
    assert all(pending(home, printed))


@pytest.mark.parametrize("how", ["asks", "silent"])
def test_a_forked_child_neither_leads_nor_keeps_the_seat(
    tmp_path: Path, programs: list[subprocess.Popen[str]], how: str
) -> None:
    path = tmp_path / "leader.lock"
    leader = start("lead_and_fork", path, how)
    programs.append(leader)
    said = set(lines(leader, 3 if how == "asks" else 2))
    (child,) = (int(line) for line in said - {"False", "child"})
    follower = FileLeadership(path)
    while_the_parent_leads = follower.try_acquire()

    leader.kill()
    leader.wait()
    after_its_death = follower.try_acquire()
    os.kill(child, signal.SIGKILL)

    assert ("False" in said) == (how == "asks")
    assert not while_the_parent_leads
    assert after_its_death
    follower.release()


# -- many processes ---------------------------------------------------------------------------------------------------


def test_four_processes_that_write_at_once_lose_nothing_and_meet_no_error(home: Path) -> None:
    writers = [start("write", home, 60, "FULL") for _ in range(4)]

    printed = [line for writer in writers for line in finish(writer)]

    spool = open_spool(home)
    spooled = spool.due(1_000)
    assert sorted(str(item.operation.stamp.operation) for item in spooled) == sorted(printed)
    assert [item.sequence for item in spooled] == list(range(1, 241))
    assert spool.status().quarantined == 0
    spool.close()


def test_what_another_process_put_is_seen_as_a_change(home: Path) -> None:
    spool = open_spool(home)
    spool.changed()
    before = spool.changed()

    printed = finish(start("write", home, 3))

    assert not before
    assert spool.changed()
    assert not spool.changed()
    assert [str(item.operation.stamp.operation) for item in spool.due(10)] == printed
    assert spool.last_sequence() == 3
    spool.close()


def test_a_process_that_stands_still_in_a_put_is_not_waited_for_for_ever(
    home: Path, programs: list[subprocess.Popen[str]]
) -> None:
    (kept,) = put(spool := open_spool(home, lock_timeout=0.2), add("one"))
    holder = start("hold", home)
    programs.append(holder)
    lines(holder, 1)

    with pytest.raises(StoreUnavailable, match="another process"):
        spool.put(add("two"))
    still_read = due(spool)
    finish(holder)
    (later,) = put(spool, add("three"))

    assert still_read == [kept]
    assert due(spool) == [kept, later]
    spool.close()


def test_a_lock_file_that_was_removed_is_made_again_and_kept_in_common(home: Path) -> None:
    first, second = open_spool(home), open_spool(home)
    one = put(first, add("one"))
    (home / f"spool-{DESTINATION}.lock").unlink()

    two = put(second, add("two"))
    three = put(first, add("three"))

    assert due(first) == due(second) == one + two + three
    first.close()
    second.close()


def test_a_leader_whose_lock_file_was_removed_stays_the_only_one(tmp_path: Path) -> None:
    path = tmp_path / "leader.lock"
    first, second = FileLeadership(path), FileLeadership(path)
    first.try_acquire()
    second.try_acquire()
    path.unlink()

    leads_again = first.try_acquire()

    assert leads_again
    assert not second.try_acquire()
    first.release()


# -- a full disk ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("small", [small_disk, lambda: ([], "")], ids=["disk", "pages"])
def test_a_full_disk_refuses_what_comes_and_lets_go_of_what_is_done(
    tmp_path: Path, small: Callable[[], tuple[list[str], str]]
) -> None:
    prefix, mount = small()

    (printed,) = finish(start("fill", tmp_path, mount, wrapped_in=prefix))

    report = json.loads(printed)
    assert report["accepted"] > 100
    assert report["kept"]
    assert report["after reopening"] == report["accepted"] - report["accepted"] // 2
    assert report["accepted again"] > 0
    assert (report["at the end"], report["refused"], report["quarantined"]) == (0, 2, 0)
    assert report["ballast at first"]
    assert report["ballast at last"] is bool(mount)  # by its pages alone the file is full before the disk is


def test_the_reserve_of_a_full_disk_is_given_back_for_what_is_done(tmp_path: Path) -> None:
    """The same on any machine: SQLite itself says that there is no space, once."""
    spool = open_spool(tmp_path)
    operations = put(spool, add("one"), add("two"))
    ballast = tmp_path / f"spool-{DESTINATION}.ballast"
    seen: list[bool] = []

    def forget_when_there_is_room(connection: sqlite3.Connection) -> None:
        seen.append(ballast.exists())
        if len(seen) == 1:
            connection.execute("PRAGMA max_page_count = 1")
            connection.execute(
                "INSERT INTO operations SELECT sequence + 10, randomblob(16), lane, 0, 0, 0, 0, 0, '', "
                "checksum, randomblob(100000) FROM operations"
            )
        changes.forget(connection, [operations[0].stamp.operation.bytes])

    spool._file.settle(forget_when_there_is_room)

    assert seen == [True, False]
    assert ballast.exists()
    assert due(spool) == operations[1:]
    spool.close()


# -- files ------------------------------------------------------------------------------------------------------------


def test_everything_is_closed_to_others_whatever_the_umask(home: Path) -> None:
    before = os.umask(0)
    try:
        spool, leadership = open_spool(home), FileLeadership(home / "leader.lock")
        put(spool, add("one"))
        leadership.try_acquire()
    finally:
        os.umask(before)
    modes = {path.name.removeprefix(f"spool-{DESTINATION}."): path.stat().st_mode & 0o777 for path in home.iterdir()}

    assert home.stat().st_mode & 0o777 == 0o700
    assert modes == dict.fromkeys(["db", "db-wal", "db-shm", "intake", "lock", "ballast", "leader.lock"], 0o600)
    spool.close()
    leadership.release()


def test_what_is_open_to_others_is_closed_to_them(home: Path) -> None:
    open_spool(home).close()
    home.chmod(0o755)
    (home / DATABASE).chmod(0o644)

    open_spool(home).close()

    assert home.stat().st_mode & 0o777 == 0o700
    assert (home / DATABASE).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("name", ["", DATABASE, f"spool-{DESTINATION}.lock", f"spool-{DESTINATION}.intake"])
def test_a_symbolic_link_is_refused_and_not_followed(tmp_path: Path, home: Path, name: str) -> None:
    elsewhere = tmp_path / "elsewhere"
    if name:
        home.mkdir()
        elsewhere.write_bytes(b"precious")
    else:
        elsewhere.mkdir()
    (home / name).symlink_to(elsewhere)

    with pytest.raises(ConfigurationError, match="link"):
        open_spool(home, open_early=name not in ("", DATABASE))

    assert (list(elsewhere.iterdir()) if elsewhere.is_dir() else elsewhere.read_bytes()) in ([], b"precious")


def test_a_link_in_the_place_of_the_leaders_lock_is_refused(tmp_path: Path) -> None:
    (tmp_path / "leader.lock").symlink_to(tmp_path / "elsewhere")

    with pytest.raises(ConfigurationError, match="link"):
        FileLeadership(tmp_path / "leader.lock").try_acquire()

    assert not (tmp_path / "elsewhere").exists()


def test_a_directory_of_another_user_is_refused(tmp_path: Path) -> None:
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    if os.geteuid() == 0:
        os.chown(foreign, 12345, -1)
    else:
        foreign = Path("/usr")  # root's

    with pytest.raises(ConfigurationError, match="run as that user"):
        open_spool(foreign)


@pytest.mark.parametrize("name", [DATABASE, f"spool-{DESTINATION}.lock", f"spool-{DESTINATION}.intake"])
def test_a_file_of_another_user_is_refused(home: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    open_spool(home).close()
    if os.geteuid() == 0:
        os.chown(home / name, 12345, -1)
    else:  # what root's is to us, ours is to somebody else
        monkeypatch.setattr(os, "geteuid", lambda: 12345)

    with pytest.raises(ConfigurationError, match="run as that user"):
        put(open_spool(home), add("one"))


def test_a_directory_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")

    with pytest.raises(ConfigurationError, match="path"):
        open_spool(tmp_path / "file" / "spool")


def test_another_destination_is_another_spool(home: Path) -> None:
    here, elsewhere = open_spool(home), SqliteSpool(directory=home, destination="fedcba")
    operations = put(here, add("one"))

    assert due(elsewhere) == []
    assert due(here) == operations
    here.close()
    elsewhere.close()


@pytest.mark.parametrize("destination", ["", "../up", "A", "a" * 65, "postgres://x"])
def test_a_destination_that_is_no_digest_is_refused(home: Path, destination: str) -> None:
    with pytest.raises(ConfigurationError, match="digest"):
        SqliteSpool(directory=home, destination=destination)

    assert not home.exists()


def test_what_was_put_is_there_after_closing_and_opening(home: Path) -> None:
    first = open_spool(home)
    operations = put(first, add("one"), add("two", SALES_DESK), add("three"))
    first.postpone(ids(operations[0]), 0)
    first.bury(operations[1].stamp.operation, "refused")
    first.close()

    second = open_spool(home)

    assert [(item.operation, item.attempts) for item in second.due(10)] == [(operations[0], 1), (operations[2], 0)]
    assert [letter.reason for letter in second.dead()] == ["refused"]
    assert (second.status().accepted, second.last_sequence()) == (3, 3)
    second.close()


def test_a_closed_spool_opens_again_when_it_is_used(home: Path) -> None:
    spool = open_spool(home)
    operations = put(spool, add("one"))
    spool.close()

    operations += put(spool, add("two"))

    assert due(spool) == operations
    spool.close()


def test_a_spool_that_cannot_be_opened_yet_opens_when_it_can(
    home: Path, programs: list[subprocess.Popen[str]], caplog: pytest.LogCaptureFixture
) -> None:
    holder = start("hold", home)
    programs.append(holder)
    lines(holder, 1)

    with caplog.at_level(logging.WARNING):
        spool = open_spool(home, lock_timeout=0.1)
    finish(holder)
    operations = put(spool, add("one"))

    assert [record.action for record in caplog.records] == ["spool.unavailable"]  # type: ignore[attr-defined]
    assert due(spool) == operations
    spool.close()


def test_a_spool_that_is_not_opened_early_makes_its_file_when_it_is_used_or_told_to(home: Path) -> None:
    first, second = open_spool(home, open_early=False), open_spool(home, open_early=False)
    before = (home / DATABASE).exists()

    first.open()
    operations = put(second, add("one"))

    assert not before
    assert due(first) == operations
    first.close()
    second.close()


def test_a_file_of_a_newer_version_is_left_alone(home: Path) -> None:
    open_spool(home).close()
    connection = sqlite3.connect(home / DATABASE)
    connection.execute(f"PRAGMA user_version = {database.FORMAT + 1}")
    connection.execute(f"PRAGMA application_id = {database.MARK + database.FORMAT + 1}")
    connection.close()
    content = (home / DATABASE).read_bytes()

    with pytest.raises(ConfigurationError, match="upgrade"):
        open_spool(home)

    assert (home / DATABASE).read_bytes() == content


MOUNTS = """\
/dev/vda / ext4 rw 0 0
server:/export /home nfs4 rw 0 0
tmpfs /home/ana/local tmpfs rw 0 0
//server/share /mnt/a\\040share cifs rw 0 0
broken
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/var/lib", "ext4"),
        ("/home/ana/.hermes", "nfs4"),
        ("/home/ana/local/x", "tmpfs"),
        ("/homes", "ext4"),
        ("/mnt/a share/x", "cifs"),
    ],
)
def test_the_file_system_of_a_path_is_that_of_the_innermost_mount(path: str, kind: str) -> None:
    assert filesystem_of(Path(path), MOUNTS) == kind


# -- size -------------------------------------------------------------------------------------------------------------


BACKLOG = 20_000


def big_spool(directory: Path, rows: int, lanes: int, *, held: int = 0) -> SqliteSpool:
    """Open a spool with so many rows; the heads of the first `held` lanes are held back for a day."""
    directory.mkdir(mode=0o700)
    until = time.time() + 86_400
    database.make(
        directory / DATABASE,
        [
            Row(
                number,
                number.to_bytes(16, "big"),
                lane_key(str(number % lanes)),
                0,
                until - 86_400,
                until if number < held else 0.0,
                None,
                None,
                b"",
                b"x",
            )
            for number in range(1, rows + 1)
        ],
    )
    return open_spool(directory, synchronous="NORMAL")


def steps(spool: SqliteSpool, limit: int) -> tuple[int, int]:
    """Return how many rows are due and how many hundreds of machine steps SQLite took to find them."""
    from hermes_memory.adapters.spool import lookups

    hundreds = 0

    def count() -> int:
        nonlocal hundreds
        hundreds += 1
        return 0

    def look(connection: sqlite3.Connection) -> int:
        connection.set_progress_handler(count, 100)
        found = lookups.due(connection, time.time(), limit)
        connection.set_progress_handler(None, 0)
        return len(found)

    return spool._file.read(look), hundreds


@pytest.mark.parametrize(("lanes", "held", "expected"), [(1, 0, 100), (1, 2, 0), (BACKLOG, 0, 100), (500, 250, 100)])
def test_finding_what_is_due_costs_by_the_batch_and_not_by_the_backlog(
    home: Path, lanes: int, held: int, expected: int
) -> None:
    spool = big_spool(home, BACKLOG, lanes, held=held)

    found, hundreds = steps(spool, 100)

    assert found == expected
    assert hundreds < 200
    spool.close()


def test_the_file_of_an_emptied_spool_shrinks(home: Path) -> None:
    spool = open_spool(home, synchronous="NORMAL")
    operations = put(spool, *(add("x" * 8_000) for _ in range(400)))
    spool.done(ids(*operations))
    for _ in range(4):
        spool.done(ids(*put(spool, add("one"))))
    spool.close()

    assert (home / DATABASE).stat().st_size < 400 * 8_000 / 2


def test_what_is_done_leaves_no_text_behind(home: Path) -> None:
    spool = open_spool(home)
    operations = put(spool, *(add(f"a secret plan {number}") for number in range(50)))
    spool.done(ids(*operations))
    spool.close()

    assert b"secret plan" not in (home / DATABASE).read_bytes()
