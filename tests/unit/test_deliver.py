"""Delivering: everything accepted has its effect once, in order, whatever stands in its way meanwhile.

What stands in its way is waited for, and only what the store refuses for good is set aside.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from uuid import uuid4

import anyio
import pytest
from tests.support.faulty import FaultyDelivery
from tests.support.inprocess import GUARD, MOMENT, until

from hermes_memory.adapters.inmemory import InMemoryStore
from hermes_memory.adapters.inmemory.spool import InMemoryLeadership, InMemorySpool
from hermes_memory.application import handover
from hermes_memory.application.batch_size import BatchSize
from hermes_memory.application.breaker import STORE, Breaker, BreakerState
from hermes_memory.application.deliver import Deliverer
from hermes_memory.application.handover import FAULTS_BEFORE_BURIAL
from hermes_memory.application.spool_access import SpoolAccess
from hermes_memory.application.worker import Worker
from hermes_memory.domain.errors import (
    ConfigurationError,
    DeadlineExceeded,
    DeliveryRejected,
    HermesMemoryError,
    SchemaNotApplied,
    StoreUnavailable,
)
from hermes_memory.domain.model import Caller, OperationId, Theme
from hermes_memory.domain.operations import Effect, Operation, Outcome
from hermes_memory.testing.making import add, by_content, record, remove, said

AWAY = StoreUnavailable("the database is away")
NO_SCHEMA = SchemaNotApplied("run hermes-memory migrate")
MISCONFIGURED = ConfigurationError("the database address is not usable")

pytestmark = pytest.mark.usefixtures("hurried")


@dataclass
class Side:
    """One process's deliverer before a store."""

    spool: InMemorySpool = field(default_factory=InMemorySpool)
    store: InMemoryStore = field(default_factory=lambda: InMemoryStore(analyze=str.split))
    leadership: InMemoryLeadership = field(default_factory=InMemoryLeadership)
    batch: int = 200
    pause: float = MOMENT
    heard: list[Sequence[Outcome]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.delivery = FaultyDelivery(self.store.delivery)
        self.breaker = Breaker(STORE, failures=1, delay=self.pause, longest_delay=self.pause)
        self.deliverer = Deliverer(
            SpoolAccess(self.spool, Worker()),
            self.leadership,
            self.delivery,
            breaker=self.breaker,
            batch=self.batch,
            delivered=self._hear,
        )

    async def _hear(self, outcomes: Sequence[Outcome]) -> None:
        self.heard.append(outcomes)

    def accept(self, *operations: Operation) -> None:
        for operation in operations:
            self.spool.put(operation)

    def beside(self, seat: threading.Lock) -> Side:
        """Return another process of the same home, with the same seat to lead from."""
        return Side(spool=self.spool, store=self.store, leadership=InMemoryLeadership(seat))

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Deliverer]:
        with anyio.fail_after(GUARD):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self.deliverer.run)
                yield self.deliverer
                tasks.cancel_scope.cancel()

    async def deliver_all(self) -> None:
        """Deliver what waits now, until it is dealt with to the end: the outcomes are told after the spool let go."""
        waiting = self.spool.pending_before() + self._dealt_with()
        async with self.running():
            await until(lambda: self._dealt_with() == waiting)

    def _dealt_with(self) -> int:
        return sum(map(len, self.heard)) + self.deliverer.counts.buried


def notes(count: int) -> list[Operation]:
    return [add(f"note {number:03}") for number in range(count)]


def texts(count: int, *, without: Sequence[int] = ()) -> list[str]:
    return [f"note {number:03}" for number in range(count) if number not in without]


def told(caplog: pytest.LogCaptureFixture, action: str) -> list[object]:
    """Return the reasons that were logged under an action."""
    return [vars(entry).get("reason") for entry in caplog.records if vars(entry).get("action") == action]


@pytest.fixture
def side() -> Side:
    return Side()


async def test_everything_is_delivered_in_the_order_of_acceptance_in_batches_that_grow_while_the_store_is_quick() -> (
    None
):
    side = Side(batch=4)
    side.accept(*notes(40))
    await side.deliver_all()

    sizes = [len(batch) for batch in side.delivery.batches]
    assert side.delivery.applied == texts(40)
    assert sizes[0] == 4
    assert sizes[1] > 4
    assert (side.deliverer.counts.delivered, side.deliverer.counts.buried) == (40, 0)


