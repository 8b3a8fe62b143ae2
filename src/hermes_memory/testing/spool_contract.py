"""Contract of `Spool` and `Leadership`: what is accepted comes out, in order, until it is done with."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast
from uuid import uuid4

import pytest

from hermes_memory.domain.errors import InvalidInput, SpoolFull
from hermes_memory.domain.model import OperationId, RowId, SessionId, Theme
from hermes_memory.domain.operations import ById, Operation, RecordDelegation
from hermes_memory.ports.spool import Leadership, Spool
from hermes_memory.testing.making import (
    ANA_DIRECTLY,
    DESK,
    DESK_WITH_ANA,
    EVENING,
    HOME,
    PLENTY,
    SALES_DESK,
    add,
    by_content,
    by_substring,
    record,
    remove,
    said,
    stamp,
)
from hermes_memory.testing.making import replace as change

ITEM_BYTES = 4_000
"""What the suite allows one operation."""
ROOM = 1_000_000
"""What the suite allows a spool in bytes, unless a test is about it."""


def change_of(content: str) -> Operation:
    """Make the operation that changes an entry."""
    return change(by_content(content), f"{content}, changed")


class Clock:
    """A clock that stands still until it is moved; called it tells the time in seconds since 1970."""

    def __init__(self, seconds: float = 1_700_000_000.0) -> None:
        self.seconds = seconds

    def __call__(self) -> float:
        return self.seconds

    def move(self, seconds: float) -> None:
        """Move the clock forward, or back when `seconds` is negative."""
        self.seconds += seconds


class SpoolContract(ABC):
    """What every `Spool` keeps. A subclass says how to make an empty one."""

    @abstractmethod
    def make_spool(self, directory: Path, *, now: Clock, max_rows: int, max_bytes: int, max_item_bytes: int) -> Spool:
        """Make a spool that keeps files, if any, below `directory`; `max_bytes` counts its encoded operations."""

    @pytest.fixture
    def clock(self) -> Clock:
        """Return the clock of the spool."""
        return Clock()

    @pytest.fixture
    def spool(self, tmp_path: Path, clock: Clock) -> Iterator[Spool]:
        """Make a spool with room for everything a test puts."""
        spool = self.make_spool(
            tmp_path / "spool", now=clock, max_rows=PLENTY, max_bytes=ROOM, max_item_bytes=ITEM_BYTES
        )
        yield spool
        spool.close()

    @pytest.fixture
    def small_spool(self, tmp_path: Path, clock: Clock) -> Iterator[Spool]:
        """Make a spool for two operations."""
        spool = self.make_spool(tmp_path / "small", now=clock, max_rows=2, max_bytes=ROOM, max_item_bytes=ITEM_BYTES)
        yield spool
        spool.close()

    # -- order ----------------------------------------------------------------------------------------------------

    def test_what_is_put_is_due_in_that_order(self, spool: Spool) -> None:
        operations = put(spool, add("one"), add("two", SALES_DESK), add("three"), record(said("four")))

        spooled = spool.due(PLENTY)

        assert [item.operation for item in spooled] == operations
        assert [item.sequence for item in spooled] == sorted({item.sequence for item in spooled})
        assert {item.attempts for item in spooled} == {0}

    def test_every_kind_of_operation_comes_out_as_it_went_in(self, spool: Spool) -> None:
        operations = put(
            spool,
            add("one", DESK_WITH_ANA, source=HOME, metadata={"tags": ["a", {"b": None}], "weight": 0.5, "n": 3}),
            change(by_content("one", source=HOME), "two", ANA_DIRECTLY, upsert=True, source=HOME),
            change(ById(id=RowId(uuid4())), "Grüße, 世界 \x00 \ud83d"),
            remove(by_substring("tw%o")),
            record(said("hello", speaker="Ana", occurrence=2, embed=False), said("hi"), parent_session=EVENING),
            RecordDelegation(
                stamp=stamp(), child_session=SessionId("child"), child_theme=Theme("sales"), task="", result="done"
            ),
        )

        assert due(spool) == operations

    def test_what_is_due_stays_until_it_is_done(self, spool: Spool) -> None:
        operations = put(spool, add("one"), add("two"))

        assert due(spool) == operations
        assert due(spool) == operations

    def test_no_more_is_due_than_was_asked_for(self, spool: Spool) -> None:
        operations = put(spool, *(add(str(number), caller) for number in range(4) for caller in (DESK, SALES_DESK)))

        assert due(spool, 3) == operations[:3]
        assert due(spool, 0) == []

    def test_the_lanes_are_merged_by_age(self, spool: Spool, clock: Clock) -> None:
        callers = [DESK, SALES_DESK, DESK_WITH_ANA, SALES_DESK, DESK, DESK, ANA_DIRECTLY, SALES_DESK, DESK]
        operations = put(spool, *(add(str(number), caller) for number, caller in enumerate(callers)))
        spool.postpone(ids(operations[1]), 10)

        assert due(spool, 5) == [operations[index] for index in (0, 2, 4, 5, 6)]

    def test_an_empty_spool_has_nothing_due(self, spool: Spool) -> None:
        assert due(spool) == []

    # -- identity -------------------------------------------------------------------------------------------------

    def test_an_operation_is_kept_once_however_often_it_is_put(self, spool: Spool) -> None:
        (operation,) = put(spool, add("one"))
        put(spool, operation, operation)

        assert due(spool) == [operation]
        assert (spool.status().depth, spool.status().accepted) == (1, 1)

    def test_a_dead_letter_is_not_accepted_again(self, spool: Spool) -> None:
        (operation,) = put(spool, add("one"))
        spool.bury(operation.stamp.operation, "refused")
        put(spool, operation)

        assert due(spool) == []
        assert spool.dead_reason(operation.stamp.operation) == "refused"

    # -- what takes something away ---------------------------------------------------------------------------------

    def test_what_waits_to_take_something_away_is_found_among_all_that_waits(self, spool: Spool) -> None:
        assert list(spool.retractions()) == []
        removal, _, change, *_, later = put(
            spool,
            remove(by_content("one"), SALES_DESK),
            add('{"v":1,"type":"remove","stamp":{'),
            change_of("two"),
            record(said("hello")),
            RecordDelegation(stamp=stamp(), child_session=None, child_theme=None, task="remove", result=""),
            add("three", ANA_DIRECTLY, metadata={"type": "remove"}),
            remove(ById(id=RowId(uuid4())), ANA_DIRECTLY),
        )

        assert list(spool.retractions()) == ids(removal, change, later)
        spool.postpone(ids(change), 60)
        assert list(spool.retractions()) == ids(removal, change, later)
        spool.bury(removal.stamp.operation, "refused")
        assert list(spool.retractions()) == ids(change, later)
        spool.retry_dead()
        spool.done(ids(change))
        assert list(spool.retractions()) == ids(removal, later)
        spool.done(ids(later, removal))
        assert list(spool.retractions()) == []

    # -- done -----------------------------------------------------------------------------------------------------

    def test_what_is_done_is_gone(self, spool: Spool) -> None:
        first, second, third = put(spool, add("one"), add("two"), add("three"))

        spool.done(ids(first, third))

        assert due(spool) == [second]
        assert [spool.pending(operation) for operation in ids(first, second, third)] == [False, True, False]

    def test_unknown_and_repeated_ids_are_passed_over(self, spool: Spool) -> None:
        first, second = put(spool, add("one"), add("two"))
        unknown = OperationId(uuid4())

        spool.done([unknown, *ids(first, first)])
        spool.done(ids(first))
        spool.done([])
        spool.postpone([unknown, *ids(first)], 10)
        spool.bury(unknown, "refused")

        assert due(spool) == [second]
        assert (spool.status().depth, spool.status().dead) == (1, 0)

    def test_the_last_sequence_outlives_what_it_names(self, spool: Spool) -> None:
        assert spool.last_sequence() == 0
        put(spool, add("one"))
        (second,) = put(spool, add("two"))
        last = spool.due(PLENTY)[-1].sequence

        spool.done([item.operation.stamp.operation for item in spool.due(PLENTY)])

        assert spool.last_sequence() == last
        put(spool, second)
        assert spool.last_sequence() > last

    # -- postponing -----------------------------------------------------------------------------------------------

    def test_a_postponed_operation_holds_its_lane_and_no_other(self, spool: Spool) -> None:
        first, second, other = put(spool, add("one"), add("two"), add("three", SALES_DESK))

        spool.postpone(ids(first), 10)

        assert due(spool) == [other]
        assert spool.pending(first.stamp.operation)
        assert spool.pending(second.stamp.operation)

    def test_what_is_put_behind_a_postponed_operation_waits_too(self, spool: Spool) -> None:
        put(spool, add("one"))
        spool.postpone(ids(*due(spool)), 10)

        put(spool, add("two"))

        assert due(spool) == []

    def test_a_postponed_operation_holds_only_what_comes_after_it(self, spool: Spool) -> None:
        first, second, _ = put(spool, add("one"), add("two"), add("three"))

        spool.postpone(ids(second), 10)
        before = due(spool)
        spool.done(ids(first))

        assert before == [first]
        assert due(spool) == []

    def test_the_hold_ends_and_the_attempt_is_counted(self, spool: Spool, clock: Clock) -> None:
        first, second = put(spool, add("one"), add("two"))

        spool.postpone(ids(first), 10)
        clock.move(9)
        held = due(spool)
        clock.move(1)

        assert held == []
        assert [(item.operation, item.attempts) for item in spool.due(PLENTY)] == [(first, 1), (second, 0)]

    def test_each_postponement_counts_and_the_last_one_holds(self, spool: Spool, clock: Clock) -> None:
        (operation,) = put(spool, add("one"))

        spool.postpone(ids(operation), 100)
        spool.postpone(ids(operation, operation), 10)
        clock.move(10)

        assert [item.attempts for item in spool.due(PLENTY)] == [2]

    def test_a_clock_that_is_set_back_holds_nothing_for_ever(self, spool: Spool, clock: Clock) -> None:
        operations = put(spool, add("one"), add("two"))
        spool.postpone(ids(*operations), 10)

        clock.move(-1_000_000)

        assert due(spool) == operations

    # -- dead letters ---------------------------------------------------------------------------------------------

    def test_burying_frees_the_lane(self, spool: Spool) -> None:
        first, second = put(spool, add("one"), add("two"))
        spool.postpone(ids(first), 10)

        spool.bury(first.stamp.operation, "22021 character not in repertoire")

        assert due(spool) == [second]
        assert not spool.pending(first.stamp.operation)

    def test_dead_letters_are_kept_with_their_reason_in_the_order_of_their_burial(
        self, spool: Spool, clock: Clock
    ) -> None:
        first, second, third = put(spool, add("one"), add("two"), add("three"))

        spool.bury(second.stamp.operation, "reason 2")
        clock.move(60)
        spool.bury(first.stamp.operation, "reason 1")

        letters = spool.dead()
        assert [(letter.operation, letter.reason) for letter in letters] == [(second, "reason 2"), (first, "reason 1")]
        assert letters[1].buried_at == datetime.fromtimestamp(clock(), UTC)
        assert [spool.dead_reason(operation) for operation in ids(first, second, third)] == [
            "reason 1",
            "reason 2",
            None,
        ]

    def test_a_dead_letter_stays_when_it_is_buried_again_or_done(self, spool: Spool) -> None:
        (operation,) = put(spool, add("one"))
        spool.bury(operation.stamp.operation, "first")

        spool.bury(operation.stamp.operation, "second")
        spool.done(ids(operation))

        assert [letter.reason for letter in spool.dead()] == ["first"]

    def test_retried_dead_letters_take_their_old_place(self, spool: Spool) -> None:
        operations = put(spool, add("one"), add("two"), add("three", SALES_DESK))
        spool.postpone(ids(operations[0]), 10)
        for operation in ids(operations[0], operations[2]):
            spool.bury(operation, "refused")

        assert spool.retry_dead() == 2
        assert [(item.operation, item.attempts) for item in spool.due(PLENTY)] == [(each, 0) for each in operations]
        assert spool.dead() == []

    def test_only_the_chosen_dead_letters_are_retried(self, spool: Spool) -> None:
        first, second, third = put(spool, add("one"), add("two"), add("three"))
        spool.bury(first.stamp.operation, "refused")
        spool.bury(second.stamp.operation, "refused")

        assert spool.retry_dead([*ids(second, second, third), OperationId(uuid4())]) == 1
        assert spool.retry_dead([]) == 0
        assert due(spool) == [second, third]
        assert spool.dead_reason(first.stamp.operation) == "refused"

    def test_a_retried_head_that_is_postponed_holds_those_that_went_on_before(self, spool: Spool) -> None:
        first, second = put(spool, add("one"), add("two"))
        spool.bury(first.stamp.operation, "refused")
        spool.retry_dead()

        spool.postpone(ids(first), 10)

        assert due(spool) == []
        assert spool.pending(second.stamp.operation)

    # -- counting -------------------------------------------------------------------------------------------------

    def test_pending_operations_are_counted_up_to_a_sequence(self, spool: Spool) -> None:
        operations = put(spool, *(add(str(number)) for number in range(5)))
        sequences = [item.sequence for item in spool.due(PLENTY)]
        spool.done(ids(operations[0]))
        spool.bury(operations[3].stamp.operation, "refused")

        assert spool.pending_before() == 3
        assert [spool.pending_before(sequence) for sequence in sequences] == [0, 1, 2, 2, 3]
        assert spool.pending_before(0) == 0
        assert spool.pending_before(spool.last_sequence() + 5) == 3

    def test_the_status_tells_what_waits_and_what_was(self, spool: Spool) -> None:
        empty = spool.status()
        first, second, third = put(spool, add("one"), add("two"), add("three"))
        full = spool.status()
        spool.done(ids(first))
        spool.bury(second.stamp.operation, "refused")
        later = spool.status()

        assert (empty.depth, empty.stored_bytes, empty.oldest_accepted_at, empty.accepted) == (0, 0, None, 0)
        assert (full.depth, full.dead, full.accepted) == (3, 0, 3)
        assert full.oldest_accepted_at == first.stamp.accepted_at
        assert (later.depth, later.dead, later.accepted) == (1, 1, 3)
        assert later.oldest_accepted_at == third.stamp.accepted_at
        assert 0 < later.stored_bytes < full.stored_bytes
        assert (later.refused, later.quarantined) == (0, 0)

    def test_an_emptied_spool_counts_nothing(self, spool: Spool) -> None:
        spool.done(ids(*put(spool, add("one"), add("two", SALES_DESK))))

        status = spool.status()
        assert (status.depth, status.stored_bytes, status.oldest_accepted_at) == (0, 0, None)

    def test_what_one_does_oneself_is_no_change_by_others(self, spool: Spool) -> None:
        spool.changed()
        (operation,) = put(spool, add("one"))
        spool.postpone(ids(operation), 1)
        spool.done(ids(operation))

        assert not spool.changed()

    # -- bounds ---------------------------------------------------------------------------------------------------

    def test_a_full_spool_refuses_and_drops_nothing(self, small_spool: Spool) -> None:
        operations = put(small_spool, add("one"), add("two"))

        with pytest.raises(SpoolFull):
            small_spool.put(add("three"))

        assert due(small_spool) == operations
        assert (small_spool.status().refused, small_spool.status().accepted) == (1, 2)

    def test_a_full_spool_takes_again_what_it_knows(self, small_spool: Spool) -> None:
        operations = put(small_spool, add("one"), add("two"))

        put(small_spool, *operations)

        assert (small_spool.status().refused, small_spool.status().depth) == (0, 2)

    def test_a_full_spool_accepts_again_when_something_is_done(self, small_spool: Spool) -> None:
        first, second = put(small_spool, add("one"), add("two"))
        small_spool.done(ids(first))

        (third,) = put(small_spool, add("three"))

        assert due(small_spool) == [second, third]

    def test_dead_letters_take_room_and_never_lose_their_way_back(self, small_spool: Spool) -> None:
        first, second = put(small_spool, add("one"), add("two"))
        small_spool.bury(first.stamp.operation, "refused")

        with pytest.raises(SpoolFull):
            small_spool.put(add("three"))
        small_spool.retry_dead()

        assert due(small_spool) == [first, second]

    def test_the_bodies_are_bounded_too(self, tmp_path: Path, clock: Clock) -> None:
        spool = self.make_spool(tmp_path / "few", now=clock, max_rows=PLENTY, max_bytes=3_000, max_item_bytes=2_000)
        put(spool, add("a" * 1_000))

        with pytest.raises(SpoolFull):
            put(spool, *(add("b" * 1_000) for _ in range(2)))

        assert spool.status().stored_bytes <= 3_000
        assert spool.status().depth >= 1
        spool.close()

    def test_an_operation_that_is_too_large_is_refused_as_such(self, spool: Spool) -> None:
        with pytest.raises(InvalidInput):
            spool.put(add("a" * ITEM_BYTES))

        assert due(spool) == []
        assert (spool.status().refused, spool.status().accepted) == (1, 0)

    def test_metadata_that_is_not_json_is_refused(self, spool: Spool) -> None:
        operation = add("one", metadata=cast("Any", {"when": datetime.now(UTC)}))

        with pytest.raises(InvalidInput, match="JSON"):
            spool.put(operation)

        assert due(spool) == []

    # -- use ------------------------------------------------------------------------------------------------------

    def test_any_thread_may_put_and_done(self, spool: Spool) -> None:
        failures: list[Exception] = []

        def work(number: int) -> None:
            try:
                operations = put(spool, *(add(f"{number} {index}", DESK) for index in range(20)))
                spool.done(ids(*operations[::2]))
                spool.postpone(ids(operations[1]), 1)
                spool.due(10)
            except Exception as error:  # noqa: BLE001 - handed to the thread that judges
                failures.append(error)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        assert failures == []
        assert (spool.status().accepted, spool.status().depth) == (160, 80)

    def test_an_operation_with_the_same_content_is_another_one(self, spool: Spool) -> None:
        (first,) = put(spool, add("one"))
        (second,) = put(spool, replace(first, stamp=stamp()))

        assert due(spool) == [first, second]

    def test_closing_twice_does_nothing(self, spool: Spool) -> None:
        put(spool, add("one"))

        spool.close()
        spool.close()


class LeadershipContract(ABC):
    """What every `Leadership` keeps. A subclass says how to make contenders for one seat."""

    @abstractmethod
    def make_contenders(self, directory: Path) -> tuple[Leadership, Leadership]:
        """Make two that contend for the same seat; files, if any, lie below `directory`."""

    @pytest.fixture
    def contenders(self, tmp_path: Path) -> Iterator[tuple[Leadership, Leadership]]:
        """Make two contenders and take the seat back from them."""
        pair = self.make_contenders(tmp_path / "seat")
        yield pair
        for contender in pair:
            contender.release()

    def test_one_leads_and_the_other_does_not(self, contenders: tuple[Leadership, Leadership]) -> None:
        first, second = contenders

        assert first.try_acquire()
        assert not second.try_acquire()

    def test_a_leader_may_ask_again(self, contenders: tuple[Leadership, Leadership]) -> None:
        first, second = contenders
        first.try_acquire()

        assert first.try_acquire()
        assert not second.try_acquire()

    def test_a_released_seat_is_free(self, contenders: tuple[Leadership, Leadership]) -> None:
        first, second = contenders
        first.try_acquire()
        first.release()

        assert second.try_acquire()
        assert not first.try_acquire()

    def test_one_that_does_not_lead_releases_nothing(self, contenders: tuple[Leadership, Leadership]) -> None:
        first, second = contenders
        first.try_acquire()
        second.release()
        second.release()

        assert not second.try_acquire()
        assert first.try_acquire()


def put(spool: Spool, *operations: Operation) -> list[Operation]:
    """Put operations in their order, and return them."""
    for operation in operations:
        spool.put(operation)
    return list(operations)


def due(spool: Spool, limit: int = PLENTY) -> list[Operation]:
    """Return the operations that are due."""
    return [item.operation for item in spool.due(limit)]


def ids(*operations: Operation) -> Sequence[OperationId]:
    """Return the ids of operations."""
    return [operation.stamp.operation for operation in operations]
