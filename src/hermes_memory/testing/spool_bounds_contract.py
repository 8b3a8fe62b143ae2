"""What a `Spool` counts, and how much it keeps at most."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import pytest

from hermes_memory.domain.errors import InvalidInput, SpoolFull
from hermes_memory.ports.spool import Spool
from hermes_memory.testing.making import (
    PLENTY,
    SALES_DESK,
    add,
)
from hermes_memory.testing.spool_suite import ITEM_BYTES, Clock, SpoolSuite, due, ids, put


class SpoolBoundsContract(SpoolSuite):
    """Counters and bounds."""

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

    def test_the_totals_count_what_became_of_everything(self, spool: Spool) -> None:
        first, second, third, fourth = put(spool, *(add(str(number)) for number in range(4)))
        spool.done(ids(first))
        spool.done(ids(first))
        spool.bury(second.stamp.operation, "refused")
        spool.retry_dead()
        spool.bury(second.stamp.operation, "refused again")
        spool.discard(ids(third))

        status = spool.status()

        assert (status.accepted, status.delivered, status.buried, status.discarded) == (4, 1, 2, 1)
        assert (status.depth, status.dead) == (1, 1)
        assert spool.pending(fourth.stamp.operation)

    def test_the_bounds_and_how_much_of_them_is_taken_are_told(self, small_spool: Spool) -> None:
        (operation,) = put(small_spool, add("one"))
        half = small_spool.status()
        put(small_spool, add("two"))
        small_spool.bury(operation.stamp.operation, "refused")
        full = small_spool.status()

        assert (half.max_rows, half.fill) == (2, 0.5)
        assert (full.depth, full.fill) == (1, 1.0)
        assert full.max_bytes > 0
