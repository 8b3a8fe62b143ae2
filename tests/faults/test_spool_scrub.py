"""Cleaning the files of a spool: what was dropped stands in none of them, whoever has the spool open meanwhile."""

from __future__ import annotations

import json
import os
import random
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import IO

import pytest

from hermes_memory.adapters.spool import scrubbing, spool_file
from hermes_memory.adapters.spool.connection import SpoolConnection
from hermes_memory.domain.errors import ConfigurationError, StoreUnavailable
from hermes_memory.domain.operations import AddEntry
from hermes_memory.testing.making import add
from hermes_memory.testing.spool_suite import due, ids, put
from tests.support.spool_process import DESTINATION, finish, open_spool, small_disk, start

DATABASE = f"spool-{DESTINATION}.db"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "spool"


def content(home: Path) -> bytes:
    """Return all bytes of the spool's files. Another process reads them: closing a file drops our locks on it."""
    return subprocess.run(["cat", *sorted(home.iterdir())], capture_output=True, check=True).stdout


def marked(number: int, chance: random.Random) -> AddEntry:
    return add(f"<secret {number:03}> " + "x" * chance.randrange(1_500))


def standing(home: Path, count: int) -> set[int]:
    """Return the numbers of the operations whose text stands in a file."""
    held = content(home)
    return {number for number in range(count) if f"<secret {number:03}>".encode() in held}


def unused_pages(home: Path) -> int:
    """Return how many pages the database has that it does not use. They tell whether it was put together anew."""
    head = subprocess.run(["head", "-c", "40", home / DATABASE], capture_output=True, check=True).stdout
    return int.from_bytes(head[36:40])


def answer(pipe: IO[str] | None) -> str:
    assert pipe is not None
    return pipe.readline().strip()


def tell(pipe: IO[str] | None) -> None:
    assert pipe is not None
    pipe.write("\n")
    pipe.flush()


def test_what_was_dropped_stands_in_no_file_while_another_process_has_the_spool_open(home: Path) -> None:
    chance, count = random.Random(11), 240
    spool = open_spool(home, synchronous="NORMAL")
    other = start("use", home)
    try:
        opened = answer(other.stdout)
        operations = put(spool, *(marked(number, chance) for number in range(count)))
        # In any order, so that what is kept moves from page to page.
        dropped = chance.sample(range(count), count - 40)
        for first in range(0, len(dropped), 8):
            part = ids(*(operations[number] for number in dropped[first : first + 8]))
            spool.bury(part[0], f"refused: <secret {dropped[first]:03}>")
            spool.done(part[1:4])
            spool.discard(part)
        before = standing(home, count)
        cleaned = spool.scrub(30)
        after, unused = standing(home, count), unused_pages(home)
        tell(other.stdin)
        added = answer(other.stdout)
        again = spool.scrub(30)
    finally:
        other.communicate(timeout=60)
    kept = set(range(count)) - set(dropped)

    assert opened == "open"
    assert before > kept
    assert (cleaned, again) == (True, True)
    assert (after, unused) == (kept, 0)
    assert due(spool)[:40] == [operations[number] for number in sorted(kept)]
    assert [str(operation.stamp.operation) for operation in due(spool)[40:]] == [added]
    assert other.returncode == 0
    spool.close()


def test_a_reader_holds_the_cleaning_off_and_the_process_that_delivers_finishes_it(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spool_file, "SCRUB_AGAIN_SECONDS", 0.0)
    chance, owed = random.Random(5), home / DATABASE.replace(".db", ".scrub")
    spool, deliverer = open_spool(home, synchronous="NORMAL"), open_spool(home, synchronous="NORMAL")
    operations = put(spool, *(marked(number, chance) for number in range(20)))
    spool.status()
    reader = start("read", home)
    try:
        reading = answer(reader.stdout)
        spool.discard(ids(*operations[1:]))
        cleaned = spool.scrub(0.2)
        spool.close()
        found = due(deliverer)
        held_off, noted = standing(home, 20), owed.exists()
        tell(reader.stdin)
        read = answer(reader.stdout)
        due(deliverer)
        left = standing(home, 20)
        alive = reader.poll() is None
    finally:
        reader.communicate(timeout=60)

    assert (reading, read, alive) == ("reading", "done", True)
    assert (cleaned, found, noted) == (False, [operations[0]], True)
    assert held_off > {0}
    assert left == {0}
    assert not owed.exists()
    deliverer.close()


