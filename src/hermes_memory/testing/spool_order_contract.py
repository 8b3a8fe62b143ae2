"""What comes out of a `Spool` comes in the order in which it went in, lane by lane."""

from __future__ import annotations

from uuid import uuid4

from hermes_memory.domain.model import OperationId, RowId, SessionId, Theme
from hermes_memory.domain.operations import ById, Operation, RecordDelegation
from hermes_memory.ports.spool import Spool
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
from hermes_memory.testing.spool_suite import Clock, SpoolSuite, due, ids, put


def change_of(content: str) -> Operation:
    """Make the operation that changes an entry."""
    return change(by_content(content), f"{content}, changed")


class SpoolOrderContract(SpoolSuite):
    """Order, identity, and what a delivery that fails for now does to a lane."""

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

    def test_of_what_was_due_it_is_told_what_still_waits(self, spool: Spool) -> None:
        waiting, held, done, dropped, dead = batch = put(spool, *(add(name) for name in "abcde"))
        assert due(spool) == batch
        spool.postpone(ids(held), 10)
        spool.done(ids(done))
        spool.discard(ids(dropped))
        spool.bury(dead.stamp.operation, "refused")

        assert spool.still_pending(ids(*batch)) == frozenset(ids(waiting, held))
        assert spool.still_pending([]) == frozenset()

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

    def test_nothing_is_held_for_longer_than_a_week(self, spool: Spool, clock: Clock) -> None:
        operations = put(spool, add("one"))

        spool.postpone(ids(*operations), 1e12)
        before = due(spool)
        clock.move(7 * 86_400)

        assert before == []
        assert due(spool) == operations

    def test_a_clock_that_is_set_back_holds_nothing_for_ever(self, spool: Spool, clock: Clock) -> None:
        operations = put(spool, add("one"), add("two"))
        spool.postpone(ids(*operations), 10)

        clock.move(-1_000_000)

        assert due(spool) == operations
