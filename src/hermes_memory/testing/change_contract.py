"""Contract of `DeliveryStore`: what replacing and removing do to the entry that is meant."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from hermes_memory.domain.model import Caller, Origin, RowId, SessionId, Target
from hermes_memory.domain.operations import ById, Effect, RemoveEntry, ReplaceEntry, row_id
from hermes_memory.testing.making import (
    DESK_WITH_ANA,
    DESK_WITH_BEN,
    HOME,
    MARKETING,
    OTHER_HOME,
    add,
    by_content,
    by_substring,
    contents,
    deliver,
    deliver_one,
    list_entries,
    read,
    read_entry,
    remove,
    replace,
    stored,
)
from hermes_memory.testing.store_under_test import StoreUnderTest

LONG_AGO = datetime(2023, 11, 5, 6, 7, 8, 910_111, tzinfo=UTC)


@pytest.mark.asyncio
class ReplacingContract:
    """What replacing does. A subclass supplies the fixture `store`."""

    async def test_a_replaced_entry_is_the_same_one_with_the_words_of_the_operation(
        self, store: StoreUnderTest
    ) -> None:
        addition = add("tea at four", target=Target.USER, source=HOME, metadata={"kept": [1]})
        row = await stored(store, addition)
        evening = Caller(theme=MARKETING, session=SessionId("evening"))
        change = replace(ById(id=row), "tea at five", evening, origin=Origin.TOOL, tool="fact_maker")

        outcome = await deliver_one(store, change)

        after = await read_entry(store, row)
        assert (outcome.effect, outcome.row) == (Effect.REPLACED, row)
        assert (after.content, after.target, after.metadata) == ("tea at five", Target.USER, {"kept": [1]})
        assert after.at == after.updated_at == change.stamp.accepted_at
        assert (after.origin, after.session, after.source) == (Origin.TOOL, "evening", None)
        assert (after.operation, after.tool) == (change.stamp.operation, "fact_maker")

    async def test_a_replacement_is_of_the_time_that_it_names_and_changed_when_it_was_accepted(
        self, store: StoreUnderTest
    ) -> None:
        row = await stored(store, add("tea at five"))
        change = replace(by_content("tea at five"), "tea at four", at=LONG_AGO)
        instead = replace(by_content("unknown"), "cake at six", upsert=True, at=LONG_AGO)

        _, added = await deliver(store, change, instead)

        after, new = await read_entry(store, row), await read_entry(store, _known(added.row))
        assert (after.at, after.updated_at) == (LONG_AGO, change.stamp.accepted_at)
        assert (new.at, new.updated_at) == (LONG_AGO, instead.stamp.accepted_at)

    async def test_a_replacement_mirrors_the_home_that_made_it(self, store: StoreUnderTest) -> None:
        row = await stored(store, add("counter is 1", source=OTHER_HOME))

        await deliver(store, replace(by_substring("counter is", source=HOME), "counter is 2", source=HOME))

        assert (await read_entry(store, row)).source == HOME

    async def test_the_old_content_is_free_again(self, store: StoreUnderTest) -> None:
        first = await stored(store, add("tea"))
        await deliver(store, replace(by_content("tea"), "coffee"))

        outcome = await deliver_one(store, add("tea"))

        assert outcome.effect is Effect.STORED
        assert outcome.row != first
        assert await contents(store) == {"tea", "coffee"}

    async def test_nothing_selected_is_nothing_replaced(self, store: StoreUnderTest) -> None:
        outcome = await deliver_one(store, replace(by_content("unknown"), "new"))

        assert (outcome.effect, outcome.row) == (Effect.NOT_FOUND, None)
        assert await contents(store) == set()

    async def test_nothing_selected_may_be_added_instead(self, store: StoreUnderTest) -> None:
        change = replace(by_substring("unknown", source=HOME), "new", DESK_WITH_ANA, upsert=True, source=HOME)

        outcome = await deliver_one(store, change)

        assert outcome.effect is Effect.STORED
        assert outcome.row == row_id(change.stamp.operation)
        entry = await read_entry(store, row_id(change.stamp.operation), DESK_WITH_ANA)
        assert (entry.content, entry.subject, entry.source) == ("new", DESK_WITH_ANA.subject, HOME)
        assert entry.at == entry.updated_at == change.stamp.accepted_at

    async def test_what_is_added_instead_may_be_there_already(self, store: StoreUnderTest) -> None:
        there = await stored(store, add("new"))

        outcome = await deliver_one(store, replace(by_content("unknown"), "new", upsert=True, source=HOME))

        assert (outcome.effect, outcome.row) == (Effect.UNCHANGED, there)
        assert (await read_entry(store, there)).source == HOME

    async def test_an_unknown_id_has_no_target_to_be_added_to(self, store: StoreUnderTest) -> None:
        unknown = row_id(add("x").stamp.operation)

        outcome = await deliver_one(store, replace(ById(id=unknown), "new", upsert=True))

        assert (outcome.effect, outcome.row) == (Effect.NOT_FOUND, None)
        assert await contents(store) == set()

    async def test_replacing_by_a_content_that_exists_already_leaves_that_one(self, store: StoreUnderTest) -> None:
        old, survivor = await deliver(store, add("tea at four"), add("tea at five"))

        outcome = await deliver_one(store, replace(by_content("tea at four"), "tea at five", source=HOME))

        assert (outcome.effect, outcome.row) == (Effect.REPLACED, survivor.row)
        assert await read(store, _known(old.row)) is None
        (entry,) = await list_entries(store)
        assert (entry.id, entry.source) == (survivor.row, HOME)

    async def test_the_same_content_of_another_subject_is_not_a_content_that_exists_already(
        self, store: StoreUnderTest
    ) -> None:
        mine, _ = await deliver(store, add("tea at four", DESK_WITH_ANA), add("tea at five", DESK_WITH_BEN))

        outcome = await deliver_one(store, replace(by_content("tea at four"), "tea at five", DESK_WITH_ANA))

        assert (outcome.effect, outcome.row) == (Effect.REPLACED, mine.row)
        assert await contents(store, DESK_WITH_ANA) == await contents(store, DESK_WITH_BEN) == {"tea at five"}

    async def test_replacing_a_content_by_itself_leaves_it_as_it_is(self, store: StoreUnderTest) -> None:
        row = await stored(store, add("tea"))
        before = await read_entry(store, row)

        outcome = await deliver_one(store, replace(by_content("tea"), "tea"))

        assert (outcome.effect, outcome.row) == (Effect.UNCHANGED, row)
        assert await read_entry(store, row) == before

    async def test_a_chain_of_replacements_in_a_batch_ends_with_the_last(self, store: StoreUnderTest) -> None:
        changes: list[ReplaceEntry] = [replace(by_content(f"v{n}"), f"v{n + 1}") for n in range(5)]
        row = await stored(store, add("v0"))

        outcomes = await deliver(store, *changes)

        assert {(outcome.effect, outcome.row) for outcome in outcomes} == {(Effect.REPLACED, row)}
        assert await contents(store) == {"v5"}


@pytest.mark.asyncio
class RemovingContract:
    """What removing does. A subclass supplies the fixture `store`."""

    async def test_a_removed_entry_is_gone(self, store: StoreUnderTest) -> None:
        kept, gone = await deliver(store, add("kept"), add("gone"))

        outcome = await deliver_one(store, remove(ById(id=_known(gone.row))))

        assert (outcome.effect, outcome.row) == (Effect.REMOVED, gone.row)
        assert await read(store, _known(gone.row)) is None
        assert [entry.id for entry in await list_entries(store)] == [kept.row]

    async def test_what_is_gone_is_not_found(self, store: StoreUnderTest) -> None:
        removals: list[RemoveEntry] = [remove(by_content("gone")), remove(by_content("gone"))]
        await deliver(store, add("gone"))

        outcomes = await deliver(store, *removals)

        assert [outcome.effect for outcome in outcomes] == [Effect.REMOVED, Effect.NOT_FOUND]
        assert outcomes[1].row is None

    async def test_what_is_gone_can_be_remembered_anew(self, store: StoreUnderTest) -> None:
        first = await stored(store, add("tea"))
        await deliver(store, remove(by_content("tea")))

        outcome = await deliver_one(store, add("tea"))

        assert outcome.effect is Effect.STORED
        assert outcome.row != first
        assert await contents(store) == {"tea"}


def _known(row: RowId | None) -> RowId:
    assert row is not None
    return row
