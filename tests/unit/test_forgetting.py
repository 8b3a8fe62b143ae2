"""Recall waits for what the home accepted to be taken away, and shows nothing that is not gone in time."""

from __future__ import annotations

import pytest
from tests.support.inprocess import GUARD, InProcess

from hermes_memory.application.forgetting import await_forgetting
from hermes_memory.domain.errors import DeadlineExceeded, StoreUnavailable
from hermes_memory.domain.operations import Operation
from hermes_memory.testing.making import add, by_content, record, remove, replace, said

pytestmark = pytest.mark.usefixtures("hurried")


async def test_what_only_adds_is_not_waited_for() -> None:
    parts = InProcess()
    for operation in (add("One"), record(said("Two"))):
        parts.spool.put(operation)

    assert 0 < await await_forgetting(parts.access, parts.deliverer, timeout=GUARD) <= GUARD


@pytest.mark.parametrize("operation", [remove(by_content("One")), replace(by_content("One"), "Two")])
async def test_what_takes_something_away_is_waited_for_whoever_accepted_it_until_it_is_delivered(
    operation: Operation,
) -> None:
    parts = InProcess()
    # As another process of the home does: this one is told nothing of it.
    parts.spool.put(operation)
    with pytest.raises(DeadlineExceeded):
        await await_forgetting(parts.access, parts.deliverer, timeout=0.02)
    async with parts.running():
        left = await await_forgetting(parts.access, parts.deliverer, timeout=GUARD)

    assert 0 < left <= GUARD
    assert not parts.spool.pending(operation.stamp.operation)


async def test_a_database_that_is_away_is_neither_waited_for_nor_asked_and_the_removal_waits_on() -> None:
    parts = InProcess()
    operation = remove(by_content("One"))
    parts.spool.put(operation)
    parts.store_breaker._jitter = lambda _: 3_600.0
    parts.delivery.applying.standing = StoreUnavailable("away")
    async with parts.running():
        for _ in range(2):
            with pytest.raises(StoreUnavailable, match="out of reach"):
                await await_forgetting(parts.access, parts.deliverer, timeout=3_600.0)

    assert parts.spool.pending(operation.stamp.operation)


async def test_a_removal_that_the_database_refuses_for_good_holds_up_nobody() -> None:
    parts = InProcess()
    operation = replace(by_content("One"), "what the database refuses")
    parts.spool.put(operation)
    parts.delivery.refused.add("refuses")
    async with parts.running():
        left = await await_forgetting(parts.access, parts.deliverer, timeout=GUARD)

    assert left > 0
    assert parts.spool.dead_reason(operation.stamp.operation)


async def test_a_spool_that_cannot_be_asked_may_hold_a_removal_so_nothing_is_shown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    parts = InProcess()

    def out_of_order() -> None:
        raise StoreUnavailable("the local spool cannot be used")

    monkeypatch.setattr(parts.spool, "retractions", out_of_order)
    with pytest.raises(StoreUnavailable, match="spool"):
        await await_forgetting(parts.access, parts.deliverer, timeout=GUARD)
