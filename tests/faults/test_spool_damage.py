"""A damaged spool file is set aside, what can be read goes on, and new operations are accepted."""

from __future__ import annotations

import logging
import os
import random
import shutil
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from hermes_memory.adapters.spool import database, quarantine, reading
from hermes_memory.adapters.spool.carve import carve
from hermes_memory.adapters.spool.codec import encode
from hermes_memory.adapters.spool.database import PAGE_SIZE
from hermes_memory.adapters.spool.row import checksum_of
from hermes_memory.adapters.spool.sqlite_spool import SqliteSpool
from hermes_memory.domain.errors import ConfigurationError, InvalidInput
from hermes_memory.domain.model import Caller, OperationId, Theme
from hermes_memory.domain.operations import Operation
from hermes_memory.testing.making import add
from hermes_memory.testing.spool_contract import due, ids, put
from tests.support.spool_process import DESTINATION, finish, open_spool, start

DATABASE = f"spool-{DESTINATION}.db"
ROWS = 60
LARGE = 9_000
"""Characters of some contents: more than two pages."""


def fill(spool: SqliteSpool) -> list[Operation]:
    """Put operations small and large in several lanes; the last three are dead letters."""
    operations: list[Operation] = [
        add(f"{number:04} " + "x" * (LARGE if number % 10 == 0 else 1_200), Caller(theme=Theme(f"t{number % 5}")))
        for number in range(ROWS)
    ]
    for operation in operations:
        put(spool, operation)
        spool.pending_before()  # which has it moved from the intake, so that the journal is written to again and again
    for operation in operations[-3:]:
        spool.bury(operation.stamp.operation, "refused")
    return operations


def closed_spool(home: Path) -> list[Operation]:
    """Leave a spool behind as an orderly end does: all in the file, no journal."""
    spool = open_spool(home, synchronous="NORMAL")
    operations = fill(spool)
    spool.close()
    return operations


def crashed_spool(home: Path) -> list[Operation]:
    """Leave a spool behind as a crash does: the newest part in the journal only."""
    spool = open_spool(home.with_name("running"), synchronous="NORMAL")
    operations = fill(spool)
    shutil.copytree(home.with_name("running"), home)
    spool.close()
    return operations


def survivors(home: Path) -> tuple[list[OperationId], list[OperationId], int]:
    """Open a spool that may be damaged: which ids wait and which are dead now, and how many files were set aside.

    Those that are dead because they are damaged are left out: `wrecks` tells of them.
    """
    spool = open_spool(home)
    waiting, letters = due(spool, 1_000), spool.dead()
    dead = [letter.id for letter in letters if letter.operation is not None]
    assert spool.retry_dead([letter.id for letter in letters if letter.operation is None]) == 0
    status = spool.status()
    (newest,) = put(spool, add("after the damage", Caller(theme=Theme("t0"))))
    assert due(spool, 1_000)[-1] == newest
    assert spool.last_sequence() == status.accepted + 1
    assert (status.depth, status.dead) == (len(waiting), len(letters))
    spool.done(ids(newest))
    spool.close()
    return list(ids(*waiting)), dead, status.quarantined


def wrecks(home: Path) -> list[tuple[OperationId, str]]:
    """Return the dead letters that are damaged, with their reasons."""
    spool = open_spool(home)
    found = [(letter.id, letter.reason) for letter in spool.dead() if letter.operation is None]
    spool.close()
    return found