async def test_the_outcomes_of_each_batch_are_told_in_its_order(side: Side) -> None:
    operations = notes(3)
    side.accept(*operations)
    await side.deliver_all()

    assert [[outcome.operation for outcome in batch] for batch in side.heard] == [
        [operation.stamp.operation for operation in operations]
    ]


async def test_what_is_accepted_while_it_waits_is_delivered_when_the_bell_rings(
    side: Side, monkeypatch: pytest.MonkeyPatch
) -> None:
    bell = side.deliverer.doorbell
    wait = bell.wait
    monkeypatch.setattr(bell, "wait", lambda _: wait(3_600.0))
    async with side.running() as deliverer:
        await until(lambda: deliverer.leads)
        await anyio.sleep(0.02)
        side.accept(*notes(1))
        deliverer.doorbell.ring_from_thread()
        await until(lambda: side.delivery.applied)

    assert side.delivery.applied == texts(1)


async def test_what_another_process_accepts_is_delivered_without_a_ring(side: Side) -> None:
    async with side.running() as deliverer:
        await until(lambda: deliverer.leads)
        side.accept(*notes(1))
        await until(lambda: side.delivery.applied)

    assert side.delivery.applied == texts(1)


@pytest.mark.parametrize("poison", [(0,), (99,), (42,), (0, 1, 50, 98, 99), tuple(range(100))])
async def test_poison_is_found_and_buried_and_all_others_are_delivered_in_order(
    side: Side, poison: tuple[int, ...], caplog: pytest.LogCaptureFixture
) -> None:
    side.accept(*notes(100))
    side.delivery.refused = {f"note {number:03}" for number in poison}
    await side.deliver_all()

    assert side.delivery.applied == texts(100, without=poison)
    assert [letter.reason for letter in side.spool.dead()] == ["22021 refused"] * len(poison)
    assert side.deliverer.counts.buried == len(poison)
    assert side.deliverer.counts.delivered == 100 - len(poison)
    assert len(told(caplog, "deliver.buried")) == len(poison)
    assert not any("note" in str(vars(entry)) for entry in caplog.records)


async def test_one_poisoned_write_among_many_is_found_by_halving(side: Side) -> None:
    side.accept(*notes(128))
    side.delivery.refused = {"note 077"}
    await side.deliver_all()

    # A refusal a level, and an acceptance of the other half: 2 log2 n + 1 at most.
    assert side.delivery.applying.calls <= 15


async def test_writes_of_the_same_lane_go_on_after_a_buried_one(side: Side) -> None:
    side.accept(
        add("the vault is number 13"),
        add("poisoned"),
        record(said("first said"), said("then said")),
        remove(by_content("the vault is number 13")),
    )
    side.delivery.refused = {"poisoned"}
    await side.deliver_all()
    async with side.running():
        side.accept(add("later"))
        await until(lambda: not side.spool.pending_before())

    assert len(side.spool.dead()) == 1
    counts = await side.store.inspector.counts()
    assert (counts["entries"], counts["turns"]) == (1, 2)
    assert side.delivery.applied[-1] == "later"


async def test_what_the_real_store_refuses_is_buried_with_the_reason_it_gives(side: Side) -> None:
    side.accept(add("fine"), add("half a character: \ud83d"), add("fine too"))
    await side.deliver_all()

    assert side.delivery.applied == ["fine", "fine too"]
    assert [letter.reason for letter in side.spool.dead()] == ["text holds a lone surrogate"]


async def test_an_unexpected_error_that_passes_sets_nothing_aside_and_tells_where_it_was_but_no_content(
    side: Side, caplog: pytest.LogCaptureFixture
) -> None:
    side.accept(*notes(4))
    side.delivery.applying.come(*[ZeroDivisionError("note 000")] * 4)
    await side.deliver_all()

    faults = [entry for entry in caplog.records if vars(entry).get("action") == "deliver.fault"]
    assert side.delivery.applied == texts(4)
    assert side.spool.dead() == []
    assert len(faults) == 1
    assert vars(faults[0])["cause"] == "ZeroDivisionError"
    assert "in meet" in caplog.text
    assert "note 000" not in caplog.text


