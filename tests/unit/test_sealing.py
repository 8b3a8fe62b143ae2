"""The seal stage: seals what is delivered, publishes the heads, and stays quiet when it cannot."""

from __future__ import annotations

import fcntl
import logging
import os
from collections.abc import Collection, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

import anyio
import pytest
from tests.support.full_disk import no_room_beyond

from hermes_memory.adapters.published_heads import latest, publish, published, set_aside, told, waiting_beside
from hermes_memory.application import sealing
from hermes_memory.application.sealing import MOST_CHANGES, MOST_FORGOTTEN, SealStage
from hermes_memory.domain.chain import Head
from hermes_memory.domain.errors import ConfigurationError, StoreUnavailable
from hermes_memory.ports.seals import HeadsWait, Sealed, SealLag

AT = datetime(2026, 5, 3, tzinfo=UTC)


def made(seal: int = 1, changes: int = 1, theme: str = "marketing") -> Sealed:
    return Sealed(head=Head(theme=theme, seal=seal, chained=bytes([seal]) * 32), changes=changes, at=AT)


class Waiting:
    """`Seals` with so many changes that wait; while `away` it does not answer."""

    def __init__(self, waiting: int = 0, forgotten: int = 0) -> None:
        self.waiting, self.forgotten, self.number, self.away = waiting, forgotten, 0, False
        self.expired: list[int] = []

    async def seal(self, most: int) -> Sequence[Sealed]:
        if self.away:
            raise StoreUnavailable("away")
        if not self.waiting:
            return []
        taken = min(self.waiting, most)
        self.waiting -= taken
        self.number += 1
        return [made(self.number, taken)]

    async def expire(self, most: int) -> int:
        self.expired.append(most)
        taken = min(self.forgotten, most)
        self.forgotten -= taken
        return taken

    async def standing(self, heads: Collection[Head]) -> Sequence[Head]:
        return []

    async def lag(self) -> SealLag:
        return SealLag(waiting=self.waiting, oldest=None)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GATHER_SECONDS", "FIRST_SECONDS", "TROUBLE_SECONDS"):
        monkeypatch.setattr(sealing, name, 0.001)


async def until(reached: object, *, timeout: float = 30) -> None:
    with anyio.fail_after(timeout):
        while not (callable(reached) and reached()):
            await anyio.sleep(0.001)


async def test_all_that_waits_is_sealed_in_parts_and_every_head_published(caplog: pytest.LogCaptureFixture) -> None:
    seals = Waiting(2 * MOST_CHANGES + 1)
    heads: list[Sealed] = []

    async def keep(sealed: Sequence[Sealed]) -> None:
        heads.extend(sealed)

    stage = SealStage(seals, publish=keep)
    with caplog.at_level(logging.INFO):
        total = await stage.seal()

    assert total == stage.sealed == 2 * MOST_CHANGES + 1
    assert [each.head.seal for each in heads] == [1, 2, 3]
    actions = [vars(record) for record in caplog.records if vars(record).get("action") == "history.sealed"]
    assert [record["chained"] for record in actions] == [each.head.chained.hex() for each in heads]


@pytest.mark.usefixtures("quick")
async def test_it_goes_on_after_the_store_was_away_and_lets_forgotten_texts_go() -> None:
    seals = Waiting(forgotten=450)
    heads: list[Sealed] = []

    async def keep(sealed: Sequence[Sealed]) -> None:
        heads.extend(sealed)

    stage = SealStage(seals, publish=keep)
    seals.away = True
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(stage.run)
        await anyio.sleep(0.01)
        seals.waiting, seals.away = 3, False
        await until(lambda: stage.sealed == 3 and not seals.forgotten)
        seals.waiting = 2
        stage.doorbell.ring()
        await until(lambda: stage.sealed == 5)
        tasks.cancel_scope.cancel()

    assert set(seals.expired) == {MOST_FORGOTTEN}
    assert sum(each.changes for each in heads) == 5


def test_published_heads_are_kept_in_a_private_file_that_is_only_added_to(tmp_path: Path) -> None:
    path = tmp_path / "heads.jsonl"
    publish(path, [made(1), made(1, theme="sales")])
    publish(path, [made(2)])
    with path.open("a") as file:
        file.write('{"theme": "cut o')  # as a process that died in the middle leaves it

    assert published(path) == [made(1).head, made(1, theme="sales").head, made(2).head]
    assert latest(published(path)) == [made(2).head, made(1, theme="sales").head]
    assert path.stat().st_mode & 0o777 == 0o600
    assert published(tmp_path / "none.jsonl") == []


