"""A consumer's tests: both type checkers must accept them. They are not run."""

from __future__ import annotations

from typing import assert_type

from hermes_memory import Memory
from hermes_memory.ports.embedding import Embedder, Generation
from hermes_memory.testing import CONTRACT_GENERATION, InMemoryStore, StoreUnderTest, in_memory_store, open_in_process
from hermes_memory.testing.embedder_contract import EmbedderContract
from hermes_memory.testing.store_contract import StoreContract


async def use(embedder: Embedder) -> None:
    assert_type(in_memory_store(embedder), InMemoryStore)
    assert_type(CONTRACT_GENERATION, Generation)
    async with open_in_process(in_memory_store(), embedder=embedder, settings={"pool_size": 2}) as memory:
        assert_type(memory, Memory)


class TestOwnEmbedder(EmbedderContract):
    """What a subclass adds is a fixture."""


class TestOwnStore(StoreContract):
    """What a subclass adds is a fixture that yields a store under test."""

    def made(self, store: StoreUnderTest) -> StoreUnderTest:
        return store
