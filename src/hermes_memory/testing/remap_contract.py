"""What `Upkeep` promises where it moves a theme into another, to be run against every adapter."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Final

import pytest

from hermes_memory.domain.maintenance import Remap
from hermes_memory.domain.model import Caller, ReadPolicy, RowId, SessionId, Theme, Turn
from hermes_memory.domain.operations import ById, Operation, RecordDelegation, TurnDraft, row_id
from hermes_memory.testing.making import (
    ANA,
    CURRENT,
    DESK,
    DESK_WITH_ANA,
    EVENING,
    HOME,
    MARKETING,
    MORNING,
    PATIENCE,
    PLENTY,
    SALES,
    SALES_DESK,
    TURNS,
    add,
    by_content,
    contents,
    deliver,
    embed_all,
    read,
    read_entry,
    record,
    remove,
    replace,
    said,
    stamp,
    stored,
)
from hermes_memory.testing.store_under_test import StoreUnderTest
from hermes_memory.testing.upkeep_contract import LATELY, VECTORS, UpkeepUnderTest, carry_out, counted

PRESS: Final = Theme("press")
MOVE: Final = Remap(source=MARKETING, target=PRESS)
THERE: Final = Caller(theme=PRESS, session=MORNING)
THERE_WITH_ANA: Final = Caller(theme=PRESS, subject=ANA, session=MORNING)


class RemapContract:
    """The promises. A subclass supplies the async fixture `kept_up`: fresh and empty each time."""

    async def test_everything_of_a_theme_is_found_under_its_new_name_alone(self, kept_up: UpkeepUnderTest) -> None:
        store = kept_up.store
        entries = [await stored(store, operation) for operation in (add("launch", source=HOME), add("draft"))]
        delegation = RecordDelegation(
            stamp=stamp(DESK), child_session=SessionId("child"), child_theme=MARKETING, task="t", result="r"
        )
        await deliver(store, replace(by_content("draft"), "final"), add("tea is green", DESK_WITH_ANA), delegation)
        await deliver(store, record(*_talk(5)), record(said("hers common"), caller=DESK_WITH_ANA))
        await embed_all(store, VECTORS)
        await deliver(store, add("not embedded yet"))
        before = await _known(store, DESK), await _known(store, DESK_WITH_ANA)
        changes = [await _told(kept_up, DESK, row) for row in entries]
        foretold = await counted(kept_up.remap(MOVE))
        done = await carry_out(kept_up.remap(MOVE))

        assert foretold == done
        moved = {"entries": 4, "turns": 6, "changes": 5, "vectors": 9, "jobs": 1, "themes": 1}
        assert {name: done[name] for name in moved} == moved
        assert (done["delegations"], done["named"]) == (1, 1)
        assert await counted(kept_up.remap(MOVE)) == {}
        assert (await _known(store, THERE), await _known(store, THERE_WITH_ANA)) == before
        assert await _known(store, DESK) == (set(), [], set())
        assert [await _told(kept_up, THERE, row) for row in entries] == changes
        assert [await read_entry(store, row, THERE) is not None for row in entries] == [True, True]
        assert [job.text for job in await store.queue.claim(PLENTY, lease=60)] == ["not embedded yet"]

    async def test_what_both_themes_have_becomes_one(self, kept_up: UpkeepUnderTest) -> None:
        store, talk = kept_up.store, _talk(6)
        gives_way = await stored(store, add("launch", source=HOME))
        await deliver(store, add("only old"), record(*talk[:4]))
        await deliver(store, record(said("its own common"), caller=Caller(theme=MARKETING, session=EVENING)))
        kept = await stored(store, add("launch", THERE))
        await deliver(store, record(*talk[3:], caller=THERE))
        await embed_all(store, VECTORS)
        foretold = await counted(kept_up.remap(MOVE))
        done = await carry_out(kept_up.remap(MOVE))
        waiting = {job.text: job.context for job in await store.queue.claim(PLENTY, lease=60)}
        told = await kept_up.history.of_row(THERE, gives_way, limit=9, timeout=PATIENCE)

        assert foretold == done
        merged = {"entries": 2, "merged_entries": 1, "turns": 5, "merged_turns": 1, "sessions": 2}
        assert {name: done[name] for name in merged} == merged
        assert await contents(store, THERE) == {"launch", "only old"}
        assert (await read_entry(store, kept, THERE)).source == HOME
        assert [change.merged_into for change in told] == [kept, None]
        assert await _places(store) == [(n, f"turn {n} common") for n in range(6)]
        # Who came from the old session, and who comes after another one than before.
        assert waiting == {"turn 0 common": "", **{f"turn {n} common": f"turn {n - 1} common" for n in (1, 2, 3)}}

    async def test_what_comes_in_under_the_old_name_afterwards_moves_with_the_next_run(
        self, kept_up: UpkeepUnderTest
    ) -> None:
        store, talk = kept_up.store, _talk(3)
        operations: list[Operation] = [record(*talk[:2]), add("a note")]
        await deliver(store, *operations)
        await carry_out(kept_up.remap(MOVE))
        await deliver(store, *operations)
        replayed = await counted(kept_up.remap(MOVE))
        await deliver(store, record(talk[2]), add("a late note"))
        done = await carry_out(kept_up.remap(MOVE))

        assert replayed == {}
        assert (done["turns"], done["entries"]) == (1, 1)
        assert await contents(store, THERE) == {"a note", "a late note"}
        assert await _places(store) == [(n, f"turn {n} common") for n in range(3)]

    async def test_what_either_theme_has_forgotten_stays_forgotten(self, kept_up: UpkeepUnderTest) -> None:
        store, talk = kept_up.store, _talk(4)
        first, second = record(*talk[:3]), record(talk[1], talk[3], caller=THERE)
        await deliver(store, first, second)
        forgotten_here, forgotten_there = row_id(first.stamp.operation, 0), row_id(second.stamp.operation, 0)
        await deliver(store, remove(ById(id=forgotten_here)), remove(ById(id=forgotten_there), THERE))
        alone = Caller(theme=MARKETING, session=EVENING)
        await deliver(store, remove(ById(id=await stored(store, record(talk[0], caller=alone)))))
        foretold = await counted(kept_up.remap(MOVE))
        done = await carry_out(kept_up.remap(MOVE))
        await deliver(store, record(*talk, caller=THERE), record(talk[0], caller=Caller(theme=PRESS, session=EVENING)))
        found = await store.search.by_text(THERE, TURNS, store.analyze("turn"), limit=PLENTY, timeout=PATIENCE)

        assert foretold == done
        assert (done["turns"], done["merged_turns"], done["sessions"]) == (2, 1, 2)
        assert sorted(hit.row.content for hit in found.hits) == ["turn 2 common", "turn 3 common"]

    @pytest.mark.parametrize("beside", [[], ["noted"]])
    async def test_what_stands_in_one_theme_stays_there_though_another_has_forgotten_it(
        self, kept_up: UpkeepUnderTest, beside: Sequence[str]
    ) -> None:
        store, code = kept_up.store, said("the code is zebra", at=LATELY)
        forgotten = await stored(store, record(code))
        await deliver(store, remove(ById(id=forgotten)), record(code, caller=THERE))
        if beside:
            await deliver(store, record(*(said(content) for content in beside)))
        done = await carry_out(kept_up.remap(MOVE))
        foretold = await counted(kept_up.remap(Remap(source=PRESS, target=SALES)))
        onward = await carry_out(kept_up.remap(Remap(source=PRESS, target=SALES)))
        found = await store.search.by_text(SALES_DESK, TURNS, store.analyze("zebra"), limit=PLENTY, timeout=PATIENCE)

        assert (done["sessions"], done.get("turns", 0), done.get("merged_turns", 0)) == (1, len(beside), 0)
        assert foretold == onward
        assert (onward["turns"], onward.get("merged_turns", 0)) == (1 + len(beside), 0)
        assert [hit.row.content for hit in found.hits] == [code.content]

    async def test_the_turn_after_one_that_gives_way_to_a_mark_waits_for_a_vector_without_its_words(
        self, kept_up: UpkeepUnderTest
    ) -> None:
        store, code = kept_up.store, said("the code is zebra", at=LATELY)
        await deliver(store, remove(ById(id=await stored(store, record(code, caller=THERE))), THERE))
        await deliver(store, record(code, said("noted", at=LATELY), said("thanks", at=LATELY)))
        await embed_all(store, VECTORS)
        foretold = await counted(kept_up.remap(MOVE))
        done = await carry_out(kept_up.remap(MOVE))
        near = await store.search.by_vector(THERE, TURNS, VECTORS[""], limit=PLENTY, timeout=PATIENCE)

        assert foretold == done
        assert (done["turns"], done["merged_turns"]) == (3, 1)
        assert [hit.row.content for hit in near] == ["thanks"]
        assert [(job.text, job.context) for job in await store.queue.claim(PLENTY, lease=60)] == [("noted", "")]

    async def test_no_turn_that_comes_after_another_one_than_before_keeps_its_vector(
        self, kept_up: UpkeepUnderTest
    ) -> None:
        store, talk, late = kept_up.store, _talk(5), said("late common", at=LATELY + timedelta(minutes=9))
        there = record(talk[0], talk[1], late, talk[2], caller=THERE)
        await deliver(store, there, record(*talk))
        forgotten = (row_id(there.stamp.operation, place) for place in (0, 1, 3))
        await deliver(store, *(remove(ById(id=row), THERE) for row in forgotten))
        await embed_all(store, VECTORS)
        foretold = await counted(kept_up.remap(MOVE))
        done = await carry_out(kept_up.remap(MOVE))

        assert foretold == done
        assert (done["turns"], done["merged_turns"]) == (5, 3)
        assert await _waiting(store) == {
            "turn 3 common": "",
            "turn 4 common": "turn 3 common",
            "late common": "turn 4 common",
        }
        assert await _in_order(store) == ["turn 3 common", "turn 4 common", "late common"]

    async def test_a_turn_whose_forerunner_stands_elsewhere_in_the_other_theme_gets_a_new_vector(
        self, kept_up: UpkeepUnderTest
    ) -> None:
        store, talk = kept_up.store, _talk(4)
        await deliver(store, record(talk[2], talk[0], talk[1], caller=THERE), record(*talk))
        await embed_all(store, VECTORS)
        done = await carry_out(kept_up.remap(MOVE))

        assert (done["turns"], done["merged_turns"]) == (4, 3)
        assert await _waiting(store) == {
            "turn 0 common": "",
            **{f"turn {n} common": f"turn {n - 1} common" for n in (2, 3)},
        }
        assert await _in_order(store) == [f"turn {n} common" for n in range(4)]

    async def test_a_session_becomes_one_though_its_first_turns_are_gone(self, kept_up: UpkeepUnderTest) -> None:
        store, talk = kept_up.store, _talk(4)
        first, late = record(*talk), said("late common", at=LATELY + timedelta(minutes=9))
        await deliver(store, first, record(late, caller=THERE))
        await deliver(store, *(remove(ById(id=row_id(first.stamp.operation, place))) for place in (0, 1)))
        await embed_all(store, VECTORS)
        await carry_out(kept_up.remap(MOVE))

        assert await _waiting(store) == {
            "turn 2 common": "",
            "turn 3 common": "turn 2 common",
            "late common": "turn 3 common",
        }
        assert await _in_order(store) == ["turn 2 common", "turn 3 common", "late common"]

    async def test_grants_go_along_to_a_name_that_is_new(self, kept_up: UpkeepUnderTest) -> None:
        store = kept_up.store
        await store.set_policy(ReadPolicy.GRANTS)
        row, theirs = await stored(store, add("a note")), await stored(store, add("price list", SALES_DESK))
        await store.grant(SALES, MARKETING)
        await store.grant(MARKETING, SALES)
        done = await carry_out(kept_up.remap(MOVE))

        assert done["grants"] == 2
        assert await read(store, row, SALES_DESK) is not None
        assert await read(store, theirs, THERE) is not None
        assert await read(store, theirs, DESK) is None

    async def test_grants_open_what_was_there_before_only_when_told_to(self, kept_up: UpkeepUnderTest) -> None:
        store = kept_up.store
        await store.set_policy(ReadPolicy.GRANTS)
        moved, there = await stored(store, add("a note")), await stored(store, add("of the press", THERE))
        await store.grant(SALES, MARKETING)
        foretold = await counted(kept_up.remap(MOVE))
        done = await carry_out(kept_up.remap(MOVE))
        kept_out = [await read(store, row, SALES_DESK) for row in (moved, there)]
        told = await carry_out(kept_up.remap(Remap(source=MARKETING, target=PRESS, grants=True)))
        let_in = [await read(store, row, SALES_DESK) for row in (moved, there)]

        assert foretold == done
        assert "grants" not in done
        assert kept_out == [None, None]
        assert told == {"grants": 1}
        assert None not in let_in


def _talk(turns: int) -> list[TurnDraft]:
    return [said(f"turn {n} common", at=LATELY + timedelta(minutes=n)) for n in range(turns)]


async def _known(store: StoreUnderTest, caller: Caller) -> tuple[set[str], list[RowId], set[RowId]]:
    """Return a caller's entries, and what it finds by a word and by a vector."""
    words = await store.search.by_text(caller, CURRENT, store.analyze("common"), limit=PLENTY, timeout=PATIENCE)
    near = await store.search.by_vector(caller, CURRENT, VECTORS[""], limit=PLENTY, timeout=PATIENCE)
    return await contents(store, caller), sorted(hit.row.id for hit in words.hits), {hit.row.id for hit in near}


