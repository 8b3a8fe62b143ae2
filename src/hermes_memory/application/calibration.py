"""What a cosine is worth under an embedding model.

Models differ in how they use the scale: one puts any two texts between .7 and .9, another between -.1 and .5. So a
fixed threshold or weight fits one model only. Two levels measured once per generation make cosines comparable: where
unrelated texts lie on average, and where texts lie that say the same.

How far the two lie apart means little by itself: what tells them apart is the distance beside the spread of unrelated
texts (the sensitivity index d' of signal detection; Green and Swets, "Signal Detection Theory and Psychophysics",
1966). Under a model whose unrelated texts spread widely in the little room that it uses, some of them lie near by
chance. There the upper level is raised, so that a cosine counts for no more than it tells.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from operator import mul
from statistics import fmean, pstdev
from typing import Final, NamedTuple

import anyio

from hermes_memory.application.calibration_texts import PARAPHRASES
from hermes_memory.domain.errors import EmbedderUnavailable, EmbeddingRejected, HermesMemoryError
from hermes_memory.ports.embedding import Embedder

QUESTIONS_AT_ONCE: Final = 4
LEAST_DISTANCE: Final = 4.5
"""Spreads of unrelated texts between the two levels at least."""


class CosineLevels(NamedTuple):
    """What cosines mean under one model, each from -1 to 1: `unrelated` lies below `related`."""

    unrelated: float
    related: float


async def measure(
    embedder: Embedder, *, timeout: float, pairs: Sequence[tuple[str, str]] = PARAPHRASES
) -> CosineLevels:
    """Measure the levels of an embedder: once as questions, once as stored texts, as recall compares them.

    Args:
        embedder: The model to measure.
        timeout: Seconds for each call of it; there is one a pair, a few at a time, and one more.
        pairs: Texts that say the same, at least two pairs, each about another matter.

    Raises:
        EmbedderUnavailable: The embedder does not answer in time.
        EmbeddingRejected: It refuses a text, or cannot tell related texts from others: recall by its vectors would
            be noise.
    """
    asked = await _asked(embedder, [question for question, _ in pairs], timeout)
    stored = await embedder.embed_documents([text for _, text in pairs], timeout=timeout)
    found = levels(asked, stored)
    if not found.unrelated < found.related:
        raise EmbeddingRejected(
            f"the model {embedder.model} does not tell related texts from others: use a model for sentence embeddings"
        )
    return found


async def _asked(embedder: Embedder, questions: Sequence[str], timeout: float) -> Sequence[Sequence[float]]:
    """Embed questions, a few at a time: the embedder may be far away, and storing waits for questions."""
    vectors: dict[int, Sequence[float]] = {}
    failures: list[HermesMemoryError] = []
    waiting = deque(enumerate(questions))

    async def ask() -> None:
        try:
            while waiting and not failures:
                place, question = waiting.popleft()
                vectors[place] = await embedder.embed_query(question, timeout=timeout)
        except (EmbedderUnavailable, EmbeddingRejected) as error:
            failures.append(error)

    async with anyio.create_task_group() as tasks:
        for _ in range(QUESTIONS_AT_ONCE):
            tasks.start_soon(ask)
    if failures:
        raise failures[0]
    return [vectors[place] for place in range(len(questions))]


def levels(asked: Sequence[Sequence[float]], stored: Sequence[Sequence[float]]) -> CosineLevels:
    """Return the mean cosines over all pairs of different place, and over those of the same place.

    The second is at least `LEAST_DISTANCE` standard deviations of the former above their mean, and 1 at most, unless it
    lies below it: then the model does not tell anything apart.

    >>> levels([(1.0, 0.0), (0.0, 1.0)], [(4.0, 3.0), (3.0, 4.0)])
    CosineLevels(unrelated=0.6, related=0.8)

    Args:
        asked: At least two vectors, none of them zero.
        stored: As many vectors of the same length.
    """
    table = [[_cosine(one, other) for other in stored] for one in asked]
    beside = [cosine for row, line in enumerate(table) for column, cosine in enumerate(line) if row != column]
    unrelated, related = fmean(beside), fmean(table[place][place] for place in range(len(table)))
    if unrelated < related:
        related = max(related, min(unrelated + LEAST_DISTANCE * pstdev(beside, unrelated), 1.0))
    return CosineLevels(unrelated=unrelated, related=related)


def _cosine(one: Sequence[float], other: Sequence[float]) -> float:
    product: float = sum(map(mul, one, other))
    return product / (math.hypot(*one) * math.hypot(*other))
