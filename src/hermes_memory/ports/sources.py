"""Reading other memories, and telling what of them is here already."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping
from datetime import datetime
from typing import Protocol

from hermes_memory.domain.foreign import Foreign
from hermes_memory.domain.model import Caller, OperationId, RowId, Theme
from hermes_memory.domain.operations import Outcome


class Source(Protocol):
    """Another memory, which is read and never changed."""

    @property
    def name(self) -> str:
        """What it is called, for the history and for people."""
        ...

    async def counts(self) -> Mapping[str, int] | None:
        """Return how much there is to read, by its own names; None when it can only be told by reading."""
        ...

    def items(self) -> AsyncIterator[Foreign]:
        """Yield everything, in an order that is the same each time.

        Raises:
            StoreUnavailable: It cannot be read any further.
        """
        ...


class Witness(Protocol):
    """Tells what is stored. All methods see what the caller may see.

    Raises (all methods): StoreUnavailable, SchemaNotApplied.
    """

    async def delivered(self, caller: Caller, operations: Collection[OperationId]) -> Mapping[OperationId, Outcome]:
        """Return the outcomes of those operations that had their effect, as long as it is known.

        Of an entry it is known as long as there is a history of it, also where it was forgotten.
        """
        ...

    async def present(self, caller: Caller, rows: Mapping[RowId, str]) -> frozenset[RowId]:
        """Return those rows that hold exactly this text, by the hash of what is stored."""
        ...

    async def note_theme(self, theme: Theme, first_seen_at: datetime, last_seen_at: datetime) -> None:
        """Enter an ordinary theme into the registry, or widen the time in which it was seen."""
        ...