def between_rebuilding_and_emptying(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Have something happen once while the journal of a database that was written anew goes into the file."""
    checkpoint, acts = SpoolConnection.checkpoint, [act]

    def checkpointed(connection: SpoolConnection) -> None:
        while acts:
            acts.pop()()
        checkpoint(connection)

    monkeypatch.setattr(SpoolConnection, "checkpoint", checkpointed)


def test_others_write_while_the_journal_of_the_rebuilt_database_goes_into_the_file(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(7)
    spool, other = open_spool(home), open_spool(home, lock_timeout=0.0)
    operations = put(spool, *(marked(number, chance) for number in range(300)))
    spool.discard(ids(*operations[::3]))
    added = add("one more")
    between_rebuilding_and_emptying(monkeypatch, lambda: put(other, added))
    cleaned = spool.scrub(30)
    kept = set(range(300)) - set(range(0, 300, 3))

    assert cleaned
    assert (standing(home, 300), unused_pages(home)) == (kept, 0)
    assert due(spool)[-1] == added
    spool.close()
    other.close()


def test_what_another_drops_while_the_files_are_cleaned_is_cleaned_as_well(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(13)
    spool, other = open_spool(home), open_spool(home)
    operations = put(spool, *(marked(number, chance) for number in range(300)))
    spool.discard(ids(*operations[::3]))
    owed = home / DATABASE.replace(".db", ".scrub")
    left: list[set[int]] = []

    def drop_and_die() -> None:
        other.discard(ids(*operations[1::3]))
        other._file._contents.owe_scrub()
        other.close()
        left.append(standing(home, 300))

    between_rebuilding_and_emptying(monkeypatch, drop_and_die)
    cleaned, kept = spool.scrub(30), set(range(2, 300, 3))

    assert left[0] > kept
    assert (cleaned, owed.exists()) == (True, False)
    assert (standing(home, 300), unused_pages(home)) == (kept, 0)
    spool.close()


def test_cleaning_that_keeps_others_waiting_for_too_long_is_given_up_and_done_when_less_is_kept(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance, longest = random.Random(17), scrubbing.LONGEST_SECONDS
    monkeypatch.setattr(spool_file, "SCRUB_AGAIN_SECONDS", 0.0)
    monkeypatch.setattr(spool_file, "SCRUB_TROUBLE_SECONDS", 0.0)
    monkeypatch.setattr(scrubbing, "LONGEST_SECONDS", -1.0)
    spool = open_spool(home, synchronous="NORMAL")
    operations = put(spool, *(marked(number, chance) for number in range(300)))
    spool.discard(ids(*operations[::3]))
    with pytest.raises(StoreUnavailable):
        spool.scrub(30)
    found, unused = due(spool), unused_pages(home)
    monkeypatch.setattr(scrubbing, "LONGEST_SECONDS", longest)
    again = due(spool)

    assert found == again == [operation for number, operation in enumerate(operations) if number % 3]
    assert unused > unused_pages(home) == 0
    assert not (home / DATABASE.replace(".db", ".scrub")).exists()
    assert spool.status().quarantined == 0
    spool.close()


def test_what_is_owed_is_noted_under_the_lock_of_those_who_write(home: Path) -> None:
    spool = open_spool(home, lock_timeout=0.0)
    put(spool, add("one"))
    owed = home / DATABASE.replace(".db", ".scrub")
    writer = start("hold", home)
    try:
        held = answer(writer.stdout)
        with pytest.raises(StoreUnavailable):
            spool.scrub(0)
        noted = owed.exists()
    finally:
        writer.communicate(timeout=60)

    assert (held, noted) == ("held", False)
    assert spool.scrub(30)
    spool.close()


@pytest.mark.parametrize("small", [small_disk, lambda: ([], "")], ids=["disk", "told"])
def test_cleaning_leaves_the_reserve_of_a_full_disk_alone_and_is_done_when_there_is_room(
    tmp_path: Path, small: Callable[[], tuple[list[str], str]]
) -> None:
    prefix, mount = small()
    (printed,) = finish(start("clean", tmp_path, mount, wrapped_in=prefix))
    report = json.loads(printed)

    assert (report["cleaned when full"], report["owed"], report["quarantined"]) == (False, True, 0)
    assert (report["due when full"], report["due by another"], report["kept"]) == (500, 500, 450)
    assert [report[f"ballast {when}"] for when in ("at first", "when full", "at last")] == [True, True, True]
    assert (report["due with room"], report["owed at last"]) == (450, False)


def test_a_note_of_another_users_holds_up_no_delivery_and_is_told_to_who_cleans(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spool_file, "SCRUB_AGAIN_SECONDS", 0.0)
    spool, note = open_spool(home, synchronous="NORMAL"), home / DATABASE.replace(".db", ".scrub")
    operations = put(spool, add("one"), add("two"))
    note.write_bytes(b"")
    real = os.geteuid
    if real() == 0:
        os.chown(note, 12345, -1)
    else:  # what root's is to us, ours is to somebody else: the other files are open by now
        monkeypatch.setattr(os, "geteuid", lambda: 12345)
    found = due(spool)
    spool.done(ids(operations[0]))
    later = due(spool)
    with pytest.raises(ConfigurationError, match="run as that user"):
        spool.scrub(0)
    monkeypatch.setattr(os, "geteuid", real)

    assert (found, later) == (operations, operations[1:])
    assert note.exists()
    spool.close()
