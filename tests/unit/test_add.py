"""Adding a memory waits for its vector where one can come, and says why where none can."""

from __future__ import annotations

import pytest
from tests.support.faulty import FaultyEmbedder
from tests.support.inprocess import InProcess

from hermes_memory.adapters.inmemory import InMemoryStore
from hermes_memory.cli import add
from hermes_memory.domain.errors import EmbedderUnavailable

LAUNCH = "The launch is on 3 May"


@pytest.fixture(autouse=True)
def waits_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a vector that never comes be waited for until the test is given up."""
    monkeypatch.setattr(add, "EMBED_SECONDS", 3_600.0)
    monkeypatch.setattr(add, "LOOK_SECONDS", 0.01)


async def added(parts: InProcess) -> tuple[str | None, int]:
    """Store a memory; return why it gets no vector, and how many vectors there are."""
    async with parts.running() as memory:
        await memory.view("marketing").remember(LAUNCH)
        told = await add._no_vector(memory)
        return told, (await memory.status()).rows["vectors"]


async def test_a_vector_that_can_come_is_waited_for() -> None:
    assert await added(InProcess(FaultyEmbedder())) == (None, 1)
    assert await added(InProcess()) == (None, 0)


async def test_no_vector_is_waited_for_where_another_model_s_are_stored() -> None:
    stored = InMemoryStore(analyze=str.split, generation=FaultyEmbedder(model="stored").generation)
    told, vectors = await added(InProcess(FaultyEmbedder(model="configured"), store=stored))

    assert vectors == 0
    assert "configured embedder configured" in str(told)
    assert "stored vectors stored" in str(told)


async def test_no_vector_is_waited_for_where_none_are_kept() -> None:
    told, _ = await added(InProcess(FaultyEmbedder(), store=InMemoryStore(analyze=str.split)))

    assert "no embedding generation" in str(told)


async def test_no_vector_is_waited_for_where_the_embedder_does_not_answer() -> None:
    away = FaultyEmbedder()
    away.storing.standing = EmbedderUnavailable("the endpoint is down")
    told, vectors = await added(InProcess(away))

    assert (vectors, "the endpoint is down" in str(told)) == (0, True)


async def test_a_vector_that_takes_too_long_is_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(add, "EMBED_SECONDS", 0.0)
    slow = FaultyEmbedder()
    slow.storing.hangs = True
    told, _ = await added(InProcess(slow))

    assert "not made within" in str(told)
