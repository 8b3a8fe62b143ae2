"""Vectors and waits for the suites of the embedding queue."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from hermes_memory.domain.model import RowId
from hermes_memory.testing.making import CURRENT, DESK, PATIENCE, PLENTY
from hermes_memory.testing.store_under_test import StoreUnderTest

LONG: Final = 60.0
"""Seconds of a lease that does not end during a test."""
SHORT: Final = 0.2
"""Seconds of a wait that a test sits out."""
EAST: Final[Sequence[float]] = (1.0, 0.0, 0.0, 0.0)
NORTH: Final[Sequence[float]] = (0.0, 1.0, 0.0, 0.0)
WEST: Final[Sequence[float]] = (-1.0, 0.0, 0.0, 0.0)
SOUTH: Final[Sequence[float]] = (0.0, -1.0, 0.0, 0.0)


async def embed_waiting(store: StoreUnderTest, vector: Sequence[float]) -> None:
    """Give every row that waits the same vector."""
    jobs = await store.queue.claim(PLENTY, lease=LONG)
    await store.queue.complete({job: [vector] for job in jobs})


async def cosine_found(store: StoreUnderTest, row: RowId, vector: Sequence[float]) -> float | None:
    """Return the cosine of a row to a vector, None when it has none; searching must find it as well."""
    found = await store.search.cosines(DESK, [row], vector, timeout=PATIENCE)
    hits = await store.search.by_vector(DESK, CURRENT, vector, limit=PLENTY, timeout=PATIENCE)
    assert {hit.row.id for hit in hits} >= set(found)
    return found.get(row)
