"""Erasing for good, as an operator's right: past every wall, and with proof."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from hermes_memory.domain.erasure import Erasure, Proof, Told
from hermes_memory.domain.model import Subject


@dataclass(frozen=True, slots=True, kw_only=True)
class Erased:
    """What an erasure did in the store.

    Attributes:
        id: Under which the store's own log keeps it.
        counts: What was erased, by store.
        proofs: What was asked afterwards, all at one moment.
    """

    id: UUID
    counts: Mapping[str, int]
    proofs: Sequence[Proof]


class Eraser(Protocol):
    """Erases rows with all that was made of them: vectors, jobs, postings, history texts, edges, registry.

    Raises (all methods):
        StoreUnavailable: The database cannot be reached.
        SchemaNotApplied: It has no schema, or an older one.
        ConfigurationError: The login may not do this.
    """

    async def count(self, erasure: Erasure) -> Mapping[str, int]:
        """Count, at one moment, what `erase` would erase, by store. Nothing is changed."""
        ...

    async def mirrored(self, erasure: Erasure) -> int:
        """Count the entries among it that mirror a line of some home's notebooks, which would bring them back."""
        ...

    async def companions(self, erasure: Erasure) -> frozenset[Subject]:
        """Return the other subjects that are one person with the one named; of what is no person, none."""
        ...

    async def shared(self, erasure: Erasure) -> int:
        """Count the memories of nobody in particular that were written or changed in talk with the person to be erased.

        They are everybody's and stay; what the person said may stand in them, or in their history.
        """
        ...

    async def texts(self, erasure: Erasure) -> frozenset[Told]:
        """Return what the one entry to be erased says and said before; nothing for what is more than an entry.

        Each with the theme, the subject and the target that it had when it said so.
        """
        ...

    async def settle(self, timeout: float) -> bool:
        """Wait until the writes that the store has begun are done; False when `timeout` seconds passed first."""
        ...

    async def erase(self, erasure: Erasure, progress: Callable[[int], object] = lambda _: None) -> Erased:
        """Erase in transactions of bounded size, then ask what is left.

        With one entry goes the history of the other memories of its theme, subject and target that tells one of its
        texts, or that they were merged into it: an undo would bring the text back.

        Called again, after it was interrupted too, it goes on with what is there. What is stored for the same theme,
        person or session meanwhile is erased as well, as long as that does not go on for ever.

        Args:
            progress: Told after each transaction how much has been erased so far, of all stores together.
        """
        ...
