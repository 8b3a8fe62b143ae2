"""The journal has its room before it is needed, and what is in it is found as if it had not."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path

import pytest

from hermes_memory.adapters.spool import journal
from hermes_memory.adapters.spool.database import Synchronous
from hermes_memory.adapters.spool.sqlite_spool import SqliteSpool
from hermes_memory.testing.making import add

NAME = "spool-a.db"


def opened(directory: Path, synchronous: Synchronous = "FULL") -> SqliteSpool:
    return SqliteSpool(directory=directory, destination="a", synchronous=synchronous)


def length(directory: Path) -> int:
    return (directory / f"{NAME}-wal").stat().st_size


def test_accepting_makes_the_journal_no_longer(tmp_path: Path) -> None:
    spool = opened(tmp_path / "spool")
    lengths = {length(tmp_path / "spool")}
    for number in range(100):  # more than is written between two checkpoints
        spool.put(add(f"number {number}"))
        lengths.add(length(tmp_path / "spool"))
    spool.close()

    assert lengths == {journal.BYTES}


def test_a_spool_that_does_not_wait_for_the_disk_reserves_nothing(tmp_path: Path) -> None:
    spool = opened(tmp_path / "spool", "NORMAL")
    found = length(tmp_path / "spool")
    spool.close()

    assert found == 0


def test_what_is_in_a_journal_with_room_is_found_after_a_crash(tmp_path: Path) -> None:
    spool = opened(tmp_path / "spool")
    operations = [add(f"number {number}") for number in range(5)]
    for operation in operations:
        spool.put(operation)
    spool.due(10)  # which moves them there
    (tmp_path / "copy").mkdir(mode=0o700)
    for file in (NAME, f"{NAME}-wal"):
        shutil.copy(tmp_path / "spool" / file, tmp_path / "copy")
    spool.close()
    copy = opened(tmp_path / "copy")
    found = [waiting.operation for waiting in copy.due(10)]
    aside = copy.set_aside()
    copy.close()

    assert found == operations
    assert not aside


def test_a_disk_that_fills_up_leaves_the_journal_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spool = opened(tmp_path / "spool", "NORMAL")
    spool.put(add("before"))
    before = length(tmp_path / "spool")
    write = os.pwrite

    def fill_up(descriptor: int, data: bytes, offset: int) -> int:
        if offset > before:
            raise OSError(errno.ENOSPC, "full")
        return write(descriptor, data[:4096], offset)

    monkeypatch.setattr(os, "pwrite", fill_up)
    journal.reserve(tmp_path / "spool" / NAME)
    after = length(tmp_path / "spool")
    monkeypatch.undo()
    found = [waiting.operation for waiting in spool.due(10)]
    spool.close()

    assert after == before
    assert len(found) == 1


def test_a_database_without_a_journal_is_left_alone(tmp_path: Path) -> None:
    journal.reserve(tmp_path / NAME)

    assert list(tmp_path.iterdir()) == []
