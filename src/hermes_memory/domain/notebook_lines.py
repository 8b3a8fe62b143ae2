"""Whose the lines of a home's notebooks are: everybody's, or not.

A notebook does not say who wrote a line. So each is known by what is told of it, and by when it was there first: what
is there before somebody's session begins is everybody's, and so is what the host tells of without a person. What
somebody's session told of never is, whatever becomes of the memory of it. What nobody told of and came while such a
session was there may be somebody's, and is held to be.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

PRIVATE: Final = "-"
SHARED: Final = "+"
HELD: Final = "?"
"""It came while somebody's session was there, and nobody told whose it is."""
VISITED: Final = "*"
"""Somebody's session is there from now on."""
SETTLED: Final = "."
"""No such session is there any more, and all lines that came meanwhile are known."""


def spelling(line: str) -> str:
    r"""Return what lines have in common that say the same.

    >>> spelling("Prefers \n tea ") == spelling("prefers tea")
    True
    """
    return " ".join(line.split()).casefold()


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Whose the lines are that are there. Those that are in neither were told of as somebody's.

    Attributes:
        shared: They may be copied for everyone.
        held: They may be somebody's, or everybody's: nobody told of them.
        problem: Why it is not known now whose they are, and what mends it; None when it is. All of them are held then.
        passing: Some may be held only because another process was at it: it may be known in a moment.
    """

    shared: frozenset[str] = frozenset()
    held: frozenset[str] = frozenset()
    problem: str | None = None
    passing: bool = False

    @classmethod
    def of(cls, lines: Sequence[str], kinds: Sequence[str], *, passing: bool = False) -> Standing:
        """Part lines by what is known of each."""
        found = list(zip(lines, kinds, strict=True))
        return cls(
            shared=frozenset(line for line, kind in found if kind == SHARED),
            held=frozenset(line for line, kind in found if kind == HELD),
            passing=passing,
        )


class KnownLines:
    """What the records of one home, in their order, say of its lines. A line goes by a name that is no text of it."""

    def __init__(self) -> None:
        self._kinds: dict[str, str] = {}
        self._visited = False

    @property
    def visited(self) -> bool:
        """Whether somebody's session came of which nothing says that it left."""
        return self._visited

    def take(self, record: str) -> None:
        """Follow a record. One that makes no sense says nothing."""
        kind, name = record[:1], record[1:]
        if kind == PRIVATE and name:
            self._kinds[name] = PRIVATE
        elif kind in {SHARED, HELD} and name:
            self._kinds.setdefault(name, kind)
        elif record in {VISITED, SETTLED}:
            self._visited = record == VISITED

    def told(self, names: Iterable[str], *, private: bool) -> list[str]:
        """Return the records that say whose these lines are, without those that would say nothing new."""
        stay = {PRIVATE} if private else {PRIVATE, SHARED, HELD}
        kind = PRIVATE if private else SHARED
        return [kind + name for name in dict.fromkeys(names) if self._kinds.get(name) not in stay]

    def settled(self, names: Collection[str], *, whole: bool) -> list[str]:
        """Return the records that say of all lines that are there whose they are, once no such session is there.

        Args:
            names: The lines that are there.
            whole: These are all of them. Otherwise others may have come, too.
        """
        kind = HELD if self._visited else SHARED
        unknown = [kind + name for name in dict.fromkeys(names) if name not in self._kinds]
        return [*unknown, SETTLED] if self._visited and whole else unknown

    def kinds(self, names: Sequence[str], *, alone: bool) -> list[str]:
        """Tell of each line whether it may be copied for everyone, is somebody's, or is held to be.

        Args:
            names: The lines.
            alone: Nobody's session is there, nor was since all lines were known.
        """
        unknown = SHARED if alone else HELD
        return [self._kinds.get(name, unknown) for name in names]
