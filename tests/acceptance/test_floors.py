"""What the floors let through: a memory about one matter answers questions about it, and about nothing else."""

from __future__ import annotations

import pytest

from hermes_memory.adapters.embedding.local import LocalEmbedder
from hermes_memory.domain.ranking import UNASKED_FLOOR
from hermes_memory.testing import open_in_process

GUARD = 60.0
CAUSES = (
    "the disk was full",
    "a certificate ran out",
    "a deploy was rolled back",
    "DNS was slow",
    "a node was drained",
)
ABOUT_IT = (
    "What went wrong with the payment service?",
    "Tell me what you know about the payment service",
    "Summarise the payment incidents",
    "Why did the payment service fail when the certificate ran out?",
)
ABOUT_NOTHING = ("What did the dentist say about my wisdom tooth?", "How tall is the lighthouse?")


@pytest.mark.parametrize("embedder", [LocalEmbedder, None], ids=["words and meaning", "words alone"])
async def test_a_memory_about_one_matter_answers_questions_about_it_alone(embedder: type[LocalEmbedder] | None) -> None:
    async with open_in_process(embedder=embedder() if embedder else None) as memory:
        view = memory.view("operations", session="log")
        for number in range(30):
            cause = CAUSES[number % len(CAUSES)]
            await view.capture_turn(f"Incident {1000 + number}: the payment service answered 503, because {cause}.")
        assert await memory.settled(timeout=GUARD)
        answered = {
            question
            for question in (*ABOUT_IT, *ABOUT_NOTHING)
            if (await view.recall(question, floor=UNASKED_FLOOR)).hits
        }

    assert answered == set(ABOUT_IT)
