"""Contract of `DeliveryStore`: which entry a selector means."""

from __future__ import annotations

import pytest

from hermes_memory.domain.model import Caller, Target
from hermes_memory.domain.operations import ById, BySubstring, Effect, Selector
from hermes_memory.testing.making import (
    ANA_DIRECTLY,
    BEN_DIRECTLY,
    DESK,
    DESK_WITH_ANA,
    DESK_WITH_BEN,
    HOME,
    OTHER_HOME,
    SALES_DESK,
    add,
    by_content,
    by_substring,
    contents,
    deliver,
    deliver_one,
    list_entries,
    read,
    read_entry,
    record,
    remove,
    replace,
    said,
    stored,
)
from hermes_memory.testing.store_under_test import StoreUnderTest


@pytest.mark.asyncio
class SelectingContract:
    """Which entry is meant. A subclass supplies the fixture `store`."""

    async def test_a_content_selects_exactly_itself(self, store: StoreUnderTest) -> None:
        await deliver(store, add("tea at five"), add("tea at five o'clock"), add("Tea at five"))

        outcome = await deliver_one(store, remove(by_content("tea at five")))

        assert outcome.effect is Effect.REMOVED
        assert await contents(store) == {"tea at five o'clock", "Tea at five"}

    async def test_a_part_of_a_content_selects_no_content(self, store: StoreUnderTest) -> None:
        await deliver(store, add("tea at five"))

        outcome = await deliver_one(store, remove(by_content("tea")))

        assert (outcome.effect, outcome.row) == (Effect.NOT_FOUND, None)
        assert await contents(store) == {"tea at five"}

    @pytest.mark.parametrize("part", ["100 %", "a_b", ".*", "back\\slash", "it's", "  two", "钥匙", "$1"])
    async def test_a_substring_is_taken_literally(self, store: StoreUnderTest, part: str) -> None:
        wanted, decoy = f"before {part} after", "before 100 years axb .. backslash its two key 1 after"
        await deliver(store, add(wanted), add(decoy))

        outcome = await deliver_one(store, remove(by_substring(part)))

        assert outcome.effect is Effect.REMOVED
        assert await contents(store) == {decoy}

    async def test_a_substring_minds_the_case(self, store: StoreUnderTest) -> None:
        await deliver(store, add("Launch on Monday"), add("the launch party"))

        outcome = await deliver_one(store, replace(by_substring("launch"), "no party"))

        assert outcome.effect is Effect.REPLACED
        assert await contents(store) == {"Launch on Monday", "no party"}

    @pytest.mark.parametrize("upsert", [False, True])
    async def test_a_substring_of_several_entries_touches_none(self, store: StoreUnderTest, upsert: bool) -> None:
        await deliver(store, add("launch on Monday"), add("launch party"))

        replaced, removed = await deliver(
            store, replace(by_substring("launch"), "new", upsert=upsert), remove(by_substring("launch"))
        )

        assert (replaced.effect, replaced.row) == (removed.effect, removed.row) == (Effect.AMBIGUOUS, None)
        assert await contents(store) == {"launch on Monday", "launch party"}

    async def test_a_substring_is_looked_for_first_among_what_mirrors_the_home(self, store: StoreUnderTest) -> None:
        await deliver(
            store, add("launch on Monday"), add("launch party", source=HOME), add("launch code", source=OTHER_HOME)
        )

        outcome = await deliver_one(store, remove(by_substring("launch", source=HOME)))

        assert outcome.effect is Effect.REMOVED
        assert await contents(store) == {"launch on Monday", "launch code"}

    async def test_what_mirrors_the_home_decides_even_when_it_is_several(self, store: StoreUnderTest) -> None:
        await deliver(store, add("launch on Monday", source=HOME), add("launch party", source=HOME), add("launches"))

        outcome = await deliver_one(store, remove(by_substring("launch", source=HOME)))

        assert outcome.effect is Effect.AMBIGUOUS

    async def test_a_substring_that_no_mirror_holds_is_looked_for_in_the_theme(self, store: StoreUnderTest) -> None:
        await deliver(store, add("tea at five", source=HOME), add("launch code", source=OTHER_HOME))

        outcome = await deliver_one(store, remove(by_substring("launch", source=HOME)))

        assert outcome.effect is Effect.REMOVED
        assert await contents(store) == {"tea at five"}

    async def test_another_target_is_not_meant(self, store: StoreUnderTest) -> None:
        await deliver(store, add("likes tea", target=Target.USER))

        outcomes = await deliver(store, remove(by_content("likes tea")), remove(by_substring("tea")))

        assert [outcome.effect for outcome in outcomes] == [Effect.NOT_FOUND] * 2
        other = remove(BySubstring(target=Target.USER, text="tea"))
        assert (await deliver_one(store, other)).effect is Effect.REMOVED

    async def test_an_id_selects_whatever_the_target(self, store: StoreUnderTest) -> None:
        row = await stored(store, add("likes tea", target=Target.USER))

        outcome = await deliver_one(store, remove(ById(id=row)))

        assert (outcome.effect, outcome.row) == (Effect.REMOVED, row)

    async def test_a_turn_is_no_entry_to_select(self, store: StoreUnderTest) -> None:
        turn = await stored(store, record(said("words said once")))

        outcomes = await deliver(
            store,
            replace(ById(id=turn), "words said anew"),
            remove(by_content("words said once")),
            remove(by_substring("words")),
        )

        assert [outcome.effect for outcome in outcomes] == [Effect.NOT_FOUND] * 3
        assert await read(store, turn) is not None

    async def test_the_callers_subject_comes_before_what_has_none(self, store: StoreUnderTest) -> None:
        await deliver(store, add("tea at four"), add("tea at five", DESK_WITH_ANA))

        outcome = await deliver_one(store, remove(by_substring("tea"), DESK_WITH_ANA))

        assert outcome.effect is Effect.REMOVED
        assert await contents(store, DESK_WITH_ANA) == {"tea at four"}

    async def test_a_caller_with_a_subject_reaches_what_has_none(self, store: StoreUnderTest) -> None:
        shared = await stored(store, add("tea at four"))

        outcome = await deliver_one(store, replace(by_substring("tea"), "coffee at four", DESK_WITH_ANA))

        assert (outcome.effect, outcome.row) == (Effect.REPLACED, shared)
        assert (await read_entry(store, shared)).subject is None

    async def test_what_mirrors_the_home_comes_before_the_callers_subject(self, store: StoreUnderTest) -> None:
        mirrored, own = await deliver(store, add("tea", source=HOME), add("tea", DESK_WITH_ANA))

        outcome = await deliver_one(store, remove(by_content("tea", source=HOME), DESK_WITH_ANA))

        assert outcome.row == mirrored.row
        assert [entry.id for entry in await list_entries(store, DESK_WITH_ANA)] == [own.row]

    @pytest.mark.parametrize(
        ("owner", "stranger"),
        [
            (DESK_WITH_ANA, DESK_WITH_BEN),
            (DESK_WITH_ANA, DESK),
            (ANA_DIRECTLY, BEN_DIRECTLY),
            (DESK, SALES_DESK),
            (DESK_WITH_ANA, Caller(theme=SALES_DESK.theme, subject=DESK_WITH_ANA.subject)),
        ],
        ids=["other subject", "no subject", "in a sink", "other theme", "own subject in another theme"],
    )
    async def test_nobody_elses_entry_is_ever_selected(
        self, store: StoreUnderTest, owner: Caller, stranger: Caller
    ) -> None:
        row = await stored(store, add("the code is 8841", owner, source=HOME))
        before = await read(store, row, owner)
        selectors: list[Selector] = [
            ById(id=row),
            by_content("the code is 8841", source=HOME),
            by_substring("8841", source=HOME),
        ]

        removals = await deliver(store, *(remove(selector, stranger) for selector in selectors))
        replacements = await deliver(store, *(replace(selector, "gone", stranger) for selector in selectors))

        assert {outcome.effect for outcome in (*removals, *replacements)} == {Effect.NOT_FOUND}
        assert await read(store, row, owner) == before

    async def test_of_two_subjects_who_said_the_same_only_ones_own_is_changed(self, store: StoreUnderTest) -> None:
        await deliver(store, add("likes tea", DESK_WITH_ANA), add("likes tea", DESK_WITH_BEN))

        await deliver(
            store,
            replace(by_content("likes tea"), "likes coffee", DESK_WITH_ANA),
            replace(by_substring("tea"), "nothing", DESK),
        )

        assert await contents(store, DESK_WITH_ANA) == {"likes coffee"}
        assert await contents(store, DESK_WITH_BEN) == {"likes tea"}
