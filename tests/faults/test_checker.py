"""The checker sees what is wrong: it must call writers that lose, double or reorder INVALID, and sound ones VALID."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator, Sequence
from dataclasses import replace as changed
from itertools import count
from pathlib import Path
from typing import Final
from uuid import uuid4

import pytest

from hermes_memory.adapters.inmemory.delivery import InMemoryDelivery
from hermes_memory.adapters.inmemory.embedder import hashed_vector
from hermes_memory.adapters.inmemory.records import Records
from hermes_memory.adapters.spool.sqlite_spool import SqliteSpool
from hermes_memory.domain.errors import SpoolFull
from hermes_memory.domain.model import Caller, OperationId, ReadPolicy, RowId, SessionId, Theme
from hermes_memory.domain.operations import AddEntry, Effect, Operation, ReplaceEntry
from hermes_memory.testing.making import add, by_content, next_moment, record, remove, replace, said
from tests.support.checker import Verdict, as_stored_entry, as_stored_turn, judge
from tests.support.evidence import Evidence, StoredChange
from tests.support.journal import Event, Journal, Step, journalling, read_journals
from tests.support.row_checks import embedded_texts

MINE: Final = Caller(theme=Theme("mine"), session=SessionId("s"))
COMMON: Final = Caller(theme=Theme("common"), session=SessionId("s"))
DIMENSION: Final = 16


class Trial:
    """What writers tell, and a store in which everything goes right unless a test has its own way."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.records = Records(analyze=str.split, now=next_moment, policy=ReadPolicy.OPEN)
        self.delivery = InMemoryDelivery(self.records)
        self.changes: list[StoredChange] = []
        self.outcomes: dict[OperationId, tuple[Effect, RowId | None]] = {}
        self.dead: dict[OperationId, str] = {}
        self._clock = count()
        self._places: dict[str, Iterator[int]] = {}

    def tell(self, step: Step, operation: Operation, home: str = "home", place: int | None = None) -> None:
        self.events.append(
            Event(
                step=step,
                home=home,
                operation=operation.stamp.operation,
                at=next(self._clock),
                body=operation if step == "invoke" else None,
                sequence=place,
            )
        )

    def accept(self, operation: Operation, home: str = "home", *, answers: bool = True) -> None:
        """Accept as a sound spool does: in order, each at a place of its own."""
        place = next(self._places.setdefault(home, count(1)))
        self.tell("invoke", operation, home)
        if answers:
            self.tell("ok", operation, home)
        self.tell("drawn", operation, home, place)

    async def deliver(self, operation: Operation, *, known_as: Operation | None = None) -> None:
        """Give an operation its effect; `known_as` is the one in whose name it is recorded."""
        told = (known_as or operation).stamp.operation
        before = dict(self.records.entries)
        (outcome,) = await self.delivery.apply([operation])
        self.outcomes[told] = (outcome.effect, outcome.row)
        for row in {**before, **self.records.entries}:
            old = before.get(row)
            if old != self.records.entries.get(row):
                text = operation.content if isinstance(operation, AddEntry | ReplaceEntry) else None
                kind = "added" if old is None else "removed" if text is None else "replaced"
                self.changes.append(
                    StoredChange(operation=told, change=kind, row=row, old=old.content if old else None, new=text)
                )

    async def verdict(self, **altered: object) -> Verdict:
        evidence = Evidence(
            entries=[as_stored_entry(entry) for entry in self.records.entries.values()],
            turns=[as_stored_turn(turn) for turn in self.records.turns.values()],
            changes=self.changes,
            outcomes=self.outcomes,
            dead=self.dead,
        )
        vectors = {row: hashed_vector(text, DIMENSION) for row, text in embedded_texts(evidence).items()}
        return await judge(self.events, changed(evidence, **{"vectors": vectors, **altered}))  # type: ignore[arg-type]


@pytest.fixture
def trial() -> Trial:
    return Trial()


def operations(caller: Caller = MINE, seed: int = 1, most: int = 60) -> list[Operation]:
    """Return changes of few contents by every kind of operation, and turns among them."""
    chance = random.Random(seed)
    made: list[Operation] = []
    for number in range(most):
        one, other = (f"note {chance.randint(0, 4)}" for _ in range(2))
        turns = [said(f"turn {seed} {number}"), said(f"answer {seed} {number}")]
        possible: list[Operation] = [
            add(one, caller),
            replace(by_content(one), other, caller, upsert=chance.random() < 0.5),
            remove(by_content(one), caller),
            record(*turns, caller=caller),
        ]
        made.append(chance.choice(possible))
    return made


async def through(trial: Trial, made: Sequence[Operation], home: str = "home") -> None:
    for operation in made:
        trial.accept(operation, home)
        await trial.deliver(operation)


def wrongs(verdict: Verdict) -> set[str]:
    return {reason.partition(":")[0] for reason in verdict.reasons}


