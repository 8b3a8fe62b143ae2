"""How much of a question's words a row holds, by itself and together with what was said around it.

A question is seldom answered in one message: "When did you move to Lyon?" is followed by "Two years ago, in May". So
each word counts once, by what it tells (its idf), however often it is said, and a turn takes those that it lacks from
the turns around it and from its session. Adding up the scores of the neighbours instead would let surroundings that
repeat one word stand above those that hold them all.

That sentences are found better by their local context is shown by Fernández, Losada and Azzopardi, "Extending the
language modeling framework for sentence retrieval to include local context" (2011).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from hermes_memory.domain.bm25 import K1, QueryStatistics, text_score

Place: TypeAlias = tuple[int, int]
"""Number of a session, and a position in it."""


class Found(NamedTuple):
    """What the text leg says of one row.

    Attributes:
        bm25: Its raw score; None when it holds no word of the question.
        held: Which of the question's lexemes it holds: bit i stands for the i-th. 0 when that is not known.
        place: Where it was said; None for what was not said in a session.
    """

    bm25: float | None
    held: int
    place: Place | None


class Covered(NamedTuple):
    """What a row holds of the question's words, each number from 0 to 1: a share of the sum of their idf.

    Attributes:
        own: By itself.
        around: Together with the turns beside it, whose words count for less.
        session: What all found turns of its session hold together. A row without a session is its own.
    """

    own: float
    around: float
    session: float


class _Words(NamedTuple):
    """The words that a row holds, and what each of them counts in it, 0 to 1."""

    held: int
    strength: float


def coverage(found: Sequence[Found], statistics: QueryStatistics, beside: Mapping[int, float]) -> list[Covered]:
    """Return what each row holds, in the same order.

    A word counts in full in a text of average length or less, and for less in a longer one, as in BM25.

    Args:
        found: The rows, no two of them at the same place.
        statistics: The question, and the texts searched in.
        beside: What words count that were said so many turns away, 0 to 1: -1 is the turn before.
    """
    best = statistics.best_bm25
    shares = _Shares(statistics)
    said: defaultdict[int, dict[int, _Words]] = defaultdict(dict)
    scored: list[tuple[Place | None, int, float]] = []
    for bm25, held, place in found:
        own = text_score(bm25, best)
        share = shares[held] if own > 0 else 0.0
        # Of a row whose words are not known one by one there is the score alone.
        if share:
            # A word held once by a text of average length has the (K1 + 1)th part of what endless repetition gives it.
            strength = min(own * (K1 + 1) / share, 1.0)
            own = strength * share
            if place is not None:
                said[place[0]][place[1]] = _Words(held, strength)
        scored.append((place, held if share else 0, own))
    surroundings = _Surroundings(said, shares, beside)
    return [
        Covered(own, own, own) if place is None else surroundings.covered(place, held, own)
        for place, held, own in scored
    ]


def mask_of(held: Iterable[bool]) -> int:
    """Return which lexemes are held as bits, the first being the lowest.

    Example:
        >>> mask_of([True, False, True])
        5
    """
    return sum(1 << index for index, one in enumerate(held) if one)


class _Shares(dict[int, float]):
    """The share of the words of a mask in the sum of the idf of all, summed up once for each mask."""

    def __init__(self, statistics: QueryStatistics) -> None:
        super().__init__()
        weights = [statistics.idf(lexeme) for lexeme in statistics.lexemes]
        total = sum(weights)
        self._single = [weight / total for weight in weights]

    def __missing__(self, mask: int) -> float:
        share = self[mask] = min(sum(one for index, one in enumerate(self._single) if mask >> index & 1), 1.0)
        return share


class _Surroundings:
    """What was said in the sessions that were found: words by session and position."""

    def __init__(self, said: Mapping[int, Mapping[int, _Words]], shares: _Shares, beside: Mapping[int, float]) -> None:
        self._said = said
        self._shares = shares
        self._nearest = sorted(beside.items(), key=lambda step: -step[1])
        self._sessions = {number: self._together(turns.values()) for number, turns in said.items()}

    def covered(self, place: Place, held: int, own: float) -> Covered:
        """Return what a turn holds by itself, with the turns beside it, and in its session."""
        number, position = place
        turns = self._said.get(number)
        if turns is None:
            return Covered(own, own, own)
        around, session = own, self._sessions[number]
        if len(turns) > 1 or position not in turns:
            around = min(own + self._lacking(held, position, turns), 1.0)
        return Covered(own, around, max(own, session))

    def _lacking(self, held: int, position: int, turns: Mapping[int, _Words]) -> float:
        """Return what the turns beside one add: each word once, from where it counts most."""
        added = 0.0
        for step, share in self._nearest:
            beside = turns.get(position + step)
            if beside is not None and (new := beside.held & ~held):
                added += share * beside.strength * self._shares[new]
                held |= new
        return added

    def _together(self, turns: Collection[_Words]) -> float:
        held, share = 0, 0.0
        for words in turns if len(turns) == 1 else sorted(turns, key=lambda words: -words.strength):
            if new := words.held & ~held:
                share += words.strength * self._shares[new]
                held |= new
        return min(share, 1.0)
