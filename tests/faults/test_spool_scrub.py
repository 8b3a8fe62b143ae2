"""Cleaning the files of a spool: what was dropped stands in none of them, whoever has the spool open meanwhile."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path
from typing import IO

import pytest

from hermes_memory.adapters.spool import spool_file
from hermes_memory.domain.operations import AddEntry
from hermes_memory.testing.making import add
from hermes_memory.testing.spool_suite import due, ids, put
from tests.support.spool_process import DESTINATION, open_spool, start

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
