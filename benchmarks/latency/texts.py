"""What is remembered and asked: sentences of the recall corpus, each with words and a number of its own.

A row's vector is that of its sentence, turned a little away in a direction that its words decide, so that a hundred
thousand rows need not be embedded to measure how they are found.
"""

from __future__ import annotations

import random
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from benchmarks.recall.corpus import themes

WORDS: Final = 20_000
WORDS_A_ROW: Final = 8
ENTRY_EVERY: Final = 20
"""One row in so many is an entry, the others are turns."""
TURNS_A_SESSION: Final = 20
TURNED: Final = 0.5
"""Length of what is added to a sentence's unit vector."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """A row to store; an entry has no session."""

    content: str
    sentence: int
    session: str | None


class Corpus:
    """Sentences and questions in six languages."""

    def __init__(self) -> None:
        """Read them."""
        read = list(themes())
        self.sentences = [memory.text for theme in read for memory in theme.memories]
        self.questions = [question.text for theme in read for question in theme.questions]

    def rows(self, count: int) -> Iterator[Text]:
        """Make rows, the same ones for the same count."""
        chance = random.Random(count)
        weights = [1 / (rank + 1) for rank in range(WORDS)]
        drawn = iter(chance.choices(range(WORDS), weights, k=count * WORDS_A_ROW))
        for number in range(count):
            sentence = chance.randrange(len(self.sentences))
            words = " ".join(f"w{next(drawn)}x" for _ in range(WORDS_A_ROW))
            session = None if number % ENTRY_EVERY == 0 else f"session {number // TURNS_A_SESSION}"
            content = f"{self.sentences[sentence]} [{words}] N{number:07d}"
            yield Text(content=content, sentence=sentence, session=session)

    def asked(self, count: int, seed: int) -> list[str]:
        """Return questions, no two alike: a question of the corpus, and a word that some rows hold."""
        chance = random.Random(seed)
        return [f"{chance.choice(self.questions)} w{chance.randrange(50, 2_000)}x {seed}-{n}" for n in range(count)]


class Vectors:
    """Vectors of rows, from those of the sentences.

    Args:
        sentences: Their unit vectors, in order.
    """

    def __init__(self, sentences: Sequence[Sequence[float]]) -> None:
        self._sentences: npt.NDArray[np.float32] = np.asarray(sentences, dtype=np.float32)

    def of(self, text: Text) -> list[float]:
        """Return the unit vector of a row."""
        chance = np.random.default_rng(zlib.crc32(text.content.encode()))
        dimension = self._sentences.shape[1]
        aside = chance.standard_normal(dimension, dtype=np.float32) * np.float32(TURNED / np.sqrt(dimension))
        vector = self._sentences[text.sentence] + aside
        made: list[float] = (vector / np.linalg.norm(vector)).tolist()
        return made


def by_content(rows: Sequence[Text]) -> Mapping[str, Text]:
    """Return the rows by what they say."""
    return {row.content: row for row in rows}