@pytest.mark.parametrize("where", [0, 7, 15])
async def test_a_write_that_alone_meets_an_unexpected_error_again_and_again_is_set_aside_and_no_other(
    side: Side, where: int
) -> None:
    others = [add(f"other {number}", Caller(theme=Theme("others"))) for number in range(2)]
    side.accept(*notes(16), *others)
    side.delivery.faults_at = f"note {where:03}"
    await side.deliver_all()

    assert [text for text in side.delivery.applied if "other" not in text] == texts(16, without=[where])
    assert [letter.reason for letter in side.spool.dead()] == ["unexpected ZeroDivisionError"]


async def test_a_write_waits_however_often_it_meets_an_unexpected_error_while_none_of_its_kind_is_delivered(
    side: Side,
) -> None:
    side.accept(*notes(1), *(record(said(f"turn {number}")) for number in range(3)))
    side.delivery.faults_at = "note 000"
    async with side.running():
        await until(lambda: side.delivery.applying.calls > 3 * FAULTS_BEFORE_BURIAL)
        waiting = side.spool.pending_before()
        side.delivery.faults_at = None
        await until(lambda: not side.spool.pending_before())

    assert waiting == 1
    assert side.delivery.applied[-1:] == texts(1)
    assert side.spool.dead() == []


async def test_a_fault_that_every_write_meets_sets_nothing_aside_is_told_as_an_obstacle_and_ends_by_itself(
    side: Side, caplog: pytest.LogCaptureFixture
) -> None:
    lanes = [Caller(theme=Theme(f"theme {number}")) for number in range(6)]
    side.accept(*(add(f"note {number}", lanes[number % 6]) for number in range(24)))
    side.delivery.applying.standing = ZeroDivisionError()
    async with side.running() as deliverer:
        await until(lambda: side.delivery.applying.calls > 10 * FAULTS_BEFORE_BURIAL)
        waiting, dead, obstacle = side.spool.pending_before(), side.spool.dead(), deliverer.obstacle
        side.delivery.applying.standing = None
        await until(lambda: not side.spool.pending_before())

    assert (waiting, dead) == (24, [])
    assert "unexpected ZeroDivisionError" in str(obstacle)
    assert len(told(caplog, "deliver.stopped")) == 1
    assert sorted(side.delivery.applied) == sorted(f"note {number}" for number in range(24))
    assert side.deliverer.obstacle is None


async def test_a_busy_lane_waits_with_a_growing_delay_while_the_others_go_on_and_keeps_its_order(
    side: Side, caplog: pytest.LogCaptureFixture
) -> None:
    stuck, free = Caller(theme=Theme("stuck")), Caller(theme=Theme("free"))
    side.accept(*(add(f"{caller.theme} {number}", caller) for number in range(5) for caller in (stuck, free)))
    side.delivery.busy_at = "stuck"
    async with side.running() as deliverer:
        await until(lambda: len(side.delivery.applied) == 5 and deliverer.counts.postponed > 3)
        before = list(side.delivery.applied)
        state = side.breaker.state
        side.delivery.busy_at = None
        await until(lambda: not side.spool.pending_before())

    assert before == [f"free {number}" for number in range(5)]
    assert side.delivery.applied[5:] == [f"stuck {number}" for number in range(5)]
    assert state is BreakerState.CLOSED
    assert len([entry for entry in caplog.records if vars(entry).get("action") == "deliver.postponed"]) == 1


async def test_a_lane_is_held_back_ever_longer_up_to_a_bound_and_never_for_exactly_as_long_as_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waits: list[float] = []

    class Recording(InMemorySpool):
        def postpone(self, operations: Sequence[OperationId], seconds: float) -> None:
            waits.append(seconds)
            super().postpone(operations, 0.0)

    monkeypatch.setattr(handover, "FIRST_HOLD_SECONDS", 0.25)
    monkeypatch.setattr(handover, "LONGEST_HOLD_SECONDS", 60.0)
    side = Side(spool=Recording())
    side.accept(add("stuck"))
    side.delivery.busy_at = "stuck"
    async with side.running():
        await until(lambda: len(waits) >= 14)

    bounds = [min(60.0, 0.25 * 2**attempt) for attempt in range(14)]
    assert all(bound / 2 <= wait <= bound for wait, bound in zip(waits, bounds, strict=False))
    assert len(set(waits)) == len(waits)


