"""Which of the settings' waits each part of the composed memory has."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anyio
import pytest
from dependency_injector import providers
from tests.support.inprocess import GUARD, new_analyzer, until

from hermes_memory.adapters.inmemory import InMemoryStore
from hermes_memory.adapters.inmemory.embedder import HashingEmbedder
from hermes_memory.application.answers import RecallRequest
from hermes_memory.bootstrap.container import Container
from hermes_memory.bootstrap.home import open_local_half
from hermes_memory.ports.embedding import Generation
from hermes_memory.settings import Settings
from hermes_memory.testing.making import CURRENT, DESK, add


class TimedEmbedder(HashingEmbedder):
    """Notes how long each call may take."""

    def __init__(self) -> None:
        super().__init__()
        self.for_questions: list[float] = []
        self.for_rows: list[float] = []

    async def embed_query(self, text: str, *, timeout: float) -> list[float]:
        self.for_questions.append(timeout)
        return await super().embed_query(text, timeout=timeout)

    async def embed_documents(self, texts: Sequence[str], *, timeout: float) -> list[list[float]]:
        self.for_rows.append(timeout)
        return await super().embed_documents(texts, timeout=timeout)


@pytest.mark.usefixtures("hurried")
async def test_a_row_may_wait_longer_for_its_vector_than_a_question_does(home: Path) -> None:
    embedder = TimedEmbedder()
    # Measured, so that nothing but a recall asks for the vector of a question.
    generation = Generation(number=1, model=embedder.model, dimension=embedder.dimension, unrelated=0.0, related=0.5)
    store = InMemoryStore(analyze=new_analyzer().analyze, generation=generation)
    settings = Settings(home=home, spool_sync="NORMAL", embed_read_timeout=0.3, embed_write_timeout=7)
    local = open_local_half(settings)
    container = Container(settings=settings, local=local, secret=os.environ.get)
    replaced: dict[str, Any] = {"embedder": embedder, "search": store.search, "queue": store.queue}
    for name, part in replaced.items():
        getattr(container, name).override(providers.Object(part))
    stage = container.stage()
    assert stage is not None
    try:
        await store.delivery.apply([add("the vault is number 13")])
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(stage.run)
            await until(lambda: embedder.for_rows)
            tasks.cancel_scope.cancel()
        request = RecallRequest(caller=DESK, query="vault", space=CURRENT, limit=10, timeout=GUARD)
        await container.recall().recall(request)
    finally:
        local.spool.close()

    assert embedder.for_rows[0] == 7
    assert embedder.for_questions == [0.3]