def overwrite(path: Path, offset: int, content: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(content)


def smash_header(path: Path) -> None:
    overwrite(path, 0, os.urandom(100))


def zero_first_page(path: Path) -> None:
    overwrite(path, 0, bytes(PAGE_SIZE))


def name_no_database(path: Path) -> None:
    overwrite(path, 0, b"something else..")


def lie_about_the_size(path: Path) -> None:
    overwrite(path, 28, (1_000_000).to_bytes(4, "big"))


def name_another_format(path: Path) -> None:
    overwrite(path, 44, (9).to_bytes(4, "big"))


def bid_not_to_write(path: Path) -> None:
    overwrite(path, 18, bytes([66]))


@pytest.mark.parametrize(
    "damage",
    [smash_header, zero_first_page, name_no_database, lie_about_the_size, name_another_format, bid_not_to_write],
)
@pytest.mark.parametrize("leave", [closed_spool, crashed_spool])
def test_nothing_is_lost_with_the_first_page(
    tmp_path: Path, leave: Callable[[Path], list[Operation]], damage: Callable[[Path], None]
) -> None:
    operations = leave(tmp_path / "spool")
    damage(tmp_path / "spool" / DATABASE)

    waiting, dead, set_aside = survivors(tmp_path / "spool")

    assert (waiting, dead) == (ids(*operations[:-3]), ids(*operations[-3:]))
    if leave is closed_spool:  # a journal that holds the first page mends the file by itself
        assert set_aside == 1


@pytest.mark.parametrize("checked_bytes", [database.CHECKED_BYTES, 0])
def test_any_page_may_be_lost_and_only_what_was_on_it_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, checked_bytes: int
) -> None:
    monkeypatch.setattr(database, "CHECKED_BYTES", checked_bytes)
    operations = closed_spool(tmp_path / "whole")
    expected, buried = set(ids(*operations[:-3])), set(ids(*operations[-3:]))
    pages = (tmp_path / "whole" / DATABASE).stat().st_size // PAGE_SIZE
    worst = 0
    for page in random.Random(7).sample(range(pages), 15):
        home = tmp_path / f"page {page}"
        shutil.copytree(tmp_path / "whole", home)
        overwrite(home / DATABASE, page * PAGE_SIZE, bytes(PAGE_SIZE))

        waiting, dead, _ = survivors(home)

        assert set(waiting) <= expected
        assert set(dead) <= buried
        assert waiting == [operation for operation in ids(*operations) if operation in set(waiting)]
        worst = max(worst, len(operations) - len(waiting) - len(dead))
    assert 0 < worst <= 4


@pytest.mark.parametrize("size", [PAGE_SIZE * 6, PAGE_SIZE * 20, PAGE_SIZE * 20 + 1_000])
def test_what_a_truncated_file_still_holds_goes_on(tmp_path: Path, size: int) -> None:
    operations = closed_spool(tmp_path)
    os.truncate(tmp_path / DATABASE, size)

    waiting, dead, set_aside = survivors(tmp_path)

    kept = waiting + dead
    assert set(kept) < set(ids(*operations))
    assert (len(kept) > 10) == (size > PAGE_SIZE * 10)
    assert set_aside == 1


def test_the_journal_is_read_when_the_file_is_empty(tmp_path: Path) -> None:
    operations = crashed_spool(tmp_path / "spool")
    journal = (tmp_path / "spool" / f"{DATABASE}-wal").stat().st_size
    os.truncate(tmp_path / "spool" / DATABASE, 0)

    waiting, dead, set_aside = survivors(tmp_path / "spool")

    assert journal > 0
    assert 0 < len(waiting + dead) <= len(operations)
    assert operations[-1].stamp.operation in dead
    assert set_aside == 1


def test_the_journal_is_read_when_the_file_is_gone(tmp_path: Path) -> None:
    operations = crashed_spool(tmp_path / "spool")
    (tmp_path / "spool" / DATABASE).unlink()

    waiting, dead, _ = survivors(tmp_path / "spool")

    assert operations[-1].stamp.operation in dead
    assert set(waiting) <= set(ids(*operations))


def test_a_journal_of_garbage_takes_only_what_was_in_it(tmp_path: Path) -> None:
    operations = crashed_spool(tmp_path / "spool")
    journal = tmp_path / "spool" / f"{DATABASE}-wal"
    overwrite(journal, 0, os.urandom(journal.stat().st_size))

    waiting, dead, _ = survivors(tmp_path / "spool")

    assert set(waiting + dead) <= set(ids(*operations))
    assert len(waiting) > 0


