"""Reading behind the store's breaker: it learns from each failure, and asks nothing of a store that is away."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from uuid import uuid4

import pytest
from tests.support.faulty import FaultyReader
from tests.support.inprocess import GUARD

from hermes_memory.adapters.inmemory import InMemoryStore
from hermes_memory.application.breaker import STORE, Breaker, BreakerState
from hermes_memory.application.guarded_reader import GuardedReader
from hermes_memory.domain.errors import StoreUnavailable
from hermes_memory.domain.model import CurrentScope, Entry, RowId, Target
from hermes_memory.testing.making import DESK, HOME, MARKETING, add

AWAY = StoreUnavailable("the database is away")


class Bench:
    def __init__(self) -> None:
        self.store = InMemoryStore(analyze=str.split)
        self.reader = FaultyReader(self.store.reader)
        self.breaker = Breaker(STORE, failures=1, delay=3_600.0)
        self.guarded = GuardedReader(self.reader, self.breaker)

    async def read_all(self) -> list[object]:
        operation = add("the vault is number 13", source=HOME)
        (outcome,) = await self.store.delivery.apply([operation])
        assert outcome.row is not None
        return [
            await self.guarded.get(DESK, outcome.row, timeout=GUARD),
            await self.guarded.entries(DESK, CurrentScope(), target=Target.MEMORY, limit=1, timeout=GUARD),
            await self.guarded.mirrored(DESK, HOME, timeout=GUARD),
            await self.guarded.private_copies(HOME, [(Target.MEMORY, "x")], timeout=GUARD),
            await self.guarded.themes(DESK, timeout=GUARD),
            (await self.guarded.standing(DESK, [], timeout=GUARD)).unchanged,
        ]


async def test_a_guarded_reader_reads_what_the_reader_reads() -> None:
    bench = Bench()
    row, entries, mirrored, private, themes, unchanged = await bench.read_all()

    assert isinstance(row, Entry)
    assert (entries, mirrored, private, themes) == ([row], [row], frozenset(), [MARKETING])
    assert unchanged == frozenset()


async def test_a_guarded_reader_learns_from_each_failure_and_asks_nothing_while_the_store_is_known_to_be_away() -> None:
    calls: list[Callable[[GuardedReader], Awaitable[object]]] = [
        lambda reader: reader.get(DESK, RowId(uuid4()), timeout=GUARD),
        lambda reader: reader.entries(DESK, CurrentScope(), limit=1, timeout=GUARD),
        lambda reader: reader.mirrored(DESK, HOME, timeout=GUARD),
        lambda reader: reader.private_copies(HOME, [], timeout=GUARD),
        lambda reader: reader.themes(DESK, timeout=GUARD),
        lambda reader: reader.standing(DESK, [], timeout=GUARD),
        lambda reader: reader.erased_ago(timeout=GUARD),
    ]
    for call in calls:
        bench = Bench()
        bench.reader.reading.standing = AWAY
        with pytest.raises(StoreUnavailable, match="is away"):
            await call(bench.guarded)
        with pytest.raises(StoreUnavailable, match="out of reach"):
            await call(bench.guarded)

        assert bench.reader.reading.calls == 1
        assert bench.breaker.state is BreakerState.OPEN
