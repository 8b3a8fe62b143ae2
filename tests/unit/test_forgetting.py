"""Recall waits for what this process accepted to be taken away, and shows nothing that is not gone in time."""

from __future__ import annotations

import time

import pytest
from tests.support.inprocess import GUARD, InProcess

from hermes_memory.domain.errors import DeadlineExceeded, StoreUnavailable
from hermes_memory.domain.operations import Operation
from hermes_memory.hermes import forgetting as module
from hermes_memory.hermes.forgetting import Forgetting
from hermes_memory.testing.making import add, by_content, record, remove, replace, said

pytestmark = pytest.mark.usefixtures("hurried")


async def test_what_only_adds_is_not_waited_for() -> None:
    parts, forgetting = InProcess(), Forgetting()
    for operation in (add("One"), record(said("Two"))):
        parts.spool.put(operation)
        forgetting.note(operation)

    assert await forgetting.done(parts.memory, timeout=0.5) == 0.5


@pytest.mark.parametrize("operation", [remove(by_content("One")), replace(by_content("One"), "Two")])
async def test_what_takes_something_away_is_waited_for_until_it_is_delivered(operation: Operation) -> None:
    parts, forgetting = InProcess(), Forgetting()
    parts.spool.put(operation)
    forgetting.note(operation)
    with pytest.raises(DeadlineExceeded):
        await forgetting.done(parts.memory, timeout=0.02)
    async with parts.running() as memory:
        left = await forgetting.done(memory, timeout=GUARD)

    assert 0 < left <= GUARD
    assert not parts.spool.pending(operation.stamp.operation)
    assert await forgetting.done(parts.memory, timeout=0.5) == 0.5


async def test_what_is_accepted_after_the_question_is_not_waited_for_by_it() -> None:
    parts, forgetting = InProcess(), Forgetting()
    first, later = remove(by_content("One")), remove(by_content("Two"))
    parts.spool.put(first)
    forgetting.note(first)
    async with parts.running() as memory:
        await forgetting.done(memory, timeout=GUARD)
    parts.spool.put(later)
    forgetting.note(later)

    assert list(forgetting._waiting) == [later.stamp.operation]


async def test_a_database_that_is_away_is_not_waited_for_and_the_removal_is_remembered() -> None:
    parts, forgetting = InProcess(), Forgetting()
    operation = remove(by_content("One"))
    parts.spool.put(operation)
    forgetting.note(operation)
    parts.store_breaker._jitter = lambda _: 3_600.0
    parts.delivery.applying.standing = StoreUnavailable("away")
    started = time.monotonic()
    async with parts.running() as memory:
        left = await forgetting.done(memory, timeout=GUARD * 6)

    assert time.monotonic() - started < GUARD
    assert left > 0
    assert operation.stamp.operation in forgetting._waiting


async def test_only_so_many_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "KEPT", 3)
    forgetting = Forgetting()
    operations = [remove(by_content(f"note {number}")) for number in range(5)]
    for operation in operations:
        forgetting.note(operation)

    assert list(forgetting._waiting) == [operation.stamp.operation for operation in operations[2:]]
