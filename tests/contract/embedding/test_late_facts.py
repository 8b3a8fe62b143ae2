"""A fact that stands late in a long text is found by its meaning, with the model that needs nothing."""

from __future__ import annotations

from pydoc_data.topics import topics

import anyio
import pytest

from hermes_memory.adapters.embedding.local import LocalEmbedder
from hermes_memory.adapters.inmemory import InMemoryStore
from hermes_memory.application.breaker import EMBEDDER, Breaker
from hermes_memory.application.embed import EmbedStage
from hermes_memory.bootstrap.parts import LOCAL_PARTS
from hermes_memory.domain.chunks import ChunkPolicy
from hermes_memory.ports.embedding import Generation
from hermes_memory.testing.making import CURRENT, DESK, add
from tests.support.embedders import PATIENCE

FACT = "The staging database listens on port 5433."
QUESTION = "Which port does the staging database listen on?"
PLACE = 9_000
LENGTH = 12_000
NOTES = 40


def prose(characters: int) -> str:
    """Return so much text about other things."""
    return " ".join(" ".join(topics[name].split()) for name in sorted(topics))[:characters]


def long_text() -> str:
    text = prose(LENGTH)
    return f"{text[:PLACE]} {FACT} {text[PLACE:]}"


def notes() -> list[str]:
    """Return other notes, none of them part of the long text."""
    text = prose(LENGTH + NOTES * 300)[LENGTH:]
    return [text[start : start + 300] for start in range(0, NOTES * 300, 300)]


@pytest.mark.parametrize(
    ("policy", "found_first"), [(LOCAL_PARTS, True), (ChunkPolicy(tokens=4_000, overlap=0), False)]
)
async def test_the_question_finds_the_long_text_because_it_is_cut_into_parts(
    in_process: LocalEmbedder, policy: ChunkPolicy, found_first: bool
) -> None:
    generation = Generation(
        number=1, model=in_process.model, dimension=in_process.dimension, unrelated=0.05, related=0.57
    )
    store = InMemoryStore(analyze=str.split, generation=generation)
    await store.delivery.apply([add(text) for text in [long_text(), *notes()]])
    stage = EmbedStage(store.queue, in_process, breaker=Breaker(EMBEDDER), parallel=1, chunk=policy)
    with anyio.fail_after(PATIENCE * 5):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(stage.run)
            while stage.counts.embedded <= NOTES:
                await anyio.sleep(0.02)
            tasks.cancel_scope.cancel()
    asked = await in_process.embed_query(QUESTION, timeout=PATIENCE)
    nearest, *_ = await store.search.by_vector(DESK, CURRENT, asked, limit=3, timeout=PATIENCE)

    assert (nearest.row.content == long_text()) is found_first
