"""How much each signal counts in the score of a row, and what a cosine means."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import timedelta
from types import MappingProxyType
from typing import Any

from hermes_memory.domain.errors import InvalidInput


@dataclass(frozen=True, slots=True, kw_only=True)
class RankingWeights:
    """How much each signal counts. The words of a row, its meaning and what it gains add up; see `fuse_scores`.

    The defaults were chosen on two kinds of data together, and lie where small changes make no difference on either.

    Attributes:
        words: Of the question's words that a row holds, for a turn together with the turns beside it.
        session: Of those that all found turns of its session hold. An entry is its own session.
        before: What words count that the turn before said, as a share; of a row only what it lacks itself is taken.
        second_before: The same of the turn before that one.
        after: The same of the turn after.
        second_after: The same of the turn after that one.
        cosine: Of the calibrated cosine.
        near_cosine: Of the calibrated cosine of each of the four turns around.
        entry_cosine: What an entry gains by its cosine in place of the surroundings of a turn.
        answering: Of what the turn before has of its own, when that one only asks: an answer follows its question.

    The others are shares of what the best row has of its own, so that they never count for more than the answer does:

    Attributes:
        length: For a text of some forty words, and less for a shorter one, which says less.
        speaker: For a turn by a speaker whom the question names.
        time: For a text with a time in it, when the question asks when.
        number: For a text with a number in it, when the question asks how many.
        asking: What a row loses that only asks.
        half_life: Age at which a row's score is halved, or None for no decay.

    Raises:
        InvalidInput: A weight is negative or not finite, a share of neighbours is above 1, `words` and `session` are
            both 0, or the half-life is not positive.
    """

    words: float = 0.75
    session: float = 0.25
    before: float = 0.7
    second_before: float = 0.5
    after: float = 0.35
    second_after: float = 0.25
    cosine: float = 0.35
    near_cosine: float = 0.05
    entry_cosine: float = 0.4
    answering: float = 0.15
    length: float = 0.1
    speaker: float = 0.12
    time: float = 0.15
    number: float = 0.15
    asking: float = 0.2
    half_life: timedelta | None = None

    def __post_init__(self) -> None:
        weights = [getattr(self, field.name) for field in fields(self) if field.name != "half_life"]
        if not all(math.isfinite(weight) and weight >= 0 for weight in weights) or max(self.beside.values()) > 1:
            raise InvalidInput(
                "ranking weights are finite and not negative, and a neighbour counts 1 at most", field="weights"
            )
        if self.words + self.session <= 0:
            raise InvalidInput("words count for something", field="weights")
        if self.half_life is not None and self.half_life <= timedelta(0):
            raise InvalidInput("a half-life is longer than nothing: use None for no decay", field="half_life")

    @classmethod
    def named(cls, weights: Mapping[str, float], *, half_life: timedelta | None = None) -> RankingWeights:
        """Return the defaults with some weights in place of theirs, by name.

        Raises:
            InvalidInput: There is no weight of a name, or one makes no sense.
        """
        names = {field.name for field in fields(cls)} - {"half_life"}
        if unknown := sorted(weights.keys() - names):
            raise InvalidInput(
                f"there is no weight {unknown[0]!r}: there are {', '.join(sorted(names))}", field="weights"
            )
        values: dict[str, Any] = dict(weights)
        return cls(**values, half_life=half_life)

    @property
    def beside(self) -> Mapping[int, float]:
        """What words count that were said so many turns away."""
        return MappingProxyType({-1: self.before, -2: self.second_before, 1: self.after, 2: self.second_after})

    def ceiling(self, *, with_cosine: bool) -> float:
        """Return the highest sum of parts that any row can reach."""
        own = best_own(with_cosine=with_cosine)
        hints = own * (self.length + self.time + self.number)
        words = self.words + self.session
        entry = words + (self.cosine + self.entry_cosine if with_cosine else 0)
        meaning = self.cosine + 4 * self.near_cosine if with_cosine else 0
        turn = words + meaning + own * (self.answering + self.speaker)
        return max(entry, turn) + hints


def best_own(*, with_cosine: bool) -> float:
    """Return the most that a row can have of its own: all words of the question, and its meaning."""
    return 2.0 if with_cosine else 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CosineCalibration:
    """What a raw cosine of one embedder means: models differ in where unrelated and related texts lie.

    Attributes:
        unrelated: Cosine at and below which two texts have nothing to do with each other.
        related: Cosine at and above which one surely answers the other.

    Raises:
        InvalidInput: The two are not cosines in rising order.
    """

    unrelated: float
    related: float

    def __post_init__(self) -> None:
        if not -1 <= self.unrelated < self.related <= 1:
            raise InvalidInput("a calibration needs -1 <= unrelated < related <= 1", field="calibration")

    def __call__(self, cosine: float | None) -> float:
        """Map a cosine to [0, 1]; None and what is not a number become 0."""
        share = 0.0 if cosine is None else (cosine - self.unrelated) / (self.related - self.unrelated)
        if share > 0:  # as what is not a number is not
            return share if share < 1 else 1.0
        return 0.0
