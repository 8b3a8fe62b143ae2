"""Contract of every reading port: what comes back is what the visibility rule of the domain allows, and all of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

import pytest
from hypothesis import HealthCheck, given, settings

from hermes_memory.domain.model import (
    DIRECT_MESSAGES,
    SINKS,
    Caller,
    Entry,
    Kind,
    ReadPolicy,
    RowId,
    Scope,
)
from hermes_memory.domain.operations import ById, Effect, RemoveEntry
from hermes_memory.domain.visibility import changeable, readable
from hermes_memory.ports.reading import SearchSpace
from hermes_memory.testing.making import (
    ANA,
    BEN,
    DESK,
    HOME,
    PATIENCE,
    PLENTY,
    SALES,
    SALES_DESK,
    add,
    deliver,
    read,
    remove,
    stored,
)
from hermes_memory.testing.store_under_test import StoreUnderTest
from hermes_memory.testing.worlds import VECTOR, Setting, World, worlds

EXAMPLES: Final = 15
_examples: Final = settings(
    max_examples=EXAMPLES,
    derandomize=True,
    deadline=None,
    suppress_health_check=[
        HealthCheck.function_scoped_fixture,
        HealthCheck.too_slow,
        # The suite is there to be inherited, by one class an adapter. Examples are not kept from one to the other.
        HealthCheck.differing_executors,
    ],
)


@pytest.mark.asyncio
class VisibilityContract:
    """Every read obeys the rule. A subclass supplies the fixture `store`."""

    @_examples
    @given(world=worlds)
    async def test_every_list_and_search_returns_what_the_rule_allows(
        self, store: StoreUnderTest, world: World
    ) -> None:
        setting = Setting(store, world)
        await setting.build()

        for asking in world.callers:
            caller = setting.reading(setting.caller(asking))
            for scope in setting.scopes():
                expected = setting.seen(caller, scope)
                entries = {row.id for row in expected if row.kind is Kind.ENTRY}
                both = {row.id for row in expected}
                assert await _listed(setting, caller, scope) == entries, (caller, scope)
                assert await _found_by_text(setting, caller, scope) == both, (caller, scope)
                assert await _found_by_vector(setting, caller, scope) == both, (caller, scope)

    @_examples
    @given(world=worlds)
    async def test_every_row_by_id_obeys_the_rule(self, store: StoreUnderTest, world: World) -> None:
        setting = Setting(store, world)
        await setting.build()

        for asking in world.callers:
            caller = setting.reading(setting.caller(asking))
            expected = {row.id for row in setting.seen(caller)}
            read_rows = {row.id for row in setting.rows if await read(store, row.id, caller) is not None}
            cosines = await store.search.cosines(caller, [row.id for row in setting.rows], VECTOR, timeout=PATIENCE)
            mirrored = await store.reader.mirrored(caller, HOME, timeout=PATIENCE)

            assert read_rows == expected
            assert set(cosines) == expected
            assert {entry.id for entry in mirrored} & {row.id for row in setting.rows} == {
                row.id
                for row in setting.rows
                if row.kind is Kind.ENTRY and (row.caller.theme, row.caller.subject) == (caller.theme, caller.subject)
            }

    @_examples
    @given(world=worlds)
    async def test_the_listed_themes_are_those_the_caller_may_read(self, store: StoreUnderTest, world: World) -> None:
        setting = Setting(store, world)
        await setting.build()

        for asking in world.callers:
            caller = setting.reading(setting.caller(asking))
            listed = list(await store.reader.themes(caller, timeout=PATIENCE))
            there = {row.caller.theme for row in setting.rows} - SINKS
            readable_ones = {theme for theme in there if readable(theme, caller, setting.access(caller))}

            assert set(listed) & set(setting.themes) == readable_ones
            assert listed == sorted(set(listed))

    @_examples
    @given(world=worlds)
    async def test_only_what_is_changeable_can_be_removed(self, store: StoreUnderTest, world: World) -> None:
        setting = Setting(store, world)
        await setting.build()
        caller = setting.caller(world.callers[0])

        outcomes = await deliver(store, *(remove(ById(id=row.id), caller) for row in setting.rows))

        for row, outcome in zip(setting.rows, outcomes, strict=True):
            allowed = changeable(row.caller.theme, row.caller.subject, caller)
            assert outcome.effect is (Effect.REMOVED if allowed else Effect.NOT_FOUND)
            assert (await read(store, row.id, row.caller) is None) is allowed

    async def test_a_grant_counts_until_it_expires(self, store: StoreUnderTest) -> None:
        row = await stored(store, add("price list", SALES_DESK))
        await store.set_policy(ReadPolicy.GRANTS)

        assert await read(store, row, DESK) is None
        await store.grant(DESK.theme, SALES, expires_at=datetime(2001, 1, 1, tzinfo=UTC))
        assert await read(store, row, DESK) is None
        await store.grant(DESK.theme, SALES, expires_at=datetime(9001, 1, 1, tzinfo=UTC))
        assert await read(store, row, DESK) is not None

    async def test_a_grant_reads_one_way_and_counts_under_its_policy_only(self, store: StoreUnderTest) -> None:
        ours, theirs = await deliver(store, add("ours", DESK), add("theirs", SALES_DESK))
        await store.grant(DESK.theme, SALES)
        assert ours.row is not None
        assert theirs.row is not None

        await store.set_policy(ReadPolicy.GRANTS)
        assert await read(store, theirs.row, DESK) is not None
        assert await read(store, ours.row, SALES_DESK) is None
        await store.set_policy(ReadPolicy.OWN)
        assert await read(store, theirs.row, DESK) is None

    async def test_an_open_installation_is_open_to_agents_and_not_to_who_writes_to_them(
        self, store: StoreUnderTest
    ) -> None:
        row = await stored(store, add("price list", SALES_DESK))
        contact = Caller(theme=DIRECT_MESSAGES, subject=ANA)

        assert await read(store, row, DESK) is not None
        for asking in (contact, replace(DESK, subject=ANA)):
            assert await read(store, row, asking) is None
            assert list(await store.reader.themes(asking, timeout=PATIENCE)) == []

    async def test_somebody_who_was_granted_a_theme_reads_it_wherever_they_speak(self, store: StoreUnderTest) -> None:
        row = await stored(store, add("price list", SALES_DESK))
        await store.grant(ANA, SALES)

        for policy, seen in ((ReadPolicy.OPEN, True), (ReadPolicy.GRANTS, True), (ReadPolicy.OWN, False)):
            await store.set_policy(policy)
            for asking in (Caller(theme=DIRECT_MESSAGES, subject=ANA), replace(DESK, subject=ANA)):
                assert (await read(store, row, asking) is not None) is seen
            assert await read(store, row, Caller(theme=DIRECT_MESSAGES, subject=BEN)) is None

    async def test_somebody_with_two_subjects_reads_what_is_eithers_and_changes_what_is_its_own(
        self, store: StoreUnderTest
    ) -> None:
        ana, ben = [await stored(store, add("what I told you", caller)) for _, caller in _TWO]
        assert await store.people.others(ANA, timeout=PATIENCE) == frozenset()
        await store.merge(ANA, BEN)
        both = {ANA: frozenset({BEN}), BEN: frozenset({ANA})}
        assert {who: await store.people.others(who, timeout=PATIENCE) for who in both} == both
        asking = Caller(theme=DIRECT_MESSAGES, subject=ANA, also=both[ANA])

        assert await read(store, ben, asking) is not None
        assert await _outcome(store, remove(ById(id=ben), asking)) is Effect.NOT_FOUND
        assert await _outcome(store, remove(ById(id=ana), asking)) is Effect.REMOVED
        assert await read(store, ben, _TWO[1][1]) is not None


_TWO: Final = tuple((who, Caller(theme=DIRECT_MESSAGES, subject=who)) for who in (ANA, BEN))


async def _outcome(store: StoreUnderTest, operation: RemoveEntry) -> Effect:
    (outcome,) = await deliver(store, operation)
    return outcome.effect


async def _listed(setting: Setting, caller: Caller, scope: Scope) -> set[RowId]:
    entries: Sequence[Entry] = await setting.store.reader.entries(caller, scope, limit=PLENTY, timeout=PATIENCE)
    return {entry.id for entry in entries} & {row.id for row in setting.rows}


async def _found_by_text(setting: Setting, caller: Caller, scope: Scope) -> set[RowId]:
    lexemes = setting.store.analyze(setting.word)
    space = SearchSpace(scope=scope)
    matches = await setting.store.search.by_text(caller, space, lexemes, limit=PLENTY, timeout=PATIENCE)
    return {hit.row.id for hit in matches.hits}


async def _found_by_vector(setting: Setting, caller: Caller, scope: Scope) -> set[RowId]:
    space = SearchSpace(scope=scope)
    hits = await setting.store.search.by_vector(caller, space, VECTOR, limit=PLENTY, timeout=PATIENCE)
    return {hit.row.id for hit in hits} & {row.id for row in setting.rows}
