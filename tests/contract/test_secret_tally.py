"""The count of secrets: in memory, and in a file that the processes of a home share."""

from __future__ import annotations

import fcntl
import logging
import multiprocessing
import stat
from pathlib import Path

import pytest

from hermes_memory.adapters.inmemory.secret_tally import InMemorySecretTally
from hermes_memory.adapters.secret_tally import FILE_NAME, FileSecretTally
from hermes_memory.ports.secrets import SecretTotals
from hermes_memory.testing.making import PATIENCE
from hermes_memory.testing.secret_tally_contract import SecretTallyContract
from tests.support.full_disk import no_room_beyond


class TestInMemorySecretTally(SecretTallyContract):
    """Every promise, kept in memory."""

    @pytest.fixture
    def tally(self) -> InMemorySecretTally:
        return InMemorySecretTally()


class TestFileSecretTally(SecretTallyContract):
    """Every promise, kept in a file."""

    @pytest.fixture
    def tally(self, tmp_path: Path) -> FileSecretTally:
        return FileSecretTally(tmp_path, patience=PATIENCE)


def test_the_file_is_made_when_a_secret_is_found_and_for_nobody_else(tmp_path: Path) -> None:
    tally = FileSecretTally(tmp_path / "state")
    before = tally.totals(), (tmp_path / "state").exists()
    tally.note({"jwt": 1}, refused=False)

    assert before == (SecretTotals(), False)
    assert stat.S_IMODE((tmp_path / "state" / FILE_NAME).stat().st_mode) == 0o600


def _note_often(folder: Path) -> None:
    tally = FileSecretTally(folder, patience=30)
    for _ in range(50):
        tally.note({"jwt": 1}, refused=False)


def test_no_count_of_any_process_is_lost(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=_note_often, args=(tmp_path,)) for _ in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)

    assert [process.exitcode for process in processes] == [0, 0, 0]
    assert FileSecretTally(tmp_path).totals().redacted == {"jwt": 150}


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "[]",
        '{"redacted": 7}',
        '{"redacted": {"jwt": "many", "x": -1, "y": true}}',
        "\ud800",
        "[" * 60_000,
    ],
    ids=lambda content: ascii(content[:40]),
)
def test_a_file_without_sense_counts_as_empty_and_is_mended(tmp_path: Path, content: str) -> None:
    (tmp_path / FILE_NAME).write_bytes(content.encode("utf-8", "surrogatepass"))
    tally = FileSecretTally(tmp_path)
    tally.note({"jwt": 1}, refused=False)

    assert tally.totals() == SecretTotals(redacted={"jwt": 1})


def test_a_count_that_cannot_be_kept_is_told_and_raises_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / FILE_NAME).symlink_to(tmp_path / "elsewhere")
    tally = FileSecretTally(tmp_path)
    with caplog.at_level(logging.WARNING):
        tally.note({"jwt": 1}, refused=False)
        totals = tally.totals()

    assert totals == SecretTotals()
    assert [record.action for record in caplog.records] == ["secrets.uncounted", "secrets.unread"]  # type: ignore[attr-defined]
    assert not (tmp_path / "elsewhere").exists()


def test_a_stopped_process_that_holds_the_file_keeps_nobody_waiting(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    tally = FileSecretTally(tmp_path)
    tally.note({"jwt": 1}, refused=False)
    with (tmp_path / FILE_NAME).open("rb") as held, caplog.at_level(logging.WARNING):
        fcntl.flock(held, fcntl.LOCK_EX)
        tally.note({"jwt": 1}, refused=False)
        totals = tally.totals()

    assert totals == SecretTotals()
    assert [vars(record)["action"] for record in caplog.records] == ["secrets.uncounted", "secrets.unread"]
    assert [vars(record)["cause"] for record in caplog.records] == ["TimeoutError"] * 2
    assert tally.totals() == SecretTotals(redacted={"jwt": 1})


def test_a_disk_that_fills_up_leaves_the_counts_as_they_were(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    tally = FileSecretTally(tmp_path)
    tally.note({"jwt": 1}, refused=False)
    with caplog.at_level(logging.WARNING), no_room_beyond((tmp_path / FILE_NAME).stat().st_size):
        tally.note({"jwt": 99, "password": 7}, refused=True)

    assert tally.totals() == SecretTotals(redacted={"jwt": 1})
    assert [vars(record)["action"] for record in caplog.records] == ["secrets.uncounted"]
