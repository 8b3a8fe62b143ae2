"""Contract of `DeliveryStore`: order, all or none, exactly once."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence

import pytest

from hermes_memory.domain.errors import DeliveryRejected, StoreUnavailable
from hermes_memory.domain.model import OperationId
from hermes_memory.domain.operations import ById, Effect, Operation, Outcome, row_id
from hermes_memory.testing.making import (
    DESK,
    DESK_WITH_ANA,
    DESK_WITH_BEN,
    SALES_DESK,
    add,
    by_content,
    contents,
    deliver,
    deliver_one,
    record,
    remove,
    replace,
    said,
)
from hermes_memory.testing.store_under_test import StoreUnderTest


@pytest.mark.asyncio
class DeliveryContract:
    """What every `DeliveryStore` keeps. A subclass supplies the fixture `store`."""

    async def test_outcomes_come_in_the_order_of_the_operations(self, store: StoreUnderTest) -> None:
        operations: list[Operation] = [add("one"), record(said("two")), add("one"), remove(by_content("one"))]

        outcomes = await store.delivery.apply(operations)

        assert [outcome.operation for outcome in outcomes] == [op.stamp.operation for op in operations]
        assert [outcome.effect for outcome in outcomes] == [
            Effect.STORED,
            Effect.STORED,
            Effect.UNCHANGED,
            Effect.REMOVED,
        ]

    async def test_an_empty_batch_has_no_outcomes(self, store: StoreUnderTest) -> None:
        assert list(await store.delivery.apply([])) == []

    async def test_what_is_not_wanted_any_more_is_passed_over_and_the_rest_is_applied(
        self, store: StoreUnderTest
    ) -> None:
        kept, dropped, talk, impossible = add("kept"), add("dropped"), record(said("kept too")), add("a \x00 inside")
        batch: list[Operation] = [kept, dropped, talk, impossible]
        asked: list[Sequence[OperationId]] = []

        async def wanted(operations: Sequence[OperationId]) -> Collection[OperationId]:
            asked.append(operations)
            return {each.stamp.operation for each in (talk, kept)}

        outcomes = await store.delivery.apply(batch, wanted=wanted)

        assert asked == [[each.stamp.operation for each in batch]]
        assert [outcome.operation for outcome in outcomes] == [each.stamp.operation for each in (kept, talk)]
        assert await contents(store) == {"kept"}
        assert await store.delivery.outcome(DESK, dropped.stamp.operation) is None

    async def test_where_nothing_is_wanted_or_nobody_can_tell_nothing_is_applied(self, store: StoreUnderTest) -> None:
        async def nothing(_operations: Sequence[OperationId]) -> Collection[OperationId]:
            return ()

        async def unknown(_operations: Sequence[OperationId]) -> Collection[OperationId]:
            raise StoreUnavailable("the spool is locked")

        outcomes = await store.delivery.apply([add("one"), remove(by_content("one"))], wanted=nothing)
        with pytest.raises(StoreUnavailable, match="the spool is locked"):
            await store.delivery.apply([add("two")], wanted=unknown)

        assert list(outcomes) == []
        assert await contents(store) == set()

    async def test_a_later_operation_sees_the_effect_of_an_earlier_one_of_its_batch(
        self, store: StoreUnderTest
    ) -> None:
        first, second, third = add("draft"), replace(by_content("draft"), "fair copy"), add("draft")

        outcomes = await deliver(store, first, second, third, remove(by_content("fair copy")))

        assert [outcome.row for outcome in outcomes] == [
            row_id(first.stamp.operation),
            row_id(first.stamp.operation),
            row_id(third.stamp.operation),
            row_id(first.stamp.operation),
        ]
        assert await contents(store) == {"draft"}

    async def test_an_operation_handed_in_again_has_no_effect_and_its_recorded_outcome(
        self, store: StoreUnderTest
    ) -> None:
        addition = add("the launch is on 3 May")
        first = await deliver_one(store, addition)
        await deliver_one(store, remove(ById(id=row_id(addition.stamp.operation))))

        again = await deliver_one(store, addition)

        assert again == first == Outcome(operation=addition.stamp.operation, effect=Effect.STORED, row=first.row)
        assert await contents(store) == set()

    async def test_every_kind_of_operation_is_replayed_to_its_recorded_outcome(self, store: StoreUnderTest) -> None:
        operations: list[Operation] = [
            add("kept"),
            add("kept"),
            replace(by_content("kept"), "changed"),
            replace(by_content("nowhere"), "changed too"),
            remove(by_content("changed")),
            remove(by_content("changed")),
            record(said("hello")),
            record(said("hello"), said("hello", occurrence=1)),
        ]
        first = await store.delivery.apply(operations)

        again = await store.delivery.apply(operations)

        assert again == first

    async def test_a_batch_may_mix_replays_with_new_operations(self, store: StoreUnderTest) -> None:
        old, new = add("old"), add("new")
        recorded = await deliver_one(store, old)
        await deliver_one(store, remove(by_content("old")))

        outcomes = await deliver(store, new, old, new)

        assert outcomes[1] == recorded
        assert outcomes[0] == outcomes[2]
        assert await contents(store) == {"new"}

    async def test_an_operation_twice_in_a_batch_has_its_effect_once(self, store: StoreUnderTest) -> None:
        talk = record(said("yes"))

        outcomes = await deliver(store, talk, add("between"), talk)

        assert outcomes[0] == outcomes[2]
        assert outcomes[0].effect is Effect.STORED
        assert (await store.inspector.counts())["turns"] == 1

    async def test_the_same_operation_from_two_sides_at_once_has_its_effect_once(self, store: StoreUnderTest) -> None:
        talk = record(said("now"), said("and then"))

        one, other = await asyncio.gather(deliver(store, talk), deliver(store, talk))

        assert one == other
        assert (await store.inspector.counts())["turns"] == 2

    async def test_equal_memories_added_from_two_sides_at_once_become_one(self, store: StoreUnderTest) -> None:
        one, other = await asyncio.gather(deliver_one(store, add("same")), deliver_one(store, add("same")))

        assert {one.effect, other.effect} == {Effect.STORED, Effect.UNCHANGED}
        assert one.row == other.row

    @pytest.mark.parametrize("content", ["a NUL \x00 inside", "half a pair \ud83d"], ids=["NUL", "surrogate"])
    async def test_what_no_store_can_hold_is_rejected_and_takes_its_batch_with_it(
        self, store: StoreUnderTest, content: str
    ) -> None:
        good, bad, late = add("good"), add(content), record(said("late"))

        with pytest.raises(DeliveryRejected) as rejection:
            await deliver(store, good, bad, late)

        assert rejection.value.reason
        assert content not in str(rejection.value)
        assert [await store.delivery.outcome(DESK, op.stamp.operation) for op in (good, bad, late)] == [None] * 3
        assert (await store.inspector.counts())["entries"] == (await store.inspector.counts())["turns"] == 0

    async def test_metadata_no_store_can_hold_is_rejected(self, store: StoreUnderTest) -> None:
        with pytest.raises(DeliveryRejected):
            await deliver(store, add("fine itself", metadata={"deep": [{"bad": "\x00"}]}))

        assert await contents(store) == set()

    async def test_after_a_rejection_the_good_operations_can_be_handed_in_singly(self, store: StoreUnderTest) -> None:
        good, bad = add("good"), add("b\x00d")
        with pytest.raises(DeliveryRejected):
            await deliver(store, good, bad)

        outcome = await deliver_one(store, good)

        assert outcome.effect is Effect.STORED
        assert await contents(store) == {"good"}

    async def test_an_outcome_can_be_asked_for(self, store: StoreUnderTest) -> None:
        addition = add("known")
        recorded = await deliver_one(store, addition)

        asked = await store.delivery.outcome(DESK, addition.stamp.operation)

        assert asked == recorded

    async def test_an_operation_that_was_not_applied_has_no_outcome(self, store: StoreUnderTest) -> None:
        unknown = add("never delivered").stamp.operation

        assert await store.delivery.outcome(DESK, unknown) is None

    async def test_outcomes_of_other_themes_and_other_subjects_are_not_told(self, store: StoreUnderTest) -> None:
        addition = add("between Ana and marketing", DESK_WITH_ANA)
        recorded = await deliver_one(store, addition)
        operation = addition.stamp.operation

        assert await store.delivery.outcome(DESK_WITH_ANA, operation) == recorded
        for stranger in (SALES_DESK, DESK, DESK_WITH_BEN):
            assert await store.delivery.outcome(stranger, operation) is None