def test_batches_shrink_when_they_take_too_long_and_grow_only_when_a_full_one_was_quick() -> None:
    size = BatchSize(400, most=1_000)
    size.took(5.0, 400)
    size.took(5.0, 200)
    size.took(5.0, 100)
    slow = size.limit
    size.failed(5.0, 100)
    size.failed(5.0, 50)
    size.took(5.0, 25)
    size.failed(0.001, 25)
    size.took(0.01, 3)
    failed = size.limit
    size.took(0.01, 25)

    assert (slow, failed, size.limit) == (100, 25, 38)


async def test_buried_writes_that_are_put_back_in_line_are_delivered(side: Side) -> None:
    side.accept(*notes(3))
    side.delivery.refused = {"note 001"}
    await side.deliver_all()
    side.delivery.refused = set()
    side.spool.retry_dead()
    await side.deliver_all()

    assert side.delivery.applied == ["note 000", "note 002", "note 001"]
    assert side.spool.dead() == []


async def test_a_transient_failure_keeps_everything_and_is_tried_again(side: Side) -> None:
    side.accept(*notes(10))
    side.delivery.applying.come(*[AWAY] * 3)
    await side.deliver_all()

    # All at once, two probes with one of them that fail and one that does not, and the rest.
    assert side.delivery.applying.calls == 5
    assert side.delivery.batches == [texts(1), texts(10)[1:]]
    assert side.spool.dead() == []


async def test_an_outage_while_poison_is_sought_buries_nobody_else(side: Side) -> None:
    side.accept(*notes(16))
    side.delivery.refused = {"note 005"}
    rejected = DeliveryRejected("refused", reason="22021 refused")
    side.delivery.applying.come(rejected, rejected, AWAY)
    await side.deliver_all()

    assert side.delivery.applied == texts(16, without=[5])
    assert len(side.spool.dead()) == 1


async def test_a_store_that_is_away_is_not_asked_again_before_its_breaker_lets_a_probe_through() -> None:
    side = Side(pause=3_600.0)
    side.accept(*notes(1))
    side.delivery.applying.standing = AWAY
    async with side.running() as deliverer:
        await until(lambda: side.delivery.applying.calls)
        for _ in range(20):
            deliverer.doorbell.ring()
            await anyio.sleep(0.001)

    assert side.delivery.applying.calls == 1


async def test_a_store_that_may_be_away_is_probed_with_one_write_so_that_its_outcome_comes_soon(side: Side) -> None:
    side.accept(*notes(10))
    side.delivery.applying.come(AWAY)
    await side.deliver_all()

    assert [len(batch) for batch in side.delivery.batches] == [1, 9]


async def test_a_batch_that_was_applied_without_an_answer_has_its_effect_once(side: Side) -> None:
    side.accept(*notes(5))
    side.delivery.forgets_to_answer = 2
    await side.deliver_all()

    assert [len(batch) for batch in side.delivery.batches] == [5, 1, 1, 4]
    assert (await side.store.inspector.counts())["entries"] == 5
    assert [outcome.effect for outcomes in side.heard for outcome in outcomes] == [Effect.STORED] * 5


