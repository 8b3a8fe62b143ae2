"""The in-memory store keeps the contract of every store port."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from hermes_memory.adapters.inmemory import InMemoryStore
from hermes_memory.adapters.inmemory.text_index import InMemoryTextIndex
from hermes_memory.adapters.stemming import snowball_stem
from hermes_memory.domain.lexemes import Analyzer
from hermes_memory.domain.model import ReadPolicy, RowId, Subject, Theme
from hermes_memory.testing import CONTRACT_GENERATION, StoreUnderTest
from hermes_memory.testing.store_contract import StoreContract
from hermes_memory.testing.text_index_contract import TextIndexContract


class Levers:
    """Makes the levers of the suites out of an in-memory store and a clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.now = datetime(2024, 6, 1, tzinfo=UTC)
        self.analyze = Analyzer(stem=snowball_stem()).analyze
        self.store = InMemoryStore(analyze=self.analyze, generation=CONTRACT_GENERATION, clock=lambda: self.now)

    async def set_policy(self, policy: ReadPolicy) -> None:
        self.store.set_policy(policy)

    async def grant(self, reader: Theme | Subject, source: Theme, *, expires_at: datetime | None = None) -> None:
        self.store.grant(reader, source, expires_at=expires_at)

    async def merge(self, *subjects: Subject) -> None:
        self.store.merge(*subjects)

    async def erase_turn(self, row: RowId) -> None:
        self.store.erase_turn(row)

    async def pass_time(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)

    def under_test(self) -> StoreUnderTest:
        """Return the store with its levers."""
        return StoreUnderTest(
            delivery=self.store.delivery,
            search=self.store.search,
            reader=self.store.reader,
            queue=self.store.queue,
            people=self.store.people,
            inspector=self.store.inspector,
            analyze=self.analyze,
            set_policy=self.set_policy,
            grant=self.grant,
            merge=self.merge,
            erase_turn=self.erase_turn,
            pass_time=self.pass_time,
        )


class TestInMemoryStore(StoreContract):
    """Every promise, kept in memory."""

    @pytest.fixture
    async def store(self) -> StoreUnderTest:
        return Levers().under_test()


class TestInMemoryTextIndex(TextIndexContract):
    """Every promise, kept in memory."""

    @pytest.fixture
    async def store(self) -> StoreUnderTest:
        return Levers().under_test()

    @pytest.fixture
    async def index(self) -> InMemoryTextIndex:
        return InMemoryTextIndex()