@pytest.mark.parametrize("seed", range(5))
async def test_a_sound_writer_is_valid(trial: Trial, seed: int) -> None:
    await through(trial, operations(seed=seed))
    verdict = await trial.verdict()

    assert verdict.valid, str(verdict)
    assert (verdict.accepted, verdict.unanswered) == (60, 0)


async def test_a_replay_that_finds_its_operations_in_the_inbox_is_valid(trial: Trial) -> None:
    made = operations()
    await through(trial, made)
    before = (dict(trial.outcomes), list(trial.changes))
    for operation in made[20:40]:
        await trial.delivery.apply([operation])

    assert (trial.outcomes, trial.changes) == before
    assert (await trial.verdict()).valid


async def test_homes_that_share_a_theme_and_keep_their_own_order_are_valid(trial: Trial) -> None:
    mine, yours = operations(COMMON, seed=1), operations(COMMON, seed=2)
    chance = random.Random(3)
    waiting = {"mine": iter(mine), "yours": iter(yours)}
    while waiting:
        home = chance.choice(sorted(waiting))
        operation = next(waiting[home], None)
        if operation is None:
            del waiting[home]
        else:
            await through(trial, [operation], home)
    verdict = await trial.verdict()

    assert verdict.valid, str(verdict)


async def test_a_write_whose_caller_was_never_answered_may_have_its_effect_or_not(trial: Trial) -> None:
    kept, gone = add("kept", MINE), add("gone", MINE)
    trial.accept(kept, answers=False)
    await trial.deliver(kept)
    trial.tell("invoke", gone)
    verdict = await trial.verdict()

    assert verdict.valid, str(verdict)
    assert (verdict.accepted, verdict.unanswered) == (1, 1)


async def test_a_refused_write_without_effect_is_valid(trial: Trial) -> None:
    refused = add("too much", MINE)
    trial.tell("invoke", refused)
    trial.tell("refused", refused)

    assert (await trial.verdict()).valid


async def test_a_writer_that_drops_when_its_queue_is_full_is_invalid(trial: Trial) -> None:
    queue: asyncio.Queue[Operation] = asyncio.Queue(maxsize=16)
    for operation in (add(f"note {n}", MINE) for n in range(60)):
        trial.accept(operation)
        if not queue.full():
            queue.put_nowait(operation)
    while not queue.empty():
        await trial.deliver(queue.get_nowait())
    verdict = await trial.verdict()

    assert wrongs(verdict) >= {"lost", "missing entry"}
    assert not verdict.valid


async def test_a_replay_by_natural_keys_is_invalid(trial: Trial) -> None:
    """A batch is delivered, the answer is lost, and it is delivered again: equal rows are left, and nothing else."""
    batch: list[Operation] = [add("A", MINE), replace(by_content("A"), "B", MINE)]
    await through(trial, batch)
    for operation in batch:
        again = changed(operation, stamp=changed(operation.stamp, operation=OperationId(uuid4())))
        await trial.deliver(again, known_as=operation)
    verdict = await trial.verdict()

    assert wrongs(verdict) >= {"out of order", "history"}
    assert not verdict.valid


async def test_a_forgotten_memory_that_a_replay_brings_back_is_invalid(trial: Trial) -> None:
    batch: list[Operation] = [add("A", MINE), remove(by_content("A"), MINE)]
    await through(trial, batch)
    again = changed(batch[0], stamp=changed(batch[0].stamp, operation=OperationId(uuid4())))
    await trial.deliver(again, known_as=batch[0])

    assert "stale, doubled or resurrected entry" in wrongs(await trial.verdict())


@pytest.mark.parametrize("caller", [MINE, COMMON])
async def test_a_writer_that_reorders_is_invalid(trial: Trial, caller: Caller) -> None:
    first, second = record(said("one"), caller=caller), record(said("two"), caller=caller)
    trial.accept(record(said("elsewhere"), caller=COMMON), "another home")
    await trial.deliver(second)
    trial.accept(first)
    trial.accept(second)
    await trial.deliver(first)

    assert wrongs(await trial.verdict()) & {"out of order", "stale, doubled or resurrected turn"}


async def test_a_writer_that_reorders_changes_of_a_memory_is_invalid(trial: Trial) -> None:
    add_it, change_it = add("A", MINE), replace(by_content("A"), "B", MINE)
    trial.accept(add_it)
    trial.accept(change_it)
    await trial.deliver(change_it)
    await trial.deliver(add_it)

    assert wrongs(await trial.verdict()) >= {"out of order", "stale, doubled or resurrected entry", "missing entry"}


async def test_a_spool_that_hands_out_a_later_write_first_is_invalid(trial: Trial) -> None:
    first, second = add("one", MINE), add("two", MINE)
    for operation, place in ((first, 2), (second, 1)):
        trial.tell("invoke", operation)
        trial.tell("ok", operation)
        trial.tell("drawn", operation, place=place)
    for operation in (first, second):
        await trial.deliver(operation)

    assert wrongs(await trial.verdict()) == {"overtaken"}