@pytest.mark.parametrize("obstacle", [NO_SCHEMA, MISCONFIGURED], ids=lambda error: type(error).__name__)
async def test_what_an_operator_must_mend_stops_delivery_keeps_all_is_told_once_and_ends_by_itself(
    side: Side, obstacle: HermesMemoryError, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    side.accept(*notes(3))
    side.delivery.applying.standing = obstacle
    async with side.running():
        await until(lambda: side.delivery.applying.calls >= 3)
        waiting, dead = side.spool.pending_before(), side.spool.dead()
        side.delivery.applying.standing = None
        await until(lambda: not side.spool.pending_before())

    assert (waiting, dead) == (3, [])
    assert side.delivery.applied == texts(3)
    assert told(caplog, "deliver.stopped") == [str(obstacle)]
    assert len(told(caplog, "deliver.resumed")) == 1


async def test_only_the_leader_delivers_and_a_follower_takes_over_when_it_goes(side: Side) -> None:
    seat = threading.Lock()
    one, other = side.beside(seat), side.beside(seat)
    async with other.running():
        await until(lambda: other.deliverer.leads)
        async with one.running():
            side.accept(*notes(2))
            await until(lambda: not side.spool.pending_before())
            await anyio.sleep(0.03)
            led = (one.deliverer.leads, other.deliverer.leads)
    async with one.running():
        side.accept(add("later"))
        await until(lambda: not side.spool.pending_before())

    assert led == (False, True)
    assert other.delivery.applied == texts(2)
    assert one.delivery.applied == ["later"]
    assert one.deliverer.leads


async def test_an_unexpected_error_in_keeping_the_seat_is_told_and_delivery_goes_on(
    side: Side, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    acquire, errors = side.leadership.try_acquire, [OSError(), OSError()]

    def failing() -> bool:
        if side.deliverer.leads and errors:
            raise errors.pop()
        return acquire()

    monkeypatch.setattr(side.leadership, "try_acquire", failing)
    async with side.running():
        await until(lambda: not errors)
        side.accept(add("later"))
        await until(lambda: side.delivery.applied)

    assert side.delivery.applied == ["later"]
    assert "deliver.fault" in {vars(entry).get("action") for entry in caplog.records}


async def test_a_deliverer_that_ends_gives_its_seat_away(side: Side) -> None:
    seat = threading.Lock()
    one = side.beside(seat)
    async with one.running():
        await until(lambda: one.deliverer.leads)

    assert seat.acquire(blocking=False)


async def test_wait_returns_the_outcome_of_the_write(side: Side) -> None:
    operation = add("the vault is number 13")
    side.accept(operation)
    async with side.running() as deliverer:
        outcome = await deliverer.wait(operation, timeout=GUARD)

    assert (outcome.operation, outcome.effect) == (operation.stamp.operation, Effect.STORED)
    assert outcome.row is not None


async def test_wait_tells_what_became_of_a_write_without_effect(side: Side) -> None:
    first, again, gone = add("twice"), add("twice"), remove(by_content("never there"))
    side.accept(first, again, gone)
    async with side.running() as deliverer:
        outcomes = [await deliverer.wait(operation, timeout=GUARD) for operation in (again, gone)]

    assert [outcome.effect for outcome in outcomes] == [Effect.UNCHANGED, Effect.NOT_FOUND]


async def test_wait_returns_the_outcome_when_another_process_delivered(side: Side) -> None:
    seat = threading.Lock()
    leader, follower = side.beside(seat), side.beside(seat)
    operation = add("the vault is number 13")
    async with leader.running():
        await until(lambda: leader.deliverer.leads)
        async with follower.running():
            side.accept(operation)
            outcome = await follower.deliverer.wait(operation, timeout=GUARD)

    assert follower.delivery.applied == []
    assert outcome.effect is Effect.STORED
    assert outcome.row is not None


async def test_wait_asks_again_for_a_recorded_outcome_while_the_store_is_away(side: Side) -> None:
    operation = add("the vault is number 13")
    await side.store.delivery.apply([operation])
    side.delivery.asking.come(AWAY, AWAY)

    outcome = await side.deliverer.wait(operation, timeout=GUARD)
    assert side.delivery.asking.calls == 3
    assert outcome.effect is Effect.STORED


async def test_wait_raises_the_reason_for_which_a_write_was_buried_here_or_elsewhere(side: Side) -> None:
    operation = add("poisoned")
    side.accept(operation)
    side.delivery.refused = {"poisoned"}
    async with side.running() as deliverer:
        with pytest.raises(DeliveryRejected) as here:
            await deliverer.wait(operation, timeout=GUARD)
    elsewhere = Side(spool=side.spool, store=side.store)
    with pytest.raises(DeliveryRejected) as there:
        await elsewhere.deliverer.wait(operation, timeout=GUARD)

    assert here.value.reason == there.value.reason == "22021 refused"


async def test_wait_gives_up_after_its_time_and_the_write_stays_accepted(side: Side) -> None:
    operation = add("the vault is number 13")
    side.accept(operation)
    side.delivery.applying.hangs = True
    async with side.running() as deliverer:
        with pytest.raises(DeadlineExceeded, match="not lost"):
            await deliverer.wait(operation, timeout=0.05)

    assert side.spool.pending(operation.stamp.operation)
    await Side(spool=side.spool, store=side.store).deliver_all()
    assert (await side.store.inspector.counts())["entries"] == 1


async def test_an_impatient_wait_gives_up_as_soon_as_the_store_is_known_to_be_away() -> None:
    side = Side(pause=3_600.0)
    operation = add("the vault is number 13")
    side.accept(operation)
    side.delivery.applying.standing = AWAY
    async with side.running() as deliverer:
        started = time.monotonic()
        with pytest.raises(DeadlineExceeded):
            await deliverer.wait(operation, timeout=3_600.0, patient=False)

    assert time.monotonic() - started < GUARD
    assert side.spool.pending(operation.stamp.operation)


async def test_a_patient_wait_outlasts_an_outage(side: Side) -> None:
    operation = add("the vault is number 13")
    side.accept(operation)
    side.delivery.applying.come(*[AWAY] * 5)
    async with side.running() as deliverer:
        outcome = await deliverer.wait(operation, timeout=GUARD)

    assert outcome.effect is Effect.STORED


async def test_nothing_of_a_wait_stays_behind(side: Side) -> None:
    operation = add("the vault is number 13")
    side.accept(operation)
    async with side.running() as deliverer:
        await deliverer.wait(operation, timeout=GUARD)
        side.delivery.applying.hangs = True
        hanging = add("another")
        side.accept(hanging)
        with pytest.raises(DeadlineExceeded):
            await deliverer.wait(hanging, timeout=0.03)

    assert not side.deliverer._watched


async def test_drained_waits_for_what_was_accepted_before_and_for_nothing_else(side: Side) -> None:
    side.accept(*notes(3))
    async with side.running() as deliverer:
        drained = await deliverer.drained(timeout=GUARD)
        waiting = side.spool.pending_before()
        side.delivery.applying.hangs = True
        side.accept(add("later"))
        late = await deliverer.drained(timeout=0.05)

    assert (drained, waiting, late) == (True, 0, False)


async def test_drained_counts_what_another_process_delivers(side: Side) -> None:
    seat = threading.Lock()
    leader, follower = side.beside(seat), side.beside(seat)
    async with leader.running():
        await until(lambda: leader.deliverer.leads)
        side.accept(*notes(3))

        assert await follower.deliverer.drained(timeout=GUARD)


async def test_an_empty_spool_is_drained_at_once_even_without_anybody_who_delivers(side: Side) -> None:
    assert await side.deliverer.drained(timeout=GUARD)


async def test_an_impatient_drain_gives_up_at_once_on_a_store_that_is_away() -> None:
    side = Side(pause=3_600.0)
    side.accept(*notes(1))
    side.delivery.applying.standing = AWAY
    async with side.running() as deliverer:
        started = time.monotonic()
        drained = await deliverer.drained(timeout=3_600.0, patient=False)

    assert not drained
    assert time.monotonic() - started < GUARD
    assert side.spool.pending_before() == 1


async def test_delivered_waits_for_the_named_writes_alone(side: Side) -> None:
    wanted = add("wanted")
    side.accept(wanted)
    async with side.running() as deliverer:
        known = await deliverer.delivered([wanted.stamp.operation, OperationId(uuid4())], timeout=GUARD)
        side.delivery.applying.hangs = True
        side.accept(add("later"))
        still = await deliverer.delivered([wanted.stamp.operation], timeout=GUARD)

    assert (known, still) == (True, True)


async def test_delivered_gives_up_on_time_and_at_once_on_a_store_that_is_away() -> None:
    side = Side(pause=3_600.0)
    operation = add("the vault is number 13")
    side.accept(operation)
    slow = await side.deliverer.delivered([operation.stamp.operation], timeout=0.03)
    side.delivery.applying.standing = AWAY
    async with side.running() as deliverer:
        away = await deliverer.delivered([operation.stamp.operation], timeout=3_600.0)

    assert (slow, away) == (False, False)
