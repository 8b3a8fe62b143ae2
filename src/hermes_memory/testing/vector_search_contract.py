"""Contract of `Search`: the vector leg tells exact cosines."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest

from hermes_memory.domain.model import (
    Caller,
    CurrentScope,
    SessionId,
    SessionScope,
    Target,
)
from hermes_memory.domain.operations import ById
from hermes_memory.ports.reading import SearchSpace, VectorHit
from hermes_memory.testing.making import (
    CURRENT,
    DESK,
    DESK_WITH_BEN,
    ENTRIES,
    EVENING,
    MARKETING,
    MORNING,
    PATIENCE,
    PLENTY,
    SALES_DESK,
    TURNS,
    add,
    deliver,
    embed_all,
    record,
    remove,
    replace,
    said,
    stored,
)
from hermes_memory.testing.store_under_test import StoreUnderTest


@pytest.mark.asyncio
class VectorSearchContract:
    """What the vector leg of every `Search` keeps. A subclass supplies the fixture `store`."""

    async def test_the_nearest_come_first_with_their_cosine(self, store: StoreUnderTest) -> None:
        await deliver(store, add("east"), add("north"), record(said("northeast"), said("west")))
        await embed_all(store, _COMPASS)

        hits = await _nearest(store, (2.0, 0.0, 0.0, 0.0))

        assert [hit.row.content for hit in hits] == ["east", "northeast", "north", "west"]
        assert [hit.cosine for hit in hits] == pytest.approx([1.0, math.sqrt(0.5), 0.0, -1.0], abs=2e-3)

    async def test_what_is_not_embedded_yet_is_not_found(self, store: StoreUnderTest) -> None:
        await deliver(store, add("east"))
        await embed_all(store, _COMPASS)
        await deliver(store, add("north"))

        assert [hit.row.content for hit in await _nearest(store, _COMPASS["north"])] == ["east"]

    async def test_a_vector_of_another_dimension_finds_nothing(self, store: StoreUnderTest) -> None:
        row = await stored(store, add("east"))
        await embed_all(store, _COMPASS)

        assert list(await _nearest(store, (1.0, 0.0, 0.0))) == []
        assert dict(await store.search.cosines(DESK, [row], (1.0,) * 5, timeout=PATIENCE)) == {}

    async def test_hits_are_no_more_than_the_limit(self, store: StoreUnderTest) -> None:
        await deliver(store, *(add(word) for word in _COMPASS))
        await embed_all(store, _COMPASS)

        hits = await store.search.by_vector(DESK, CURRENT, _COMPASS["west"], limit=1, timeout=PATIENCE)

        assert [hit.row.content for hit in hits] == ["west"]

    async def test_kinds_target_and_session_narrow_the_space(self, store: StoreUnderTest) -> None:
        evening = Caller(theme=MARKETING, session=EVENING)
        await deliver(
            store, add("east"), add("east, Ana", target=Target.USER), record(said("east, said"), caller=evening)
        )
        await embed_all(store, _COMPASS)

        for space, expected in (
            (CURRENT, {"east", "east, Ana", "east, said"}),
            (ENTRIES, {"east", "east, Ana"}),
            (TURNS, {"east, said"}),
            (SearchSpace(scope=CurrentScope(), target=Target.USER), {"east, Ana", "east, said"}),
            (SearchSpace(scope=SessionScope(session=EVENING)), {"east, said"}),
            (SearchSpace(scope=SessionScope(session=SessionId("x"), hidden=EVENING)), {"east, said"}),
            (SearchSpace(scope=SessionScope(session=EVENING, hidden=MORNING)), {"east", "east, Ana", "east, said"}),
        ):
            assert {hit.row.content for hit in await _nearest(store, _COMPASS["east"], space)} == expected

    async def test_a_replaced_entry_is_not_found_by_its_old_vector(self, store: StoreUnderTest) -> None:
        row = await stored(store, add("east"))
        await embed_all(store, _COMPASS)
        await deliver(store, replace(ById(id=row), "north"))

        assert list(await _nearest(store, _COMPASS["east"])) == []
        await embed_all(store, _COMPASS)
        (hit,) = await _nearest(store, _COMPASS["north"])
        assert hit.row.content == "north"
        assert hit.cosine == pytest.approx(1.0, abs=2e-3)

    async def test_a_removed_entry_is_not_found(self, store: StoreUnderTest) -> None:
        row = await stored(store, add("east"))
        await embed_all(store, _COMPASS)
        await deliver(store, remove(ById(id=row)))

        assert list(await _nearest(store, _COMPASS["east"])) == []
        assert dict(await store.search.cosines(DESK, [row], _COMPASS["east"], timeout=PATIENCE)) == {}

    async def test_cosines_are_told_of_rows_that_are_visible_and_embedded(self, store: StoreUnderTest) -> None:
        east, north, ben, sales = await deliver(
            store, add("east"), add("north"), add("west", DESK_WITH_BEN), add("northeast", SALES_DESK)
        )
        await embed_all(store, _COMPASS)
        late = await stored(store, add("east, later"))
        rows = [row for row in (east.row, north.row, ben.row, sales.row, late) if row is not None]

        cosines = await store.search.cosines(DESK, rows, _COMPASS["east"], timeout=PATIENCE)

        assert dict(cosines) == pytest.approx({east.row: 1.0, north.row: 0.0, sales.row: math.sqrt(0.5)}, abs=2e-3)
        assert dict(await store.search.cosines(DESK, [], _COMPASS["east"], timeout=PATIENCE)) == {}

    async def test_questions_of_one_look_are_answered_as_each_by_itself(self, store: StoreUnderTest) -> None:
        east, north = await deliver(store, add("east"), add("north"))
        await embed_all(store, _COMPASS)
        rows, vector, words = [east.row, north.row], _COMPASS["east"], store.analyze("east")
        wanted = [row for row in rows if row is not None]

        async with store.search.look(DESK, timeout=PATIENCE) as look:
            near = await look.by_vector(CURRENT, vector, limit=PLENTY)
            matches = await look.by_text(CURRENT, words, limit=PLENTY)
            cosines = await look.cosines(wanted, vector)
            again = await look.by_vector(CURRENT, vector, limit=PLENTY)

        assert list(near) == list(again) == list(await _nearest(store, vector))
        assert matches == await store.search.by_text(DESK, CURRENT, words, limit=PLENTY, timeout=PATIENCE)
        assert dict(cosines) == dict(await store.search.cosines(DESK, wanted, vector, timeout=PATIENCE))


_COMPASS: dict[str, Sequence[float]] = {
    "northeast": (1.0, 1.0, 0.0, 0.0),
    "east": (1.0, 0.0, 0.0, 0.0),
    "north": (0.0, 1.0, 0.0, 0.0),
    "west": (-1.0, 0.0, 0.0, 0.0),
}


async def _nearest(store: StoreUnderTest, vector: Sequence[float], space: SearchSpace = CURRENT) -> Sequence[VectorHit]:
    return await store.search.by_vector(DESK, space, vector, limit=PLENTY, timeout=PATIENCE)
