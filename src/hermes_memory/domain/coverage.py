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
from operator import itemgetter
from typing import Final, NamedTuple, TypeAlias

from hermes_memory.domain.bm25 import K1, QueryStatistics, text_score

Place: TypeAlias = tuple[int, int]
"""Number of a session, and a position in it."""


Found: TypeAlias = tuple[float | None, int, Place | None]
"""What the text leg says of one row.

Its raw BM25 score, None when it holds no word of the question; which of the question's lexemes it holds, bit i standing
for the i-th, 0 when that is not known; where it was said, None for what was not said in a session.
"""


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


_Words: TypeAlias = tuple[int, float]
"""The words that a row holds, and what each of them counts in it, 0 to 1."""


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
    owns: list[float] = []
    for bm25, held, place in found:
        own = text_score(bm25, best)
        # Of a row whose words are not known one by one there is the score alone.
        if own > 0 and (share := shares[held]):
            # A word held once by a text of average length has the (K1 + 1)th part of what endless repetition gives it.
            strength = own * (K1 + 1) / share
            if strength > 1:
                strength = 1.0
            own = strength * share
            if place is not None:
                said[place[0]][place[1]] = (held, strength)
        owns.append(own)
    surroundings = _Surroundings(said, shares, beside)
    return [
        Covered(own, own, own) if place is None else surroundings.covered(place, own)
        for (_, _, place), own in zip(found, owns, strict=True)
    ]


_NO_WORDS: Final[_Words] = (0, 0.0)


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
        weights = statistics.weights.values()
        total = sum(weights)
        self._single = {1 << index: weight / total for index, weight in enumerate(weights)}
        self[0] = 0.0

    def __missing__(self, mask: int) -> float:
        others = mask & (mask - 1)  # all but the lowest bit
        share = self[mask] = min(self[others] + self._single.get(mask ^ others, 0.0), 1.0)
        return share


class _Surroundings:
    """What was said in the sessions that were found: words by session and position."""

    def __init__(self, said: Mapping[int, Mapping[int, _Words]], shares: _Shares, beside: Mapping[int, float]) -> None:
        self._said = said
        self._shares = shares
        self._nearest = sorted(beside.items(), key=lambda step: -step[1])
        self._sessions: dict[int, float] = {}

    def covered(self, place: Place, own: float) -> Covered:
        """Return what a turn holds by itself, with the turns beside it, and in its session."""
        number, position = place
        turns = self._said.get(number)
        if turns is None or (len(turns) == 1 and position in turns):  # nobody else has said a word of the question
            return Covered(own, own, own)
        session = self._sessions.get(number)
        if session is None:
            session = self._sessions[number] = self._together(turns.values())
        return Covered(own, min(own + self._lacking(position, turns), 1.0), max(own, session))

    def _lacking(self, position: int, turns: Mapping[int, _Words]) -> float:
        """Return what the turns beside one add: each word once, from where it counts most."""
        held, _ = turns.get(position, _NO_WORDS)
        added = 0.0
        for step, share in self._nearest:
            beside = turns.get(position + step)
            if beside is not None and (new := beside[0] & ~held):
                added += share * beside[1] * self._shares[new]
                held |= new
        return added

    def _together(self, turns: Collection[_Words]) -> float:
        held, share = 0, 0.0
        for words, strength in sorted(turns, key=itemgetter(1), reverse=True):
            if new := words & ~held:
                share += strength * self._shares[new]
                held |= new
        return min(share, 1.0)