async def test_a_spool_that_moves_a_write_is_invalid(trial: Trial) -> None:
    write = add("one", MINE)
    trial.accept(write)
    trial.tell("drawn", write, place=7)
    await trial.deliver(write)

    assert "moved" in wrongs(await trial.verdict())


@pytest.mark.parametrize("caller", [MINE, COMMON])
async def test_a_doubled_turn_is_invalid(trial: Trial, caller: Caller) -> None:
    write = record(said("hello"), caller=caller)
    trial.accept(record(said("elsewhere"), caller=COMMON), "another home")
    trial.accept(write)
    await trial.deliver(write)
    (turn,) = trial.records.turns.values()
    twin = changed(turn, id=RowId(uuid4()))
    trial.records.turns[twin.id] = twin

    assert wrongs(await trial.verdict()) & {"stale, doubled or resurrected turn", "misnumbered"}


async def test_a_doubled_memory_is_invalid(trial: Trial) -> None:
    write = add("A", MINE)
    trial.accept(write)
    await trial.deliver(write)
    (entry,) = trial.records.entries.values()
    twin = changed(entry, id=RowId(uuid4()))
    trial.records.entries[twin.id] = twin

    assert wrongs(await trial.verdict()) >= {"stale, doubled or resurrected entry", "history"}


async def test_effects_of_what_was_refused_or_never_handed_in_are_invalid(trial: Trial) -> None:
    refused, phantom = add("refused", MINE), add("phantom", MINE)
    trial.tell("invoke", refused)
    trial.tell("refused", refused)
    for operation in (refused, phantom):
        await trial.deliver(operation)

    assert "phantom" in wrongs(await trial.verdict())


async def test_a_refused_write_that_is_handed_out_is_invalid(trial: Trial) -> None:
    refused = add("refused", MINE)
    trial.accept(refused, answers=False)
    trial.tell("refused", refused)
    await trial.deliver(refused)

    assert "kept" in wrongs(await trial.verdict())


async def test_a_write_that_was_set_aside_is_invalid(trial: Trial) -> None:
    write = add("A", MINE)
    trial.accept(write)
    trial.dead[write.stamp.operation] = "22021"

    assert wrongs(await trial.verdict()) == {"set aside"}


async def test_lost_or_false_history_is_invalid(trial: Trial) -> None:
    await through(trial, [add("A", MINE), replace(by_content("A"), "B", MINE), remove(by_content("B"), MINE)])
    added, replaced, removed = trial.changes

    assert (await trial.verdict()).valid
    for lines in (
        [added, removed],
        [added, replaced, removed, removed],
        [added, changed(replaced, old="C"), removed],
        [replaced, removed],
        [],
    ):
        assert wrongs(await trial.verdict(changes=lines)) == {"history"}


async def test_missing_stale_and_ownerless_vectors_are_invalid(trial: Trial) -> None:
    write = add("The port is 5433", MINE)
    trial.accept(write)
    await trial.deliver(write)
    (row,) = trial.records.entries
    right, stale = (hashed_vector(text, DIMENSION) for text in ("The port is 5433", "Lunch is at noon"))

    assert wrongs(await trial.verdict(vectors={})) == {"no vector"}
    assert wrongs(await trial.verdict(vectors={row: stale})) == {"stale vector"}
    assert wrongs(await trial.verdict(vectors={row: right, RowId(uuid4()): right})) == {"vector of nothing"}


async def test_an_index_that_does_not_fit_its_rows_is_invalid(trial: Trial) -> None:
    assert wrongs(await trial.verdict(index_errors=1)) == {"index"}


def test_a_journal_tells_what_a_spool_accepts_refuses_and_hands_out(tmp_path: Path) -> None:
    first, second, third = (add(f"note {n}", MINE) for n in range(3))
    with journalling(Journal(tmp_path, "/somewhere/home")):
        spool = SqliteSpool(directory=tmp_path / "spool", destination="here", synchronous="NORMAL", max_rows=2)
        spool.put(first)
        spool.put(second)
        with pytest.raises(SpoolFull):
            spool.put(third)
        spool.due(10)
        spool.due(10)
        spool.close()
    (path,) = tmp_path.glob("*.jsonl")
    with path.open("ab") as file:
        file.write(b'{"step": "invoke", "op": "cut sho')
    events = read_journals(tmp_path)

    assert [(event.step, event.operation) for event in events] == [
        ("invoke", first.stamp.operation),
        ("ok", first.stamp.operation),
        ("invoke", second.stamp.operation),
        ("ok", second.stamp.operation),
        ("invoke", third.stamp.operation),
        ("refused", third.stamp.operation),
        ("drawn", first.stamp.operation),
        ("drawn", second.stamp.operation),
    ]
    assert [event.body for event in events if event.step == "invoke"] == [first, second, third]
    assert [event.sequence for event in events if event.step == "drawn"] == [1, 2]
