"""The intake in front of the spool's database, among processes that die in it and disks that damage or cut it."""

from __future__ import annotations

import errno
import logging
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import product
from pathlib import Path

import pytest

from hermes_memory.adapters.spool import intake, reading, standing
from hermes_memory.adapters.spool.records import END, HEAD, framed, read
from hermes_memory.adapters.spool.sqlite_spool import SqliteSpool
from hermes_memory.domain.errors import SpoolFull
from hermes_memory.domain.model import Caller, Theme
from hermes_memory.domain.operations import Operation
from hermes_memory.testing.making import PLENTY, add
from hermes_memory.testing.spool_contract import due, ids, put
from tests.support.breakable import Killed, Plan, breakable
from tests.support.spool_process import DESTINATION, finish, open_spool, start

NAME = f"spool-{DESTINATION}.intake"
PAGE = 4096
LANES = [Caller(theme=Theme(theme)) for theme in ("a", "b", "c")]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "spool"


def numbered(count: int, size: int = 20) -> list[Operation]:
    return [add(f"{number:04} " + "x" * size, LANES[number % 3]) for number in range(count)]


def all_kept(spool: SqliteSpool) -> int:
    return len(spool.kept(PLENTY))


def all_retried(spool: SqliteSpool) -> int:
    spool.retry_dead()
    return spool.last_sequence()


