"""Contract of `StoreInspector`: what a store says about itself."""

from __future__ import annotations

import pytest

from hermes_memory.domain.model import ReadPolicy
from hermes_memory.testing.making import (
    ANA_DIRECTLY,
    DESK,
    DESK_WITH_ANA,
    PLENTY,
    SALES_DESK,
    add,
    deliver,
    embed_all,
    record,
    said,
)
from hermes_memory.testing.store_under_test import StoreUnderTest


@pytest.mark.asyncio
class InspectorContract:
    """What every `StoreInspector` keeps. A subclass supplies the fixture `store`."""

    async def test_a_fresh_store_is_usable_and_has_no_problems(self, store: StoreUnderTest) -> None:
        installation = await store.inspector.verify()

        assert list(installation.problems) == []
        assert installation.partitions >= 1
        assert installation.server

    @pytest.mark.parametrize("policy", list(ReadPolicy))
    async def test_the_read_policy_is_told(self, store: StoreUnderTest, policy: ReadPolicy) -> None:
        await store.set_policy(policy)

        assert (await store.inspector.verify()).read_policy is policy

    async def test_an_empty_store_counts_nothing(self, store: StoreUnderTest) -> None:
        assert dict(await store.inspector.counts()) == dict.fromkeys(
            ("themes", "entries", "turns", "vectors", "waiting", "parked"), 0
        )

    async def test_rows_of_all_themes_and_subjects_are_counted(self, store: StoreUnderTest) -> None:
        await deliver(
            store,
            *(add("a note", caller) for caller in (DESK, DESK_WITH_ANA, SALES_DESK, ANA_DIRECTLY)),
            record(said("a turn"), said("another turn")),
        )
        await embed_all(store, {"note": (1.0, 0.0, 0.0, 0.0), "turn": (0.0, 1.0, 0.0, 0.0)})
        await deliver(store, add("waits"), add("is parked"))
        jobs = await store.queue.claim(PLENTY, lease=60)
        await store.queue.park(next(job for job in jobs if "parked" in job.text), "refused")

        counts = await store.inspector.counts()

        assert dict(counts) == {"themes": 3, "entries": 6, "turns": 2, "vectors": 6, "waiting": 1, "parked": 1}
        (standing,) = await store.inspector.generations()
        assert (standing.generation, standing.model, standing.dimension, standing.active) == (1, "contract", 4, True)
        assert (standing.embeddable, standing.embedded, standing.waiting, standing.parked) == (8, 6, 1, 1)
        assert standing.coverage == pytest.approx(0.75)
