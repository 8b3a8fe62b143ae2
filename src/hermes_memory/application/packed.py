"""Answers in the form in which they are remembered: columns of numbers, which nobody has to look through.

An answer has some hundreds of candidates, and hundreds of answers are remembered. As objects they take tens of
megabytes, and the garbage collector goes through all of them whenever it looks at everything; as bytes they take a
tenth of it, and it goes past them. They are made into objects again when somebody asks for an explanation.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice, repeat
from typing import Final
from uuid import UUID

from hermes_memory.application.answers import Fate, Placed, Trace
from hermes_memory.domain.fusion import Ranked
from hermes_memory.domain.model import RowId

_ID_BYTES: Final = 16
_FLOATS: Final = "d"


class PackedScores:
    """A number for each of some rows, in their order."""

    __slots__ = ("_ids", "_scores")

    def __init__(self, rows: Iterable[RowId], scores: Iterable[float]) -> None:
        self._ids = _packed(rows)
        self._scores = array(_FLOATS, scores)

    def unpacked(self) -> dict[RowId, float]:
        """Return the numbers by row."""
        return dict(zip(_unpacked(self._ids), self._scores, strict=True))


@dataclass(frozen=True, slots=True)
class PackedPlaces:
    """What became of each candidate, without any content.

    Attributes:
        fates: In the order of the candidates.
    """

    fates: tuple[Fate, ...]
    _ids: bytes
    _scores: array[float]
    _decays: array[float]
    _names: Sequence[tuple[str, ...]]
    _parts: array[float]
    _linked: Mapping[int, tuple[Sequence[RowId], RowId | None]]

    @classmethod
    def of(cls, ranked: Sequence[Ranked], fates: Sequence[Fate], withheld: Sequence[RowId] = ()) -> PackedPlaces:
        """Pack candidates in their final order with their fates, and after them those that were not ranked."""
        parts = [one.parts for one in ranked]
        known: dict[tuple[str, ...], tuple[str, ...]] = {}  # there are few combinations of them
        return cls(
            (*fates, *repeat(Fate.UNASKED, len(withheld))),
            _packed([*[one.row.id for one in ranked], *withheld]),
            array(_FLOATS, [one.score for one in ranked]),
            array(_FLOATS, [one.decay for one in ranked]),
            [known.setdefault(names, names) for names in map(tuple, parts)],
            array(_FLOATS, chain.from_iterable([named.values() for named in parts])),
            {
                index: (one.collapsed, one.superseded_by)
                for index, one in enumerate(ranked)
                if one.collapsed or one.superseded_by is not None
            },
        )

    def unpacked(self) -> Iterator[Placed]:
        """Yield the candidates in their order."""
        rows, fates, parts = _unpacked(self._ids), iter(self.fates), iter(self._parts)
        for index, (score, decay, names) in enumerate(zip(self._scores, self._decays, self._names, strict=True)):
            collapsed, superseded_by = self._linked.get(index, ((), None))
            named = dict(zip(names, islice(parts, len(names)), strict=True))
            yield Placed(next(rows), score, named, decay, collapsed, superseded_by, next(fates))
        for row, fate in zip(rows, fates, strict=True):
            yield Placed(row, 0.0, {}, 1.0, (), None, fate)


@dataclass(frozen=True, slots=True, kw_only=True)
class PackedTrace:
    """A trace whose legs, vector and candidates are packed.

    Attributes:
        head: The trace without them.
    """

    head: Trace
    text: PackedScores | None
    near: PackedScores | None
    cosines: PackedScores
    placed: PackedPlaces

    def unpacked(self) -> Trace:
        """Return the trace with all that belongs to it."""
        return replace(
            self.head,
            text=None if self.text is None else self.text.unpacked(),
            near=None if self.near is None else self.near.unpacked(),
            cosines=self.cosines.unpacked(),
            placed=tuple(self.placed.unpacked()),
        )


def _packed(rows: Iterable[RowId]) -> bytes:
    return b"".join([row.bytes for row in rows])


def _unpacked(ids: bytes) -> Iterator[RowId]:
    for start in range(0, len(ids), _ID_BYTES):
        yield RowId(UUID(bytes=ids[start : start + _ID_BYTES]))
