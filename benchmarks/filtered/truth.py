"""What an exact search would find, and how much of it a search has found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from benchmarks.filtered.world import Keys, Vectors

ABSENT: Final = -1


class Nearest:
    """Collects the nearest rows of each question while rows go by.

    Args:
        questions: Unit vectors, `(q, dimension)`.
        depth: How many rows to keep of each.
    """

    def __init__(self, questions: Vectors, depth: int) -> None:
        self._questions = questions
        self._depth = depth
        self._cosines = np.full((len(questions), depth), -np.inf, dtype=np.float32)
        self._keys = np.full((len(questions), depth), ABSENT, dtype=np.int64)
        self.seen = 0
        """Rows that went by."""

    def see(self, keys: Keys, vectors: Vectors) -> None:
        """Take in some rows."""
        self.seen += len(keys)
        cosines = self._questions @ vectors.T
        if len(keys) > self._depth:
            best = np.argpartition(-cosines, self._depth - 1, axis=1)[:, : self._depth]
            cosines, found = np.take_along_axis(cosines, best, axis=1), keys[best]
        else:
            found = np.broadcast_to(keys, cosines.shape)
        cosines, found = np.hstack([self._cosines, cosines]), np.hstack([self._keys, found])
        order = np.argsort(-cosines, axis=1, kind="stable")[:, : self._depth]
        self._cosines, self._keys = (
            np.take_along_axis(cosines, order, axis=1),
            np.take_along_axis(found, order, axis=1),
        )

    def keys(self, question: int) -> list[int]:
        """Return the keys of a question's nearest rows, nearest first: as many as there are, up to the depth."""
        return [int(key) for key in self._keys[question] if key != ABSENT]


def recall(found: Sequence[int], truth: Sequence[int], depth: int) -> float:
    """Return the share of the `depth` nearest rows, or of all if they are fewer, among as many found ones."""
    wanted = set(truth[:depth])
    return len(wanted.intersection(found[:depth])) / len(wanted) if wanted else 1.0
