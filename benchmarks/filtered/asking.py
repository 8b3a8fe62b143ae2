"""What is asked of the memory, and on whose behalf."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from benchmarks.filtered.truth import Nearest
from benchmarks.filtered.world import NAMED, OTHERS, SINK, Block, Part, Vectors, World, contact, deleted, theme_name
from hermes_memory.domain.model import AllScope, Caller, CurrentScope, Kind, Subject, SubjectScope, Theme
from hermes_memory.ports.reading import SearchSpace

TURNS = frozenset({Kind.TURN})
DEPTH = 100
"""Candidates that recall takes from the vector leg."""
SPARE = 3
"""The exact answer is kept so many times as deep, for what is left of it after deletions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """Questions to one place: the first half near to what is there, the second half far from it.

    Attributes:
        peer_theme: Where the peer is asked, None for all its themes but the sinks; see `peer_can`.
        peer_can: Whether the peer knows of such a place.
        covers: Tells the parts that may be found.
        before: The exact answers over everything that was loaded.
        after: Those after rows were deleted and added.
    """

    name: str
    caller: Caller
    space: SearchSpace
    questions: Vectors
    covers: Callable[[Part], bool]
    before: Nearest
    after: Nearest
    peer_theme: str | None = None
    peer_can: bool = True

    def see(self, block: Block, gone: float) -> None:
        """Take in loaded rows, of which a share will be deleted."""
        if self.covers(block.part):
            stay = ~deleted(block.keys, gone)
            self.before.see(block.keys, block.vectors)
            self.after.see(block.keys[stay], block.vectors[stay])

    def see_more(self, block: Block) -> None:
        """Take in rows that are added later."""
        if self.covers(block.part):
            self.after.see(block.keys, block.vectors)


def everything(world: World, questions: int) -> list[Asked]:
    """Return all that is asked: so many near questions to each place, and as many far ones."""
    return [*_themes(world, questions), _all_themes(world, questions), *_contacts(world, questions)]


def _themes(world: World, count: int) -> Iterator[Asked]:
    for topics, share in enumerate(NAMED):
        theme = theme_name(share)
        yield _asked(
            f"theme of {share}",
            Caller(theme=Theme(theme)),
            SearchSpace(scope=CurrentScope(), kinds=TURNS),
            np.vstack([world.near(topics, count), world.far(topics, count)]),
            _of_theme(theme),
            peer_theme=theme,
        )


def _of_theme(theme: str) -> Callable[[Part], bool]:
    return lambda part: part.theme == theme and not part.subject


def _all_themes(world: World, count: int) -> Asked:
    """Ask about what the biggest theme speaks of, and about what it does not."""
    return _asked(
        "all themes",
        Caller(theme=Theme(theme_name("1 %"))),
        SearchSpace(scope=AllScope(), kinds=TURNS),
        np.vstack([world.near(0, count), world.far(0, count)]),
        lambda part: not part.subject,
    )


def _contacts(world: World, count: int) -> Iterator[Asked]:
    """Ask on behalf of the contact with the most rows: within the sink it talks in, and for all that is its own."""
    topics = len(NAMED) + OTHERS
    me = Caller(theme=Theme(SINK), subject=Subject(contact(0)))
    questions = np.vstack([world.near(topics, count), world.far(topics, count)])
    yield _asked(
        "a contact, where it talks",
        me,
        SearchSpace(scope=CurrentScope(), kinds=TURNS),
        questions,
        lambda part: part.theme == SINK and part.subject == contact(0),
        peer_can=False,
    )
    yield _asked(
        "a contact, everywhere",
        me,
        SearchSpace(scope=SubjectScope(), kinds=TURNS),
        questions,
        lambda part: part.subject == contact(0),
        peer_can=False,
    )


def _asked(
    name: str,
    caller: Caller,
    space: SearchSpace,
    questions: Vectors,
    covers: Callable[[Part], bool],
    *,
    peer_theme: str | None = None,
    peer_can: bool = True,
) -> Asked:
    return Asked(
        name=name,
        caller=caller,
        space=space,
        questions=questions,
        covers=covers,
        before=Nearest(questions, DEPTH * SPARE),
        after=Nearest(questions, DEPTH * SPARE),
        peer_theme=peer_theme,
        peer_can=peer_can,
    )
