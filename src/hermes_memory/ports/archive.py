"""Moving a whole memory: reading it out as it stood at one moment, and storing it as it was."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from hermes_memory.domain.archive import Archived, EmbeddingModel
from hermes_memory.domain.model import Theme


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """What became of records that were handed in; the four together are all of them.

    Attributes:
        new: Stored now.
        known: There before, with the same text.
        altered: There before under the same id, and changed since.
        missing: Places, from 0, of those that are not to be found afterwards.
    """

    new: Mapping[str, int] = field(default_factory=dict)
    known: int = 0
    altered: int = 0
    missing: Sequence[int] = ()


class Snapshot(Protocol):
    """A memory as it stood at one moment, whoever writes meanwhile. Only an operator sees it.

    Raises (all methods): StoreUnavailable, SchemaNotApplied.
    """

    async def model(self) -> EmbeddingModel | None:
        """Return the model whose vectors recall uses, None when there is none."""
        ...

    async def themes(self) -> Sequence[Theme]:
        """Return all themes, in the order of their code points."""
        ...

    def records(self, theme: Theme, *, vectors: bool) -> AsyncIterator[Archived]:
        """Yield all that is a theme's, whoever the talk was with: kind by kind, always in the same order.

        Args:
            vectors: Whether entries and turns come with their vectors.
        """
        ...


class Archive(Protocol):
    """Where records are stored as they are: with their ids, times, places and origins."""

    async def model(self) -> EmbeddingModel | None:
        """Return the model whose vectors recall uses, None when there is none."""
        ...

    async def store(self, records: Sequence[Archived], *, vectors: bool) -> Receipt:
        """Store records in their order, all or none; those that are there are left as they are.

        An entry that equals one of the same theme, subject and target, or a turn that equals one of the same session,
        role and occurrence, is there. Turns take their position, or the next one when that is taken. One that its
        session has forgotten counts as there; what stands in a session is not forgotten because an archive says so.
        An entry that is new, and is not what its last change says, gets a change that says so: it was added, now. So
        its history is handed in before it. One that equals another entry, and is there by its last change, gets a
        change that says that it was merged into that one, now.
        A turn's vectors hold words of the turn before: they are left out where the text right before it is not the one
        that it `follows`, and where it tells of none and is not the first.

        Args:
            vectors: Whether the vectors they come with are of the model in use. What comes without waits for new ones.

        Raises:
            StoreUnavailable: Nothing was stored, or it is unknown whether it was; hand the same in again.
            DeliveryRejected: One of them can never be stored; nothing was. Hand them in singly to find it.
            SchemaNotApplied: The database has no schema, or an older one.
        """
        ...

    async def begin(self) -> None:
        """Note in the log of maintenance that an operator brings something in. Broken off, it stays there as begun."""
        ...

    async def end(self, new: Mapping[str, int], *, whole: bool) -> None:
        """Note how much of each kind was brought in.

        Args:
            whole: Whether all there was to bring in was read; what is not stays in the log as begun and not ended.
        """
        ...
