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
from collections.abc import Iterable, Mapping, Sequence
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
    scored: list[tuple[Found, _Words, float]] = []
    for one in found:
        score = text_score(one.bm25, best)
        words = _words(one, score, shares)
        # Of a row whose words are not known one by one there is the score alone.
        scored.append((one, words, words.strength * shares[words.held] if words.held else score))
        if words.held and one.place is not None:
            said[one.place[0]][one.place[1]] = words
    sessions = {number: _together(turns.values(), shares) for number, turns in said.items()}
    nearest = sorted(beside.items(), key=lambda step: -step[1])
    covered = []
    for one, words, own in scored:
        if one.place is None:
            covered.append(Covered(own, own, own))
            continue
        number, position = one.place
        around = own + _lacking(words.held, position, said.get(number, {}), nearest, shares)
        covered.append(Covered(own, min(around, 1.0), max(own, sessions.get(number, 0.0))))
    return covered


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


def _words(one: Found, score: float, shares: _Shares) -> _Words:
    share = shares[one.held] if score > 0 else 0.0
    # A word held once by a text of average length has the (K1 + 1)th part of what endless repetition gives it.
    return _Words(one.held, min(score * (K1 + 1) / share, 1.0)) if share else _Words(0, 0.0)


def _lacking(
    held: int, position: int, said: Mapping[int, _Words], nearest: Sequence[tuple[int, float]], shares: _Shares
) -> float:
    """Return what the turns beside one add: each word once, from where it counts most."""
    added = 0.0
    for step, share in nearest:
        beside = said.get(position + step)
        if beside is not None and (new := beside.held & ~held):
            added += share * beside.strength * shares[new]
            held |= new
    return added


def _together(turns: Iterable[_Words], shares: _Shares) -> float:
    held, share = 0, 0.0
    for words in sorted(turns, key=lambda words: -words.strength):
        if new := words.held & ~held:
            share += words.strength * shares[new]
            held |= new
    return min(share, 1.0)