NO_HEADS = (
    "no json",
    "[]",
    '{"theme": "a", "seal": "x", "chained": "00"}',
    '{"seal": 1}',
    '{"theme": "a", "seal": Infinity, "chained": ""}',
    '{"theme": "a", "seal": 1e999, "chained": ""}',
    "[" * 60_000,
)


@pytest.mark.parametrize("line", NO_HEADS, ids=lambda line: line[:40])
def test_a_line_that_is_no_head_is_refused(tmp_path: Path, line: str) -> None:
    path = tmp_path / "heads.jsonl"
    path.write_text(f"{line}\n")

    with pytest.raises(ConfigurationError, match="no published head"):
        published(path)


def test_heads_are_not_published_through_a_link_or_into_a_pipe(tmp_path: Path) -> None:
    target, link, pipe = tmp_path / "target", tmp_path / "link", tmp_path / "pipe"
    target.write_text("")
    link.symlink_to(target)
    os.mkfifo(pipe)

    for path in (link, pipe, tmp_path / "missing" / "heads"):
        with pytest.raises(ConfigurationError):
            publish(path, [made()])
    assert target.read_text() == ""


def test_heads_that_a_full_disk_takes_a_part_of_are_refused_whole(tmp_path: Path) -> None:
    path = tmp_path / "heads.jsonl"
    publish(path, [made(1)])
    before = path.read_bytes()
    with no_room_beyond(20), pytest.raises(ConfigurationError, match="cannot be written: ") as refused:
        publish(path, [made(2), made(3)])
    left = path.read_bytes(), waiting_beside(path).read_bytes()
    publish(path, [made(2)])

    assert left == (before, b"")
    assert not isinstance(refused.value, HeadsWait)
    assert published(path) == [made(1).head, made(2).head]
    assert str(tmp_path) not in str(refused.value)


def test_heads_that_have_no_room_wait_beside_the_others_and_are_published_first_and_once(tmp_path: Path) -> None:
    path, waiting = tmp_path / "heads.jsonl", waiting_beside(tmp_path / "heads.jsonl")
    publish(path, [made(number) for number in range(1, 6)])
    with no_room_beyond(path.stat().st_size + 20):
        for number in (6, 7):
            with pytest.raises(HeadsWait, match="cannot be written: "):
                publish(path, [made(number)])
    known, left = told(path), waiting.read_bytes()
    publish(path, [made(8)])
    # As a process leaves it that died when it had published what waited, and before it took that away.
    waiting.write_bytes(left)
    publish(path, [])

    numbers = [head.seal for head in published(path)]
    assert [head.seal for head in known] == [1, 2, 3, 4, 5, 6, 7]
    assert numbers == [1, 2, 3, 4, 5, 6, 7, 8]
    assert waiting.read_bytes() == b""
    assert waiting.stat().st_mode & 0o777 == 0o600


def waiting_lines(*numbers: int) -> str:
    """Return what waits of these heads."""
    return "".join(
        f'{{"theme": "marketing", "seal": {n}, "chained": "{made(n).head.chained.hex()}"}}\n' for n in numbers
    )


