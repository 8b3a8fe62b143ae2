"""Contract of `DeliveryStore`: how entries are added."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from hermes_memory.domain.model import Entry, Json, Origin, Target
from hermes_memory.domain.operations import AddEntry, Effect, row_id
from hermes_memory.testing.making import (
    DESK,
    DESK_WITH_ANA,
    DESK_WITH_BEN,
    HOME,
    MARKETING,
    MORNING,
    OTHER_HOME,
    SALES_DESK,
    add,
    contents,
    deliver,
    deliver_one,
    list_entries,
    read,
    read_entry,
    stored,
)
from hermes_memory.testing.store_under_test import StoreUnderTest


@pytest.mark.asyncio
class AddingContract:
    """How entries are added. A subclass supplies the fixture `store`."""

    async def test_an_added_entry_reads_back_as_it_was_handed_in(self, store: StoreUnderTest) -> None:
        said_at = datetime(2023, 11, 5, 6, 7, 8, 910_111, tzinfo=UTC)
        metadata: dict[str, Json] = {"ключ": ["值", 1, 2.5, None, True, {"deep": "🙂"}]}
        addition = add(
            "Der Schlüssel liegt unter der Matte: 钥匙在垫子下面 🔑\n\twith 'quotes', \\backslash and %",
            DESK_WITH_ANA,
            target=Target.USER,
            at=said_at,
            source=HOME,
            metadata=metadata,
            origin=Origin.TOOL,
            tool="fact_maker",
        )

        row = await stored(store, addition)

        assert row == row_id(addition.stamp.operation)
        assert await read(store, row, DESK_WITH_ANA) == Entry(
            id=row,
            theme=MARKETING,
            subject=DESK_WITH_ANA.subject,
            target=Target.USER,
            content=addition.content,
            at=said_at,
            updated_at=addition.stamp.accepted_at,
            origin=Origin.TOOL,
            session=MORNING,
            source=HOME,
            metadata=metadata,
            operation=addition.stamp.operation,
            tool="fact_maker",
        )

    async def test_an_equal_entry_is_left_as_it_is(self, store: StoreUnderTest) -> None:
        first = await stored(store, add("same", metadata={"first": True}))
        before = await read_entry(store, first)

        outcome = await deliver_one(store, add("same", metadata={"first": False}, origin=Origin.IMPORT))

        assert (outcome.effect, outcome.row) == (Effect.UNCHANGED, first)
        assert await list_entries(store) == [before]

    @pytest.mark.parametrize("other", ["Same", "same ", "same.", "sa\u0301me"])
    async def test_only_exactly_equal_contents_are_equal(self, store: StoreUnderTest, other: str) -> None:
        await deliver(store, add("same"), add(other))

        assert await contents(store) == {"same", other}

    async def test_another_target_theme_or_subject_keeps_an_entry_of_its_own(self, store: StoreUnderTest) -> None:
        twins: list[AddEntry] = [
            add("same"),
            add("same", target=Target.USER),
            add("same", SALES_DESK),
            add("same", DESK_WITH_ANA),
            add("same", DESK_WITH_BEN),
        ]

        outcomes = await deliver(store, *twins)

        assert [outcome.effect for outcome in outcomes] == [Effect.STORED] * 5
        assert len({outcome.row for outcome in outcomes}) == 5

    async def test_an_equal_entry_that_mirrors_no_home_is_adopted_by_the_one_that_mirrors_it(
        self, store: StoreUnderTest
    ) -> None:
        row = await stored(store, add("same"))
        before = await read_entry(store, row)

        outcome = await deliver_one(store, add("same", source=HOME))

        after = await read_entry(store, row)
        assert outcome.effect is Effect.UNCHANGED
        assert after.source == HOME
        assert after.updated_at == before.updated_at

    async def test_an_entry_that_mirrors_a_home_is_not_taken_from_it(self, store: StoreUnderTest) -> None:
        row = await stored(store, add("same", source=HOME))

        await deliver(store, add("same", source=OTHER_HOME), add("same"))

        assert (await read_entry(store, row)).source == HOME

    async def test_a_very_long_content_is_kept_whole(self, store: StoreUnderTest) -> None:
        long_text = " ".join(f"word{number}" for number in range(20_000))

        row = await stored(store, add(long_text))

        assert (await read_entry(store, row)).content == long_text

    async def test_operations_of_many_callers_may_share_a_batch(self, store: StoreUnderTest) -> None:
        operations = [add("mine", caller) for caller in (DESK, SALES_DESK, DESK_WITH_ANA, DESK_WITH_BEN) * 2]

        outcomes = await store.delivery.apply(operations)

        assert [outcome.effect for outcome in outcomes] == [Effect.STORED] * 4 + [Effect.UNCHANGED] * 4
        assert [outcome.row for outcome in outcomes[:4]] == [outcome.row for outcome in outcomes[4:]]
