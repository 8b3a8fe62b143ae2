"""Embedding generations: how things stand with each, and how one takes the place of another while agents work."""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple, Protocol

from hermes_memory.domain.model import Kind, RowId, Theme


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationStanding:
    """How things stand with one embedding generation. Numbers alone, over all themes.

    Attributes:
        generation: Its number, from 1; given once.
        part_tokens: The longest parts that texts are cut into for it; None leaves it to each who embeds.
        active: Whether it is the one in use.
        fed: Whether rows that are stored wait for a vector of it.
        measured: Whether its cosine levels are known.
        embeddable: Rows that are to have a vector.
        embedded: Rows that have one of this generation.
        waiting: Rows that wait for one.
        parked: Rows that the embedder refuses.
        bytes: What its vectors and their index take.
        activated_at: When it was last taken into use, None when it never was.
    """

    generation: int
    model: str
    dimension: int
    part_tokens: int | None
    active: bool
    fed: bool
    measured: bool
    embeddable: int
    embedded: int
    waiting: int
    parked: int
    bytes: int
    activated_at: datetime | None

    @property
    def coverage(self) -> float:
        """Share of the embeddable rows that have a vector, 0 to 1; 1 where there are none."""
        return min(self.embedded / self.embeddable, 1.0) if self.embeddable else 1.0

    @property
    def term(self) -> tuple[int, datetime | None]:
        """What tells one time of being in use from all others, of this generation and of any."""
        return self.generation, self.activated_at


class WaitingRow(NamedTuple):
    """A row that waits for its vector, with the content that it waits with."""

    theme: Theme
    row: RowId
    content_hash: bytes


class Generations(Protocol):
    """Acts of an operator on embedding generations, with the owner's rights. One call at a time.

    Raises (all methods): StoreUnavailable, SchemaNotApplied, ConfigurationError when the login may not act as owner.
    """

    def alone(self, waits: Callable[[], object] = ...) -> AbstractAsyncContextManager[None]:
        """Keep other operators from preparing, indexing, switching and dropping meanwhile; wait for one who does.

        Args:
            waits: Told once that there is one to wait for.
        """
        ...

    async def standing(self) -> Collection[GenerationStanding]:
        """Return how things stand with each generation, in their order."""
        ...

    async def moment(self) -> datetime:
        """Return the time by the clock that tells when a generation was taken into use."""
        ...

    async def made(self) -> int:
        """Return how many there have been until now, which is the highest number that was given."""
        ...

    async def kept(self, generation: int) -> bool:
        """Tell whether a generation is still there, and nobody has begun to drop it."""
        ...

    async def register(self, model: str, dimension: int, part_tokens: int) -> int:
        """Make a generation, unless there is one just like it, and return its number.

        Every row that is stored from then on waits for a vector of it. Writers wait for some milliseconds.
        """
        ...

    async def queue_rows(self, generation: int, kind: Kind, seen: Callable[[int], object]) -> int:
        """Let all rows of a kind wait that have neither a vector nor a job; return how many these were.

        Args:
            seen: Told now and then how many wait that did not before.
        """
        ...

    async def waiting(self, generation: int, among: Collection[WaitingRow] | None = None) -> Collection[WaitingRow]:
        """Return rows that wait, or which of those named still do with that content."""
        ...

    async def index(self, generation: int, made: Callable[[int, int], object]) -> None:
        """Make the generation's index, or what is missing of it, while others read and write.

        Args:
            made: Told how many of how many parts there are.
        """
        ...

    async def switch(self, generation: int) -> int | None:
        """Use a generation that is filled, indexed and measured from now on; return the one before. Noted for good.

        Raises:
            InvalidInput: There is none of this number that is fit to be used. Nothing was changed.
        """
        ...

    async def drop(self, generation: int) -> None:
        """Remove a generation that is not in use, with its vectors and jobs. Noted for good.

        Raises:
            InvalidInput: There is none of this number, or it is in use. Nothing was changed.
            StoreBusy: Others hold on to its vectors, such as a dump.
        """
        ...