async def _places(store: StoreUnderTest) -> list[tuple[int, str]]:
    """Return the turns of the talk under the new name with their places."""
    found = await store.search.by_text(THERE, TURNS, store.analyze("turn"), limit=PLENTY, timeout=PATIENCE)
    turns = [hit.row for hit in found.hits if isinstance(hit.row, Turn) and hit.row.session == MORNING]
    return sorted((turn.position, turn.content) for turn in turns)


async def _in_order(store: StoreUnderTest) -> list[str]:
    """Return what was said in the talk under the new name, by its places."""
    found = await store.search.by_text(THERE, TURNS, store.analyze("common"), limit=PLENTY, timeout=PATIENCE)
    turns = [hit.row for hit in found.hits if isinstance(hit.row, Turn)]
    return [turn.content for turn in sorted(turns, key=lambda turn: turn.position)]


async def _waiting(store: StoreUnderTest) -> dict[str, str]:
    """Return the texts that wait for a vector, and after which text each is embedded."""
    return {job.text: job.context for job in await store.queue.claim(PLENTY, lease=60)}


async def _told(kept_up: UpkeepUnderTest, caller: Caller, row: RowId) -> list[tuple[object, ...]]:
    changes = await kept_up.history.of_row(caller, row, limit=9, timeout=PATIENCE)
    return [(change.id, change.kind, change.before, change.after, change.recorded_at) for change in changes]
