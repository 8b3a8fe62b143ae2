"""What a `Spool` does with what the database refuses, and what an operator may see and do."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import uuid4

from hermes_memory.domain.model import OperationId
from hermes_memory.ports.spool import Spool
from hermes_memory.testing.making import (
    PLENTY,
    SALES_DESK,
    add,
)
from hermes_memory.testing.spool_suite import Clock, SpoolSuite, due, ids, put


class SpoolLettersContract(SpoolSuite):
    """Dead letters, the list of what is kept, and dropping it."""

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

    def test_what_is_kept_stays_when_nothing_is_left_of_what_was_dropped(self, spool: Spool) -> None:
        delivered, dead, dropped, waiting = put(spool, add("one"), add("two"), add("three"), add("four"))
        spool.done(ids(delivered))
        spool.discard(ids(dropped))
        spool.bury(dead.stamp.operation, "refused")

        assert spool.scrub(30)
        assert due(spool) == [waiting]
        assert [letter.operation for letter in spool.dead()] == [dead]
        assert spool.status().delivered == 1

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

    # -- for an operator ------------------------------------------------------------------------------------------

    def test_what_is_kept_is_listed_waiting_or_dead(self, spool: Spool, clock: Clock) -> None:
        held, dead, free = put(spool, add("one"), add("two"), add("three", SALES_DESK))
        spool.postpone(ids(held), 10)
        spool.bury(dead.stamp.operation, "refused")

        kept = spool.kept(PLENTY)

        assert [(item.id, item.operation) for item in kept] == list(
            zip(ids(held, dead, free), [held, dead, free], strict=True)
        )
        assert [item.attempts for item in kept] == [1, 0, 0]
        assert [item.held_until for item in kept] == [datetime.fromtimestamp(clock() + 10, UTC), None, None]
        assert [item.reason for item in kept] == [None, "refused", None]
        assert [item.buried_at for item in kept] == [None, datetime.fromtimestamp(clock(), UTC), None]
        assert all(item.body for item in kept)

    def test_the_list_can_be_read_in_parts(self, spool: Spool) -> None:
        operations = put(spool, *(add(str(number)) for number in range(5)))

        first = spool.kept(2)
        rest = spool.kept(PLENTY, after=first[-1].sequence)

        assert [item.operation for item in (*first, *rest)] == operations
        assert spool.kept(PLENTY, after=rest[-1].sequence) == []
        assert spool.kept(0) == []

    def test_what_is_discarded_is_gone_undelivered(self, spool: Spool) -> None:
        waiting, dead, left = put(spool, add("one"), add("two"), add("three"))
        spool.postpone(ids(waiting), 10)
        spool.bury(dead.stamp.operation, "refused")

        assert spool.discard([*ids(waiting, waiting, dead), OperationId(uuid4())]) == 2
        assert due(spool) == [left]
        assert spool.dead() == []
        status = spool.status()
        assert (status.depth, status.dead, status.discarded, status.delivered) == (1, 0, 2, 0)

    def test_what_was_put_back_in_line_is_spared_when_dead_letters_are_discarded(self, spool: Spool) -> None:
        raised, dead = put(spool, add("one"), add("two"))
        for operation in ids(raised, dead):
            spool.bury(operation, "refused")
        spool.retry_dead(ids(raised))

        assert spool.discard(ids(raised, dead), dead_only=True) == 1
        assert due(spool) == [raised]
        assert (spool.status().dead, spool.status().discarded) == (0, 1)

    def test_an_emptied_spool_discards_nothing(self, spool: Spool) -> None:
        (operation,) = put(spool, add("one"))
        spool.done(ids(operation))

        assert spool.discard(ids(operation)) == 0
        assert spool.discard([]) == 0
        assert spool.status().discarded == 0
