"""How long the parts of a text should be: is a fact found that stands late in a long text?

A fact of one sentence is put at character 9,000 of a 12,000-character text, among 500 notes about other things, and
asked for in other words. A row ranks by its best part, as recall does it. The prose around the fact and the notes
come from the help topics that ship with Python.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pydoc_data.topics import topics
from statistics import fmean, median
from typing import Any, Final

from hermes_memory.adapters.embedding.local import LocalEmbedder
from hermes_memory.application.calibration_texts import PARAPHRASES
from hermes_memory.domain.chunks import ChunkPolicy, chunks

PLACE: Final = 9_000
LENGTH: Final = 12_000
NOTES: Final = 500
PATIENCE: Final = 600.0


async def measure_part_sizes(sizes: Sequence[int], say: Callable[[str], None]) -> list[dict[str, Any]]:
    """Return the ranks of the long texts for each length of a part, in tokens."""
    embedder = LocalEmbedder()
    try:
        paragraphs = _prose()
        notes = await embedder.embed_documents(paragraphs[:NOTES], timeout=PATIENCE)
        found = []
        for size in sizes:
            say(f"parts of {size} tokens")
            policy = ChunkPolicy(tokens=size, overlap=size // 8)
            ranks = [
                await _rank(embedder, policy, pair, _filler(paragraphs, number), notes)
                for number, pair in enumerate(PARAPHRASES)
            ]
            found.append(_summary(size, ranks))
        return found
    finally:
        await embedder.aclose()


def _prose() -> list[str]:
    """Return the paragraphs of the topics, in an order that is the same everywhere."""
    paragraphs = [" ".join(part.split()) for name in sorted(topics) for part in topics[name].split("\n\n")]
    kept = [part for part in paragraphs if 120 <= len(part) <= 900]
    random.Random(11).shuffle(kept)
    return kept


def _filler(paragraphs: Sequence[str], number: int) -> Sequence[str]:
    return paragraphs[NOTES + number * 5 :][:40]


def _hidden(fact: str, paragraphs: Sequence[str]) -> str:
    """Return a long text with the fact in it."""
    text = "\n\n".join(paragraphs)
    cut = text.rindex(" ", 0, PLACE)
    return f"{text[:cut]} {fact} {text[cut + 1 : LENGTH - len(fact)]}"


async def _rank(
    embedder: LocalEmbedder,
    policy: ChunkPolicy,
    pair: tuple[str, str],
    filler: Sequence[str],
    notes: Sequence[Sequence[float]],
) -> int:
    """Return the rank of the long text among the notes, from 1."""
    question, fact = pair
    asked = await embedder.embed_query(question, timeout=PATIENCE)
    parts = await embedder.embed_documents(chunks(_hidden(fact, filler), policy), timeout=PATIENCE)
    best = max(_cosine(asked, part) for part in parts)
    return 1 + sum(_cosine(asked, note) > best for note in notes)


def _cosine(one: Sequence[float], other: Sequence[float]) -> float:
    """Return the cosine of two vectors of unit length."""
    return sum(a * b for a, b in zip(one, other, strict=True))


def _summary(size: int, ranks: Sequence[int]) -> dict[str, Any]:
    return {
        "tokens": size,
        "ranks": ranks,
        "median": median(ranks),
        "worst": max(ranks),
        "first": fmean(rank == 1 for rank in ranks),
        "among_ten": fmean(rank <= 10 for rank in ranks),
    }
