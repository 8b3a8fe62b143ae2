"""Contract of `TextIndex`: folding comes to an end and changes no answer."""

from __future__ import annotations

import pytest

from hermes_memory.ports.reading import TextMatches
from hermes_memory.ports.text_index import Folding, TextIndex
from hermes_memory.testing.making import (
    CURRENT,
    DESK,
    PATIENCE,
    PLENTY,
    add,
    by_content,
    deliver,
    record,
    remove,
    said,
)
from hermes_memory.testing.store_under_test import StoreUnderTest

MOST_STEPS = 1_000


@pytest.mark.asyncio
class TextIndexContract:
    """What every `TextIndex` keeps. A subclass supplies the fixtures `store` and `index`, over the same rows.

    The index looks for something to fold whenever it is asked.
    """

    async def test_an_empty_store_has_nothing_to_fold(self, index: TextIndex) -> None:
        assert (await index.fold()).state is Folding.IDLE

    async def test_folding_ends_and_changes_no_answer(self, store: StoreUnderTest, index: TextIndex) -> None:
        for number in range(70):
            await deliver(store, add(f"note {number} about the launch"), record(said(f"launch {number} is near")))
        await deliver(store, *(remove(by_content(f"note {number} about the launch")) for number in range(5)))
        before = await _find(store)

        steps = await _fold_all(index)

        assert steps < MOST_STEPS
        assert await _find(store) == before
        assert before.documents == 135

    async def test_what_is_stored_and_removed_afterwards_counts_at_once(
        self, store: StoreUnderTest, index: TextIndex
    ) -> None:
        for number in range(70):
            await deliver(store, add(f"note {number} about the launch"))
        await _fold_all(index)
        await deliver(store, remove(by_content("note 3 about the launch")), add("one more launch"))

        found = await _find(store)

        assert found.documents == 70
        assert "note 3 about the launch" not in {hit.row.content for hit in found.hits}
        assert "one more launch" in {hit.row.content for hit in found.hits}


async def _fold_all(index: TextIndex) -> int:
    steps = 0
    while (await index.fold()).state is not Folding.IDLE and steps < MOST_STEPS:
        steps += 1
    return steps


async def _find(store: StoreUnderTest) -> TextMatches:
    return await store.search.by_text(DESK, CURRENT, store.analyze("launch note"), limit=PLENTY, timeout=PATIENCE)
