"""Recall waits for what the home accepted to be taken away, and shows nothing that is not gone in time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest
from tests.support.inprocess import GUARD, InProcess
from tests.support.tables import for_each

from hermes_memory.application.forgetting import await_forgetting
from hermes_memory.application.view import View
from hermes_memory.domain.errors import DeadlineExceeded, StoreUnavailable
from hermes_memory.domain.model import RowId, TraceId
from hermes_memory.domain.operations import Operation
from hermes_memory.testing.making import DESK, SALES_DESK, add, by_content, record, remove, replace, said

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


async def store(parts: InProcess, content: str) -> RowId:
    """Store a memory past the spool, as another home does."""
    (outcome,) = await parts.store.delivery.apply([add(content)])
    assert outcome.row
    return outcome.row


READS: dict[str, Callable[[View, RowId, TraceId], Awaitable[object]]] = {
    "recall": lambda view, row, answer: view.recall("one", timeout=0.05),
    "get": lambda view, row, answer: view.get(row, timeout=0.05),
    "profile": lambda view, row, answer: view.profile(timeout=0.05),
    "explain": lambda view, row, answer: view.explain(answer, timeout=0.05),
    "why": lambda view, row, answer: view.why(answer, row, timeout=0.05),
}


@for_each("read", READS)
async def test_no_way_to_read_shows_what_another_process_of_the_home_accepted_to_forget(read: str) -> None:
    parts = InProcess()
    row = await store(parts, "One")
    view = parts.memory.view_of(DESK)
    answer = (await view.recall("one")).trace_id
    parts.spool.put(remove(by_content("One")))

    with pytest.raises(DeadlineExceeded, match="forgotten right now"):
        await READS[read](view, row, answer)


async def test_once_it_is_forgotten_what_stays_is_read_again() -> None:
    parts = InProcess()
    await store(parts, "One")
    parts.spool.put(remove(by_content("One")))
    async with parts.running() as memory:
        hits = (await memory.view_of(DESK).recall("one", timeout=GUARD)).hits

    assert hits == ()


async def test_a_write_that_is_stored_is_told_so_while_another_theme_has_something_to_forget() -> None:
    parts = InProcess()
    removal = remove(by_content("One"), SALES_DESK)
    parts.spool.put(removal)
    parts.spool.postpone([removal.stamp.operation], GUARD * 10)
    async with parts.running() as memory:
        entry = await memory.view_of(DESK).remember("Two", timeout=GUARD)

    assert entry.content == "Two"
    assert parts.spool.pending(removal.stamp.operation)