def test_a_file_of_garbage_is_set_aside_and_a_new_one_works(tmp_path: Path) -> None:
    closed_spool(tmp_path)
    (tmp_path / DATABASE).write_bytes(os.urandom(PAGE_SIZE * 40))

    assert survivors(tmp_path) == ([], [], 1)


def test_random_damage_never_stops_the_spool(tmp_path: Path) -> None:
    operations = crashed_spool(tmp_path / "whole")
    chance = random.Random(11)
    for trial in range(15):
        home = tmp_path / f"trial {trial}"
        shutil.copytree(tmp_path / "whole", home)
        for _ in range(chance.randint(1, 20)):
            path = home / chance.choice([DATABASE, f"{DATABASE}-wal"])
            overwrite(path, chance.randrange(path.stat().st_size - 300), chance.randbytes(chance.randint(1, 300)))

        waiting, dead, _ = survivors(home)

        assert set(waiting + dead) <= set(ids(*operations))


def test_a_changed_body_is_noticed_by_its_checksum(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    operations = closed_spool(tmp_path)
    content = (tmp_path / DATABASE).read_bytes()
    overwrite(tmp_path / DATABASE, content.index(b"0007 xxx"), b"9999")

    with caplog.at_level(logging.ERROR):
        waiting, dead, set_aside = survivors(tmp_path)

    assert waiting == [each for each in ids(*operations[:-3]) if each != operations[7].stamp.operation]
    assert dead == ids(*operations[-3:])
    assert wrecks(tmp_path) == [(operations[7].stamp.operation, reading.CHANGED)]
    assert set_aside == 0
    assert [record.action for record in caplog.records] == ["spool.damaged"]  # type: ignore[attr-defined]
    assert "xxx" not in caplog.text


def test_what_is_left_of_a_changed_body_is_kept_for_the_operator(tmp_path: Path) -> None:
    operations = closed_spool(tmp_path)
    content = (tmp_path / DATABASE).read_bytes()
    overwrite(tmp_path / DATABASE, content.index(b"0007 xxx"), b"9999")
    spool = open_spool(tmp_path)
    spool.due(ROWS)
    (kept,) = [kept for kept in spool.kept(ROWS) if kept.id == operations[7].stamp.operation]
    totals = spool.status()
    spool.close()

    assert kept.operation is None
    assert kept.body == encode(operations[7]).replace(b"0007 xxx", b"9999 xxx")
    assert (totals.buried, totals.dead, totals.depth) == (4, 4, ROWS - 4)


def test_a_damaged_file_gives_up_its_changed_rows_as_dead_letters_too(tmp_path: Path) -> None:
    operations = closed_spool(tmp_path)
    content = (tmp_path / DATABASE).read_bytes()
    for number in (7, ROWS - 2):
        overwrite(tmp_path / DATABASE, content.index(b"%04d xxx" % number), b"9999")
    zero_first_page(tmp_path / DATABASE)

    waiting, dead, set_aside = survivors(tmp_path)

    assert waiting == [each for each in ids(*operations[:-3]) if each != operations[7].stamp.operation]
    assert dead == ids(operations[-3], operations[-1])
    assert sorted(wrecks(tmp_path)) == sorted(
        [(operations[7].stamp.operation, reading.CHANGED), (operations[-2].stamp.operation, "refused")]
    )
    assert set_aside == 1


def test_every_flipped_byte_costs_one_operation_at_most(tmp_path: Path) -> None:
    spool = open_spool(tmp_path / "whole", synchronous="NORMAL")
    operations = put(spool, *(add(f"{number:04} " + "x" * 300) for number in range(6)))
    spool.close()
    size = (tmp_path / "whole" / DATABASE).stat().st_size
    for number, offset in enumerate(random.Random(3).sample(range(size), 60)):
        home = tmp_path / str(number)
        shutil.copytree(tmp_path / "whole", home)
        content = (home / DATABASE).read_bytes()
        overwrite(home / DATABASE, offset, bytes([content[offset] ^ 0x10]))

        waiting, dead, _ = survivors(home)

        assert not dead
        assert len(waiting) >= len(operations) - 1
        assert waiting == [each for each in ids(*operations) if each in set(waiting)]
        shutil.rmtree(home)


@pytest.mark.parametrize(
    "lie",
    [
        "UPDATE counters SET kept = 1000000",
        "UPDATE counters SET waiting = 0",
        "UPDATE counters SET kept_bytes = kept_bytes + 1",
        "DELETE FROM counters",
        "UPDATE operations SET head = 0 WHERE sequence = 3",
        "UPDATE operations SET head = 1 WHERE sequence = 40",
    ],
)
def test_false_accounts_are_noticed_and_made_anew(tmp_path: Path, lie: str) -> None:
    operations = closed_spool(tmp_path)
    connection = sqlite3.connect(tmp_path / DATABASE)
    connection.execute(lie)
    connection.commit()
    connection.close()

    waiting, dead, set_aside = survivors(tmp_path)

    assert (waiting, dead, set_aside) == (ids(*operations[:-3]), ids(*operations[-3:]), 1)


def test_damage_under_an_open_spool_is_met_in_the_middle_of_work(tmp_path: Path) -> None:
    operations = closed_spool(tmp_path)
    spool = open_spool(tmp_path)
    size = (tmp_path / DATABASE).stat().st_size
    overwrite(tmp_path / DATABASE, PAGE_SIZE * 12, bytes(size - PAGE_SIZE * 12))
    held = [item.operation for item in spool.due(1_000)]
    (newest,) = put(spool, add("after the damage"))
    spool.done(ids(*held[:2]))
    spool.close()

    waiting, dead, _ = survivors(tmp_path)

    assert newest.stamp.operation in waiting
    assert set(waiting + dead) <= {*ids(*operations), newest.stamp.operation}
    assert not set(ids(*held[:2])) & set(waiting)


def test_each_new_damage_is_survived(tmp_path: Path) -> None:
    operations = closed_spool(tmp_path)
    for round_number in (1, 2, 3):
        smash_header(tmp_path / DATABASE)

        waiting, dead, set_aside = survivors(tmp_path)

        assert (waiting, dead) == (ids(*operations[:-3]), ids(*operations[-3:]))
        assert set_aside == round_number


def test_what_was_counted_and_postponed_survives_the_rescue(tmp_path: Path) -> None:
    spool = open_spool(tmp_path, now=lambda: 1_000.0)
    operations = put(spool, *(add(f"{number}") for number in range(4)))
    spool.postpone(ids(*operations[:3]), 50)
    spool.done(ids(operations[3]))
    spool.close()
    zero_first_page(tmp_path / DATABASE)

    early, late = open_spool(tmp_path, now=lambda: 1_049.0), open_spool(tmp_path, now=lambda: 1_050.0)

    assert due(early) == []
    assert [(item.operation, item.attempts, item.sequence) for item in late.due(10)] == [
        (operation, 1, number) for number, operation in enumerate(operations[:3], 1)
    ]
    assert late.last_sequence() == late.status().accepted == 4
    early.close()
    late.close()


# -- several processes ------------------------------------------------------------------------------------------------


def test_a_process_that_has_the_damaged_file_open_goes_on_in_the_new_one(tmp_path: Path) -> None:
    operations = closed_spool(tmp_path)
    other = start("use", tmp_path)
    assert other.stdout is not None
    assert other.stdin is not None
    opened = other.stdout.readline()
    smash_header(tmp_path / DATABASE)
    finder = open_spool(tmp_path)
    other.stdin.write("go on\n")
    other.stdin.flush()
    theirs = other.stdout.readline().strip()
    (ours,) = put(finder, add("ours"))

    finish(other)  # it closes its handle of the old file, beside the journal of the new one

    assert opened == "open\n"
    kept = [str(item.operation.stamp.operation) for item in finder.due(1_000)]
    assert kept == [*map(str, ids(*operations[:-3])), theirs, str(ours.stamp.operation)]
    assert finder.status().quarantined == 1
    finder.close()
    assert survivors(tmp_path)[0][-1] == ours.stamp.operation


# -- a rescue that was cut short --------------------------------------------------------------------------------------


def rescued_but_not_moved(home: Path) -> None:
    """The new file is complete and nothing was moved."""
    zero_first_page(home / DATABASE)
    shutil.copytree(home, home.with_name("copy"))
    quarantine.begin_anew(home.with_name("copy") / DATABASE)
    shutil.copy(home.with_name("copy") / DATABASE, home / f"{DATABASE}.new")


def moved_the_journal_only(home: Path) -> None:
    rescued_but_not_moved(home)
    (home / f"{DATABASE}-wal").rename(home / f"{DATABASE}.corrupt-20260101T000000000000Z-wal")


def moved_the_file_too(home: Path) -> None:
    moved_the_journal_only(home)
    (home / DATABASE).rename(home / f"{DATABASE}.corrupt-20260101T000000000000Z")


def half_written(home: Path) -> None:
    rescued_but_not_moved(home)
    os.truncate(home / f"{DATABASE}.new", PAGE_SIZE * 10)


@pytest.mark.parametrize("cut_short", [rescued_but_not_moved, moved_the_journal_only, moved_the_file_too, half_written])
def test_a_rescue_that_was_cut_short_is_finished(tmp_path: Path, cut_short: Callable[[Path], None]) -> None:
    operations = crashed_spool(tmp_path / "spool")
    cut_short(tmp_path / "spool")

    waiting, dead, set_aside = survivors(tmp_path / "spool")

    assert (waiting, dead) == (ids(*operations[:-3]), ids(*operations[-3:]))
    assert set_aside == 1
    assert not quarantine.begun(tmp_path / "spool" / DATABASE)


# -- newer versions ---------------------------------------------------------------------------------------------------


def test_an_operation_of_a_newer_version_is_kept_for_it_even_through_a_rescue(tmp_path: Path) -> None:
    spool = open_spool(tmp_path)
    newer, plain = put(spool, add("one", Caller(theme=Theme("newer"))), add("two"))
    spool.close()
    body = encode(newer).replace(b'"v":1', b'"v":2', 1)
    (row,) = (row for row in carve(tmp_path / DATABASE).rows.values() if row.sequence == 1)
    connection = sqlite3.connect(tmp_path / DATABASE)
    checksum = checksum_of(1, row.id, row.lane, body)
    connection.execute("UPDATE operations SET body = ?, checksum = ? WHERE sequence = 1", (body, checksum))
    connection.commit()
    connection.close()
    zero_first_page(tmp_path / DATABASE)
    spool = open_spool(tmp_path)

    with pytest.raises(ConfigurationError, match="upgrade"):
        spool.due(10)

    assert spool.pending(newer.stamp.operation)
    assert spool.pending(plain.stamp.operation)
    assert spool.status().quarantined == 1
    spool.close()


def test_a_body_that_is_no_operation_becomes_a_dead_letter(tmp_path: Path) -> None:
    spool = open_spool(tmp_path)
    first, second = put(spool, add("one"), add("two"))
    spool.close()
    (row,) = (row for row in carve(tmp_path / DATABASE).rows.values() if row.sequence == 1)
    nothing = b"{}".ljust(len(row.body))
    connection = sqlite3.connect(tmp_path / DATABASE)
    connection.execute(
        "UPDATE operations SET body = ?, checksum = ? WHERE sequence = 1",
        (nothing, checksum_of(1, row.id, row.lane, nothing)),
    )
    connection.commit()
    connection.close()

    spool = open_spool(tmp_path)

    assert due(spool) == [second]
    assert [(letter.id, letter.reason) for letter in spool.dead()] == [(first.stamp.operation, reading.NO_OPERATION)]
    assert [kept.body for kept in spool.kept(1)] == [nothing]
    assert quarantine.set_aside(tmp_path / DATABASE) == []
    spool.close()


def test_a_flipped_version_is_damage_and_no_newer_version(tmp_path: Path) -> None:
    operations = closed_spool(tmp_path)
    overwrite(tmp_path / DATABASE, 60, (database.FORMAT ^ 0x40).to_bytes(4, "big"))

    assert survivors(tmp_path) == (ids(*operations[:-3]), ids(*operations[-3:]), 1)


@pytest.mark.parametrize("name", [b"attempts", b"buried_at IS NULL", b"head = 1", b"refused"])
def test_a_schema_that_is_damaged_in_name_only_is_made_anew(tmp_path: Path, name: bytes) -> None:
    operations = closed_spool(tmp_path)
    content = (tmp_path / DATABASE).read_bytes()
    overwrite(tmp_path / DATABASE, content.index(name), bytes([name[0] ^ 2]))

    assert survivors(tmp_path) == (ids(*operations[:-3]), ids(*operations[-3:]), 1)


@pytest.mark.parametrize("name", [b"heads", b"operations", b"INTEGER", b"WHERE"])
def test_a_schema_that_is_no_text_any_more_is_made_anew(tmp_path: Path, name: bytes) -> None:
    operations = closed_spool(tmp_path)
    content = (tmp_path / DATABASE).read_bytes()
    overwrite(tmp_path / DATABASE, content.index(name), b"\xa0")

    assert survivors(tmp_path) == (ids(*operations[:-3]), ids(*operations[-3:]), 1)


def test_a_sequence_that_was_set_back_is_noticed(tmp_path: Path) -> None:
    operations = closed_spool(tmp_path)
    connection = sqlite3.connect(tmp_path / DATABASE)
    connection.execute("UPDATE counters SET last_sequence = 5")
    connection.commit()
    connection.close()

    assert survivors(tmp_path) == (ids(*operations[:-3]), ids(*operations[-3:]), 1)


def test_a_spool_that_an_older_version_made_goes_on(tmp_path: Path) -> None:
    operations = closed_spool(tmp_path)
    connection = sqlite3.connect(tmp_path / DATABASE)
    for column in ("delivered", "buried", "discarded", "refused"):
        connection.execute(f"ALTER TABLE counters DROP COLUMN {column}")
    connection.execute("PRAGMA user_version = 1")
    connection.execute("PRAGMA application_id = 0")
    connection.commit()
    connection.close()

    waiting, dead, set_aside = survivors(tmp_path)

    assert (waiting, dead, set_aside) == (ids(*operations[:-3]), ids(*operations[-3:]), 0)


def test_the_totals_survive_the_loss_of_a_page(tmp_path: Path) -> None:
    spool = open_spool(tmp_path, max_item_bytes=4_000)
    first, second, third, *_ = put(spool, *(add(str(number)) for number in range(5)))
    spool.done(ids(first))
    spool.bury(second.stamp.operation, "refused")
    spool.discard(ids(third))
    with pytest.raises(InvalidInput):
        spool.put(add("x" * 5_000))
    before = spool.status()
    spool.close()
    zero_first_page(tmp_path / DATABASE)
    spool = open_spool(tmp_path)
    after = spool.status()
    spool.close()

    assert (before.delivered, before.buried, before.discarded, before.refused) == (1, 1, 1, 1)
    assert replace(after, quarantined=0, oldest_accepted_at=None) == replace(before, oldest_accepted_at=None)