DAMAGES = (
    *(f"{line}\n" for line in NO_HEADS),
    '{"theme": "cut o\n',
    "x" * 70_000,
    "\x00" * 100 + "\n",
)


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage[:40])
def test_what_waits_and_is_no_head_is_set_aside_and_told_of_and_holds_no_head_up(
    tmp_path: Path, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "heads.jsonl"
    broken = waiting_lines(1) + (waiting_lines(2) if damage.endswith("\n") else "")
    broken = broken.replace("\n", f"\n{damage}", 1)
    waiting_beside(path).write_text(broken)
    with caplog.at_level(logging.WARNING, "hermes_memory"):
        publish(path, [made(3)])
        publish(path, [made(4)])
    (kept,) = set_aside(path)
    records = [vars(record) for record in caplog.records]

    expected = [head.seal for head in told(path)]
    assert expected == ([1, 2, 3, 4] if damage.endswith("\n") else [1, 3, 4])
    assert [head.seal for head in published(path)] == expected
    assert (kept.read_text(), kept.stat().st_mode & 0o777) == (broken, 0o600)
    assert waiting_beside(path).read_bytes() == b""
    assert [(record["action"], record["file"]) for record in records] == [("history.damaged", kept.name)]
    assert str(tmp_path) not in str([record["msg"] for record in records])


def test_heads_among_damaged_ones_that_cannot_be_published_either_go_on_waiting(tmp_path: Path) -> None:
    path = tmp_path / "heads.jsonl"
    path.mkdir()
    waiting_beside(path).write_text(f"no head\n{waiting_lines(1)}")
    with pytest.raises(HeadsWait):
        publish(path, [made(2)])
    path.rmdir()

    assert told(path) == [made(1).head, made(2).head]
    assert len(set_aside(path)) == 1


def test_what_waits_stays_where_it_is_while_there_is_no_room_to_set_the_damage_aside(tmp_path: Path) -> None:
    path = tmp_path / "heads.jsonl"
    waiting_beside(path).write_text(f"no head\n{waiting_lines(1)}")
    with no_room_beyond(20), pytest.raises(ConfigurationError, match="cannot be written: "):
        publish(path, [made(2)])
    left, aside = waiting_beside(path).read_text(), set_aside(path)
    publish(path, [made(2)])

    assert (left, aside) == (f"no head\n{waiting_lines(1)}", [])
    assert published(path) == [made(1).head, made(2).head]


@pytest.mark.parametrize("way", ["a link", "a directory", "a file that is held"])
def test_what_waits_out_of_reach_holds_no_head_up_and_is_told_of(tmp_path: Path, way: str) -> None:
    path, elsewhere = tmp_path / "heads.jsonl", tmp_path / "elsewhere"
    waiting = waiting_beside(path)
    elsewhere.write_text(waiting_lines(1))
    with ExitStack() as held:
        if way == "a link":
            waiting.symlink_to(elsewhere)
        elif way == "a directory":
            waiting.mkdir()
        else:
            waiting.write_text(waiting_lines(1))
            fcntl.flock(held.enter_context(waiting.open("rb")), fcntl.LOCK_EX)
        with pytest.raises(HeadsWait, match="the file of the heads that wait") as told_of:
            publish(path, [made(2)])
        with pytest.raises(HeadsWait):  # as of a process that died before it knew that the first time was enough
            publish(path, [made(2)])

    assert published(path) == [made(2).head]
    assert elsewhere.read_text() == waiting_lines(1)
    assert str(tmp_path) not in str(told_of.value)


def test_a_line_in_the_way_among_the_published_ones_keeps_none_waiting(tmp_path: Path) -> None:
    path = tmp_path / "heads.jsonl"
    path.write_text("no head\n")
    waiting_beside(path).write_text(waiting_lines(1))
    publish(path, [made(2)])

    assert path.read_text().splitlines()[0] == "no head"
    assert len(path.read_text().splitlines()) == 3
    assert waiting_beside(path).read_bytes() == b""


def test_a_line_that_a_dead_process_left_cut_is_not_glued_to_the_next(tmp_path: Path) -> None:
    path = tmp_path / "heads.jsonl"
    publish(path, [made(1)])
    with path.open("a") as file:
        file.write('{"theme": "cut o')
    publish(path, [made(2)])

    assert published(path) == [made(1).head, made(2).head]


def test_a_stopped_process_that_holds_the_file_of_heads_is_waited_for_only_briefly(tmp_path: Path) -> None:
    path = tmp_path / "heads.jsonl"
    publish(path, [made(1)])
    with path.open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(HeadsWait, match="another process"):
            publish(path, [made(2)])

    assert published(path) == [made(1).head]
    assert told(path) == [made(1).head, made(2).head]


async def test_heads_that_cannot_be_published_are_kept_for_the_next_time_and_the_reason_is_told_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    seals = Waiting(2)
    path = tmp_path / "missing" / "heads.jsonl"

    async def keep(sealed: Sequence[Sealed]) -> None:
        publish(path, sealed)

    stage = SealStage(seals, publish=keep)
    with caplog.at_level(logging.WARNING):
        await stage.seal()
        seals.waiting = 3
        await stage.seal()
    path.parent.mkdir()
    await stage.seal()
    await stage.seal()

    told = [vars(record) for record in caplog.records]
    assert stage.sealed == 5
    assert published(path) == [made(1).head, made(2).head]
    assert [(record["action"], record["levelname"]) for record in told] == [("history.unpublished", "WARNING")]
    assert "No such file" in told[0]["reason"]
    assert str(tmp_path) not in str(told)


async def test_heads_that_a_process_could_not_publish_are_published_by_the_next_one_before_its_own(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "heads.jsonl"
    seals = Waiting(2)

    async def keep(sealed: Sequence[Sealed]) -> None:
        publish(path, sealed)

    path.mkdir()  # what stands in the way until somebody removes it
    with caplog.at_level(logging.WARNING):
        await SealStage(seals, publish=keep).seal()
        seals.waiting = 1
        await SealStage(seals, publish=keep).seal()
    path.rmdir()
    seals.waiting = 1
    idle, after = SealStage(seals, publish=keep), SealStage(Waiting(), publish=keep)
    await after.seal()
    first = [head.seal for head in published(path)]
    await idle.seal()
    await idle.seal()

    assert first == [1, 2]
    assert [head.seal for head in published(path)] == [1, 2, 3]
    assert [vars(record)["heads"] for record in caplog.records] == [1, 0]
