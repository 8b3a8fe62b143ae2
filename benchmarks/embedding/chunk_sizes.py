"""Measures how long the parts of a text should be: is a fact found that stands late in a long text?

    python -m benchmarks.embedding.chunk_sizes

A fact of one sentence is put at character 9,000 of a 12,000-character text, among 500 notes about other things, and
asked for in other words. A row ranks by its best part, as recall does it. The prose around the fact and the notes
come from the help topics that ship with Python.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Sequence
from pydoc_data.topics import topics
from statistics import fmean, median
from typing import Final

import anyio

from hermes_memory.adapters.embedding.local import LocalEmbedder
from hermes_memory.application.calibration_texts import PARAPHRASES
from hermes_memory.domain.chunks import ChunkPolicy, chunks

PLACE: Final = 9_000
LENGTH: Final = 12_000
NOTES: Final = 500
PATIENCE: Final = 600.0


def prose() -> list[str]:
    """Return the paragraphs of the topics, in an order that is the same everywhere."""
    paragraphs = [" ".join(part.split()) for name in sorted(topics) for part in topics[name].split("\n\n")]
    kept = [part for part in paragraphs if 120 <= len(part) <= 900]
    random.Random(11).shuffle(kept)
    return kept


def hidden(fact: str, paragraphs: Sequence[str]) -> str:
    """Return a long text with the fact in it."""
    text = "\n\n".join(paragraphs)
    cut = text.rindex(" ", 0, PLACE)
    return f"{text[:cut]} {fact} {text[cut + 1 : LENGTH - len(fact)]}"


def cosine(one: Sequence[float], other: Sequence[float]) -> float:
    """Return the cosine of two vectors of unit length."""
    return sum(a * b for a, b in zip(one, other, strict=True))


async def rank(embedder: LocalEmbedder, policy: ChunkPolicy, pair: tuple[str, str], number: int) -> int:
    """Return the rank of the long text among the notes, from 1."""
    paragraphs = prose()
    notes = paragraphs[:NOTES]
    filler = paragraphs[NOTES + number * 5 :][:40]
    question, fact = pair
    asked = await embedder.embed_query(question, timeout=PATIENCE)
    stored = await embedder.embed_documents(notes, timeout=PATIENCE) if number == 0 else _notes
    _notes[:] = stored
    parts = await embedder.embed_documents(chunks(hidden(fact, filler), policy), timeout=PATIENCE)
    best = max(cosine(asked, part) for part in parts)
    return 1 + sum(cosine(asked, note) > best for note in stored)


_notes: list[list[float]] = []


async def main(sizes: Sequence[int], pairs: int) -> None:
    """Print a line for each size."""
    embedder = LocalEmbedder()
    for size in sizes:
        policy = ChunkPolicy(tokens=size, overlap=size // 8)
        ranks = [await rank(embedder, policy, pair, number) for number, pair in enumerate(PARAPHRASES[:pairs])]
        first, ten = fmean(each == 1 for each in ranks), fmean(each <= 10 for each in ranks)
        print(
            f"{size:5} tokens: rank {median(ranks):5.1f} in the middle, {max(ranks):4} at worst, "
            f"{first:.0%} first, {ten:.0%} among ten",
            flush=True,
        )
    await embedder.aclose()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[32, 64, 96, 128, 192, 256, 384, 512, 1_000])
    parser.add_argument("--pairs", type=int, default=len(PARAPHRASES))
    chosen = parser.parse_args()
    anyio.run(main, chosen.sizes, chosen.pairs)
