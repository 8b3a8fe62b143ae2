"""The checks every answer of an embedder passes before the store sees it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from hermes_memory.domain.errors import EmbeddingRejected

_NUMBERS: Final = frozenset({float, int})


def checked_vectors(answer: object, *, count: int, dimension: int) -> list[list[float]]:
    """Return `count` vectors of unit length, each `dimension` long.

    Endpoints differ in whether they normalise. Unit length leaves the cosine as it is and keeps every component
    within what a half-precision column can hold.

    Args:
        answer: What the endpoint sent where a list of vectors belongs; nothing about it is taken for granted.
        count: How many texts were sent.
        dimension: How long a vector must be.

    Raises:
        EmbeddingRejected: Not a list of `count` lists of `dimension` finite numbers, or a vector is all zero.
    """
    if not isinstance(answer, list):
        raise EmbeddingRejected("the embedder did not answer with a list of vectors")
    if len(answer) != count:
        raise EmbeddingRejected(f"the embedder answered {count} texts with {len(answer)} vectors")
    return [_unit(_numbers(vector, dimension)) for vector in answer]


def _numbers(vector: object, dimension: int) -> Sequence[float]:
    if not isinstance(vector, list):
        raise EmbeddingRejected("the embedder answered with a vector that is not a list of numbers")
    if len(vector) != dimension:
        raise EmbeddingRejected(
            f"the embedder's vectors have {len(vector)} dimensions, {dimension} are configured: "
            "set the dimension the model really has, or the model that has this dimension"
        )
    # An exact type test, because True and False are integers to Python but not to any model.
    if not _NUMBERS.issuperset(map(type, vector)):
        raise EmbeddingRejected("the embedder answered with a vector that holds something else than numbers")
    return vector


def _unit(vector: Sequence[float]) -> list[float]:
    try:
        length = math.hypot(*vector)
    except OverflowError:  # an integer too large for a float
        length = math.inf
    if not math.isfinite(length):
        raise EmbeddingRejected("the embedder answered with a vector that is not finite")
    if length == 0.0:
        raise EmbeddingRejected("the embedder answered with a vector that is all zero")
    return [number / length for number in vector]