def overwrite(path: Path, offset: int, content: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(content)


def end_of(path: Path) -> int:
    """Return where the next record goes."""
    return len(path.read_bytes().rstrip(b"\0"))


# -- what it holds ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("synchronous", ["FULL", "NORMAL"])
def test_what_is_accepted_lies_there_until_somebody_reads_and_leaves_no_text_behind(
    home: Path, synchronous: str
) -> None:
    spool = open_spool(home, synchronous=synchronous)
    put(spool, add("the first goes where it stays"))
    operations = put(spool, *numbered(5))
    held = (home / NAME).read_bytes()
    found = due(spool)
    afterwards = (home / NAME).read_bytes()
    spool.close()

    assert b"0004 xxx" in held
    assert found[1:] == operations
    assert afterwards == bytes(intake.SIZE)


def test_an_intake_that_is_full_is_emptied_and_goes_on(home: Path) -> None:
    spool = open_spool(home, synchronous="NORMAL")
    operations = put(spool, *numbered(500, size=1_600))

    assert (home / NAME).stat().st_size == intake.SIZE
    assert due(spool) == operations
    assert [item.sequence for item in spool.due(PLENTY)] == list(range(1, 501))
    spool.close()


def test_what_is_too_large_for_it_keeps_its_place(home: Path) -> None:
    spool = open_spool(home, synchronous="NORMAL")
    sizes = [10, intake.LARGEST, 10, 10, 2 * intake.LARGEST, 10]
    operations = put(spool, *(add("x" * size, LANES[0]) for size in sizes))

    assert due(spool) == operations
    spool.close()


def test_an_id_that_is_put_again_counts_once_wherever_it_lies(home: Path) -> None:
    spool = open_spool(home, max_rows=4)
    operations = put(spool, *numbered(3))
    put(spool, *operations, *operations[:1])
    status = spool.status()
    more = put(spool, add("one more"))
    put(spool, *more)
    with pytest.raises(SpoolFull):
        spool.put(add("one too many"))

    assert (status.depth, status.accepted, spool.last_sequence()) == (3, 3, 4)
    assert due(spool) == operations + more
    spool.close()


def test_the_bounds_hold_across_objects_that_do_not_read(home: Path) -> None:
    one, other = open_spool(home, max_rows=7), open_spool(home, max_rows=7)
    operations = [put(spool, operation)[0] for spool, operation in zip([one, other] * 4, numbered(7), strict=False)]
    for spool in (one, other):
        with pytest.raises(SpoolFull):
            spool.put(add("one too many"))
    other.done(ids(*operations[:2]))
    operations += put(one, add("in the place of one")) + put(other, add("and of another"))
    with pytest.raises(SpoolFull):
        one.put(add("one too many"))

    assert due(one) == due(other) == operations[2:]
    one.close()
    other.close()


# -- death ------------------------------------------------------------------------------------------------------------


def test_what_a_dying_process_began_to_write_is_cut_and_accepting_goes_on(home: Path) -> None:
    spool = open_spool(home)
    operations = put(spool, *numbered(3))
    overwrite(home / NAME, end_of(home / NAME), framed(bytes(16), bytes(16), b"x" * 900)[:700])
    operations += put(spool, *(add(f"later {number}") for number in range(2)))
    status = spool.status()

    assert due(spool) == operations
    assert (status.dead, status.quarantined, status.accepted) == (0, 0, 5)
    spool.close()


def test_a_process_that_dies_anywhere_in_moving_neither_loses_nor_doubles_nor_reorders(tmp_path: Path) -> None:
    plan = Plan()
    operations = numbered(6)
    died = 0
    with breakable(plan):
        for step in range(24):
            home = tmp_path / str(step) / "spool"
            spool = open_spool(home, synchronous="NORMAL")
            put(spool, *operations[:5])
            plan.left = step
            try:
                spool.status()
            except Killed:
                died += 1
            plan.left = None
            shutil.copytree(home, home.with_name("left"))
            spool.close()
            after = open_spool(home.with_name("left"), synchronous="NORMAL")
            put(after, operations[5])
            found = [(item.sequence, item.operation) for item in after.due(PLENTY)]
            after.close()

            assert found == list(enumerate(operations, start=1)), step
    assert 12 < died < 24


def test_a_process_that_dies_after_moving_does_not_bring_back_what_was_dropped(tmp_path: Path) -> None:
    plan = Plan()
    operations = numbered(3)
    dropped = False
    with breakable(plan):
        for step in range(30):
            home = tmp_path / str(step) / "spool"
            spool = open_spool(home, synchronous="NORMAL")
            put(spool, *operations)
            plan.left = step
            dropped = False
            with suppress(Killed):
                dropped = spool.discard(ids(operations[1])) == 1
            plan.left = None
            shutil.copytree(home, home.with_name("left"))
            spool.close()
            after = open_spool(home.with_name("left"), synchronous="NORMAL")
            found = due(after)
            counted = after.status().discarded
            after.close()

            assert found == (operations if counted == 0 else [operations[0], operations[2]]), step
            assert counted == 1 or not dropped, step
    assert dropped


def test_what_a_power_cut_leaves_of_what_processes_told_each_other_is_not_trusted(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lock file of an earlier moment, which the disk may have, beside files of a later one."""
    lock = home / f"spool-{DESTINATION}.lock"
    spool = open_spool(home)
    operations = put(spool, *numbered(2))
    earlier = lock.read_bytes()
    operations += put(spool, *numbered(3))
    spool.due(PLENTY)
    operations += put(spool, add("after it was moved"))
    spool.close()
    lock.write_bytes(earlier)
    monkeypatch.setattr(standing, "_start_of_machine", lambda: b"another start...")
    after = open_spool(home, max_rows=8)
    operations += put(after, add("after the start"), add("and on"))
    with pytest.raises(SpoolFull):
        after.put(add("one too many"))

    assert due(after) == operations
    after.close()


@pytest.mark.parametrize("synchronous", ["FULL", "NORMAL"])
def test_what_was_discarded_does_not_come_back_when_a_power_cut_kept_the_beginning_of_clearing_alone(
    home: Path, monkeypatch: pytest.MonkeyPatch, synchronous: str
) -> None:
    spool = open_spool(home, synchronous=synchronous)
    operations = put(spool, *numbered(40, size=800))
    held = (home / NAME).read_bytes()
    spool.due(PLENTY)
    spool.close()
    (home / NAME).write_bytes(bytes(PAGE) + held[PAGE:])
    monkeypatch.setattr(standing, "_start_of_machine", lambda: b"another start...")
    after = open_spool(home, synchronous=synchronous)
    discarded = after.discard(ids(*operations))
    (later,) = put(after, add("after the start"))
    found, status = due(after), after.status()
    after.close()

    assert discarded == 40
    assert found == [later]
    assert (status.depth, status.dead, status.accepted) == (1, 0, 41)


def test_a_power_cut_while_it_is_cleared_leaves_nothing_that_passes_for_a_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of what was written since the last flush, the disk may have any of the pages."""
    path, write = tmp_path / NAME, os.pwrite
    records = [framed(bytes([number]) * 16, bytes(16), b"x" * 1_600) for number in range(1, 13)]
    files = intake.Intake(path, lasting=True)
    files.prepare()
    overwrite(path, 0, b"".join(records))
    flushed, left = path.read_bytes(), set[bytes]()

    def pwrite(descriptor: int, content: bytes, offset: int) -> int:
        written = write(descriptor, content, offset)
        left.update(mixtures(flushed, path.read_bytes()))
        return written

    def flush(_: int) -> None:
        nonlocal flushed
        flushed = path.read_bytes()

    monkeypatch.setattr(os, "pwrite", pwrite)
    monkeypatch.setattr(intake, "sync_content", flush)
    files.clear()
    files.close()

    assert len(left) > 16
    assert not [content for content in left if any(not record.sound for record in read(content))]
    assert not [content for content in left if not any(content[:HEAD]) and any(content)]


def mixtures(one: bytes, other: bytes) -> Iterator[bytes]:
    """Yield what a disk may hold whose pages are each of one content or of the other."""
    pages = [{one[at : at + PAGE], other[at : at + PAGE]} for at in range(0, len(one), PAGE)]
    yield from (b"".join(chosen) for chosen in product(*pages))


@pytest.mark.parametrize("look", [SqliteSpool.pending_before, SqliteSpool.last_sequence, all_kept, all_retried])
def test_what_a_process_leaves_in_it_is_found_by_whoever_opens_next_whatever_is_asked_first(
    tmp_path: Path, look: Callable[[SqliteSpool], int]
) -> None:
    spool = open_spool(tmp_path / "spool")
    put(spool, *numbered(3))
    shutil.copytree(tmp_path / "spool", tmp_path / "left")
    spool.close()
    after = open_spool(tmp_path / "left", open_early=False)
    found = look(after)
    after.close()

    assert end_of(tmp_path / "left" / NAME) == 0
    assert found == 3


# -- several processes ------------------------------------------------------------------------------------------------


def test_two_processes_append_while_a_third_moves_and_forgets(home: Path) -> None:
    spool = open_spool(home, synchronous="NORMAL")
    writers = [start("write", home, 150, "NORMAL") for _ in range(2)]
    drawn: list[tuple[int, str]] = []
    while any(writer.poll() is None for writer in writers) or spool.pending_before():
        found = spool.due(40)
        drawn += [(item.sequence, str(item.operation.stamp.operation)) for item in found]
        spool.done([item.operation.stamp.operation for item in found])
    printed = [finish(writer) for writer in writers]
    status = spool.status()
    spool.close()

    assert [sequence for sequence, _ in drawn] == list(range(1, 301))
    for lines in printed:
        assert [name for _, name in drawn if name in set(lines)] == lines
    assert (status.accepted, status.delivered, status.dead, status.quarantined) == (300, 300, 0, 0)


def test_a_copy_of_a_running_home_goes_on_by_itself(tmp_path: Path) -> None:
    spool = open_spool(tmp_path / "spool")
    operations = put(spool, *numbered(4))
    shutil.copytree(tmp_path / "spool", tmp_path / "copy")
    ours = put(spool, add("ours"))
    copy = open_spool(tmp_path / "copy")
    theirs = put(copy, add("theirs"))

    assert due(spool) == operations + ours
    assert due(copy) == operations + theirs
    spool.close()
    copy.close()


# -- damage -----------------------------------------------------------------------------------------------------------


def test_a_damaged_record_becomes_a_dead_letter_and_the_others_go_on(
    home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    spool = open_spool(home)
    operations = put(spool, *numbered(6))
    content = (home / NAME).read_bytes()
    overwrite(home / NAME, content.index(b"0003 xxx"), b"9999")
    with caplog.at_level(logging.ERROR):
        found = due(spool)
    (letter,) = spool.dead()
    retried = spool.retry_dead()
    status = spool.status()
    spool.close()

    assert found == operations[:3] + operations[4:]
    assert (letter.id, letter.operation, letter.reason) == (operations[3].stamp.operation, None, reading.CHANGED)
    assert retried == 0
    assert (status.accepted, status.depth, status.dead, status.buried) == (6, 5, 1, 1)
    assert [record.action for record in caplog.records] == ["spool.damaged"]  # type: ignore[attr-defined]
    assert "xxx" not in caplog.text


def test_the_last_record_is_told_of_when_it_was_damaged_after_it_was_written(home: Path) -> None:
    spool = open_spool(home)
    operations = put(spool, *numbered(3))
    overwrite(home / NAME, (home / NAME).read_bytes().index(b"0002 xxx"), b"9999")
    operations += put(spool, add("after it"))

    assert due(spool) == operations[:2] + operations[3:]
    assert [letter.id for letter in spool.dead()] == list(ids(operations[2]))
    spool.close()


def test_a_file_that_was_removed_under_its_process_gives_what_it_held(home: Path) -> None:
    spool, other = open_spool(home), open_spool(home)
    operations = put(spool, *numbered(3))
    (home / NAME).unlink()
    operations += put(other, add("of another process"))
    operations += put(spool, add("after it"))
    waiting = due(spool)

    assert sorted(ids(*waiting)) == sorted(ids(*operations))
    assert (home / NAME).stat().st_mode & 0o777 == 0o600
    assert due(other) == waiting
    spool.close()
    other.close()


@pytest.mark.parametrize("size", [0, 100, 70_000])
def test_a_file_that_was_cut_under_its_process_goes_on(home: Path, size: int) -> None:
    spool = open_spool(home)
    put(spool, *numbered(3))
    os.truncate(home / NAME, size)
    (later, last) = put(spool, add("after it"), add("and on"))

    assert due(spool)[-2:] == [later, last]
    assert (home / NAME).stat().st_size == intake.SIZE
    spool.close()


def test_a_file_of_garbage_does_not_stop_accepting(home: Path) -> None:
    spool = open_spool(home)
    first, *_ = put(spool, *numbered(1))
    spool.due(PLENTY)
    (home / NAME).write_bytes(os.urandom(5_000) + END + os.urandom(5_000))
    later = put(spool, *numbered(2))
    found = due(spool)
    spool.close()

    assert found == [first, *later]


# -- no room ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("synchronous", ["FULL", "NORMAL"])
def test_a_disk_that_fills_up_within_a_record_keeps_nothing_of_it(
    home: Path, monkeypatch: pytest.MonkeyPatch, synchronous: str
) -> None:
    spool = open_spool(home, synchronous=synchronous)
    operations = put(spool, *numbered(3))
    before = (home / NAME).read_bytes()
    write = os.pwrite

    def fill_up(descriptor: int, content: bytes, offset: int) -> int:
        if content.startswith(b"\xff"):
            write(descriptor, content[: len(content) // 2], offset)
            raise OSError(errno.ENOSPC, "full")
        return write(descriptor, content, offset)

    monkeypatch.setattr(os, "pwrite", fill_up)
    with pytest.raises(SpoolFull, match="disk"):
        spool.put(add("one too many"))
    left = (home / NAME).read_bytes()
    monkeypatch.undo()
    operations += put(spool, add("with room again"))

    assert left == before
    assert due(spool) == operations
    assert spool.status().refused == 1
    spool.close()


def test_a_disk_that_has_no_room_for_it_has_operations_go_where_they_stay(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = os.pwrite

    def fill_up(descriptor: int, content: bytes, offset: int) -> int:
        if len(content) > intake.SIZE // 2:
            raise OSError(errno.ENOSPC, "full")
        return write(descriptor, content, offset)

    monkeypatch.setattr(os, "pwrite", fill_up)
    spool = open_spool(home, synchronous="NORMAL")
    operations = put(spool, *numbered(3))

    assert (home / NAME).stat().st_size == 0
    assert due(spool) == operations
    spool.close()


def test_what_a_full_disk_has_no_room_to_move_at_once_is_moved_in_parts(home: Path) -> None:
    plan = Plan()
    with breakable(plan):
        spool = open_spool(home, synchronous="NORMAL")
        put(spool, add("the first goes where it stays"))
        operations = put(spool, *numbered(24, size=1_600))
        plan.room = False
        found: list[Operation] = []
        while some := due(spool):
            found += some
            spool.done(ids(*some))
        spool.close()

    assert found[1:] == operations


def test_a_disk_with_little_room_has_operations_go_where_they_stay(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spool = open_spool(home)
    put(spool, *numbered(1))
    spool.due(PLENTY)
    real = os.statvfs

    def little(path: str | os.PathLike[str]) -> os.statvfs_result:
        fields = list(real(path))
        fields[4] = intake.SIZE // fields[1]
        return os.statvfs_result(fields)

    monkeypatch.setattr(os, "statvfs", little)
    put(spool, *numbered(3))

    assert (home / NAME).read_bytes() == bytes(intake.SIZE)
    spool.close()
