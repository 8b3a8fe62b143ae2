"""An embedder without a model: hashed words and letter sequences."""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from typing import Final

_WORD: Final = re.compile(r"\w+")
_GRAM: Final = 3
"""Letters of a sequence; longer ones miss more inflections, shorter ones are in every text."""
_GRAM_WEIGHT: Final = 0.5
_NOTHING: Final = "\0nothing"
"""Stands for a text without a word, so that its vector is not all zero."""


class HashingEmbedder:
    """Feature hashing (Weinberger et al., 2009) of words and letter trigrams into a vector of unit length.

    Implements `hermes_memory.ports.embedding.Embedder`. Texts that share words or stems come out near each other,
    others nearly orthogonal; meaning is not understood. Equal on every machine and in every process. Needs no
    model, no network and no thread, answers at once, and never fails.

    Args:
        dimension: Length of the vectors, from 1 to 4,000. Fewer make more features collide.
    """

    def __init__(self, dimension: int = 256) -> None:
        self._dimension = dimension

    @property
    def model(self) -> str:
        """`hashing-` and the dimension."""
        return f"hashing-{self._dimension}"

    @property
    def dimension(self) -> int:
        """Length of every vector."""
        return self._dimension

    async def embed_query(self, text: str, *, timeout: float) -> list[float]:
        """Embed a question, at once."""
        return hashed_vector(text, self._dimension)

    async def embed_documents(
        self,
        texts: Sequence[str],
        *,
        timeout: float,
    ) -> list[list[float]]:
        """Embed texts in their order, at once."""
        return [hashed_vector(text, self._dimension) for text in texts]

    async def aclose(self) -> None:
        """Do nothing: there is nothing to let go of."""


def hashed_vector(text: str, dimension: int) -> list[float]:
    """Return the unit vector of a text's hashed features.

    >>> round(sum(number * number for number in hashed_vector("Launch on 3 May", 64)), 6)
    1.0
    """
    vector = [0.0] * dimension
    for feature, weight in _weights(text).items():
        place, sign = _slot(feature, dimension)
        vector[place] += sign * weight
    length = math.hypot(*vector)
    if length == 0.0:  # every feature met another of the opposite sign
        vector[_slot(_NOTHING, dimension)[0]] = length = 1.0
    return [number / length for number in vector]


def _weights(text: str) -> dict[str, float]:
    """Weigh features by the square root of their count: a word said ten times is not ten times the topic."""
    words = Counter(_WORD.findall(unicodedata.normalize("NFKC", text).casefold()))
    grams: Counter[str] = Counter()
    for word, count in words.items():
        for gram in _grams(word):
            grams[gram] += count
    weights = {word: math.sqrt(count) for word, count in words.items()}
    weights |= {gram: _GRAM_WEIGHT * math.sqrt(count) for gram, count in grams.items()}
    return weights or {_NOTHING: 1.0}


def _grams(word: str) -> Iterator[str]:
    """Yield the letter sequences of a word with its borders marked; a CJK run is cut into its pairs as well."""
    marked = f"<{word}>"
    for start in range(len(marked) - _GRAM + 1):
        yield marked[start : start + _GRAM]
    if not word.isascii():
        for start in range(len(word) - 1):
            yield word[start : start + 2] + "="


def _slot(feature: str, dimension: int) -> tuple[int, float]:
    digest = int.from_bytes(blake2b(feature.encode("utf-8", "replace"), digest_size=8).digest(), "big")
    return (digest >> 1) % dimension, 1.0 if digest & 1 else -1.0
