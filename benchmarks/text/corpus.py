"""A corpus of any size: sessions of turns over topics, in themes from two fifths of all rows down to a few.

Texts are bags of words with the statistics of talk: sixty words that everybody says make two fifths of it, others are
common by Zipf's law or belong to the topic of the session, and one in eight is rare. The same seed, the same corpus.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hermes_memory.domain.bm25 import FEWEST_DOCUMENTS, K1, B
from hermes_memory.domain.postings import BLOCK_POSTINGS

Integers: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float64]

SHARES: Final = (0.4, 0.1, 0.05, 0.01, 0.001, 0.0001)
"""Of the themes that are measured. The rest of the rows lies in themes of `SMALL` each."""
SMALL: Final = 0.002
SESSION: Final = 20
STOP_WORDS: Final = 60
CONTENT_WORDS: Final = 50_000
RARE_WORDS: Final = 200_000
TOPICS: Final = 500
TOPIC_WORDS: Final = 40
MEAN_LENGTH: Final = 26.0


@dataclass(frozen=True, kw_only=True)
class Postings:
    """Every word of every document of some rows, sorted by word and, within it, best first.

    Attributes:
        words: Numbers of words, ascending.
        packed: Postings as the product packs them.
    """

    words: Integers
    packed: Integers

    @cached_property
    def impacts(self) -> NDArray[np.float32]:
        """What each can add to a score; see `hermes_memory.domain.postings.impact`."""
        return _impacts(self.packed)

    def blocks(self) -> Iterator[tuple[int, float, list[int]]]:
        """Give word, best impact and postings of each block."""
        starts = np.flatnonzero(np.r_[True, self.words[1:] != self.words[:-1]])
        ends = np.r_[starts[1:], len(self.words)]
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
            for at in range(start, end, BLOCK_POSTINGS):
                packed = self.packed[at : min(at + BLOCK_POSTINGS, end)].tolist()
                yield int(self.words[start]), float(self.impacts[at]), packed

    def of(self, word: int) -> Integers:
        """Return the postings of a word."""
        first, last = np.searchsorted(self.words, [word, word + 1])
        return self.packed[first:last]


@dataclass(frozen=True, kw_only=True)
class Theme:
    """The rows of a theme: `tokens` of all documents one after the other, each beginning at its offset."""

    name: str
    share: float
    first_session: int
    tokens: Integers
    offsets: Integers

    @property
    def rows(self) -> int:
        """Number of documents."""
        return len(self.offsets) - 1

    @cached_property
    def keys(self) -> Integers:
        """The keys of the documents in the text index."""
        number = np.arange(self.rows)
        return ((self.first_session + number // SESSION) << 16) | (number % SESSION)

    def document(self, number: int) -> Integers:
        """Return the words of a document."""
        return self.tokens[self.offsets[number] : self.offsets[number + 1]]

    def postings(self, first: int = 0, last: int | None = None) -> Postings:
        """Index the documents from one to another."""
        last = self.rows if last is None else last
        lengths = np.diff(self.offsets[first : last + 1])
        documents = np.repeat(np.arange(first, last), lengths)
        tokens = self.tokens[self.offsets[first] : self.offsets[last]]
        pairs, counts = np.unique((tokens << 32) | documents, return_counts=True)
        words, documents = pairs >> 32, pairs & 0xFFFFFFFF
        lengths = np.minimum(lengths, 4_095)[documents - first]
        packed = (self.keys[documents] << 16) | (np.minimum(counts, 15) << 12) | lengths
        order = np.lexsort((-packed, -_impacts(packed), words))
        return Postings(words=words[order], packed=packed[order])

    def questions(self, chance: np.random.Generator, number: int) -> list[list[int]]:
        """Make questions of three to seven words that one document holds, none of them a stop word."""
        asked: list[list[int]] = []
        while len(asked) < number:
            words = np.unique(self.document(int(chance.integers(self.rows))))
            telling = words[words >= STOP_WORDS]
            if len(telling) >= 3:
                size = min(len(telling), int(chance.integers(3, 8)))
                asked.append([int(word) for word in chance.choice(telling, size, replace=False)])
        return asked


@dataclass(frozen=True, kw_only=True)
class Exact:
    """Exact BM25 over a theme."""

    postings: Postings
    documents: int
    mean_length: float

    def scores(self, question: list[int]) -> dict[int, float]:
        """Score every document that holds a word of the question, by key."""
        keys, parts = [], []
        for word in question:
            packed = self.postings.of(word)
            tf, length = ((packed >> 12) & 15).astype(float), (packed & 4_095).astype(float)
            idf = np.log(1 + (max(self.documents, FEWEST_DOCUMENTS) - len(packed) + 0.5) / (len(packed) + 0.5))
            keys.append(packed >> 16)
            parts.append(idf * tf * (K1 + 1) / (tf + K1 * (1 - B + B * length / self.mean_length)))
        found, where = np.unique(np.concatenate(keys), return_inverse=True)
        return dict(zip(found.tolist(), np.bincount(where, np.concatenate(parts)).tolist(), strict=True))


def exact(theme: Theme, postings: Postings) -> Exact:
    """Prepare exact BM25 of a theme."""
    lengths = np.minimum(np.diff(theme.offsets), 4_095)
    return Exact(postings=postings, documents=theme.rows, mean_length=float(lengths.mean()))


def overlap(found: list[int], scores: dict[int, float], depth: int = 10) -> float:
    """Return the share of the best `depth` found that belongs to the exact best; equal scores are as good."""
    best = sorted(scores.values(), reverse=True)[:depth]
    if not best:
        return 1.0
    return sum(scores.get(key, 0.0) >= best[-1] - 1e-6 for key in found[: len(best)]) / len(best)


def word(number: int) -> str:
    """Return the lexeme of a word."""
    return f"s{number}" if number < STOP_WORDS else f"w{number}"


def themes(rows: int, seed: int = 4) -> Iterator[Theme]:
    """Make the themes of a corpus of so many rows, the measured ones first."""
    chance = np.random.default_rng(seed)
    topics = chance.choice(CONTENT_WORDS, (TOPICS, TOPIC_WORDS), p=_zipf(CONTENT_WORDS, 300.0)) + STOP_WORDS
    sizes = [(f"share{share:g}", share, max(1, round(rows * share))) for share in SHARES]
    small, left = max(20, round(rows * SMALL)), rows - sum(size for _, _, size in sizes)
    sizes += [(f"small{at}", SMALL, min(small, left - at)) for at in range(0, left, small)]
    session = 1
    for name, share, size in sizes:
        yield _theme(chance, topics, name=name, share=share, rows=size, first_session=session)
        session += -(-size // SESSION)


def _theme(chance: np.random.Generator, topics: Integers, **facts: Any) -> Theme:
    rows = facts.pop("rows")
    lengths = np.clip(chance.lognormal(np.log(MEAN_LENGTH), 0.55, rows), 4, 400).astype(np.int64)
    offsets = np.r_[0, np.cumsum(lengths)]
    total = int(offsets[-1])
    of_session = chance.integers(TOPICS, size=-(-rows // SESSION))
    topic = np.repeat(of_session[np.arange(rows) // SESSION], lengths)
    sorts = chance.random(total)
    tokens = chance.choice(STOP_WORDS, total, p=_zipf(STOP_WORDS, 2.0)).astype(np.int64)
    for sort, values in (
        (sorts >= 0.42, chance.choice(CONTENT_WORDS, total, p=_zipf(CONTENT_WORDS, 10.0)) + STOP_WORDS),
        (sorts >= 0.70, topics[topic, chance.integers(TOPIC_WORDS, size=total)]),
        (sorts >= 0.88, chance.integers(RARE_WORDS, size=total) + STOP_WORDS + CONTENT_WORDS),
    ):
        tokens = np.where(sort, values, tokens)
    return Theme(tokens=tokens, offsets=offsets, **facts)


def _zipf(number: int, shift: float) -> Floats:
    """Return the probabilities of Zipf and Mandelbrot: 1 / (rank + shift)."""
    weights = 1.0 / (np.arange(number, dtype=np.float64) + shift)
    return np.asarray(weights / weights.sum(), dtype=np.float64)


def _impacts(packed: Integers) -> NDArray[np.float32]:
    tf = ((packed >> 12) & 15).astype(np.float64)
    return (tf * 1.9 / (tf + 0.54 + 0.012 * (packed & 4_095))).astype(np.float32)
