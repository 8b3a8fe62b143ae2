"""Binding history into its chain, and letting go of what was forgotten long enough ago."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from hermes_memory.domain.chain import Head
from hermes_memory.domain.errors import ConfigurationError


class HeadsWait(ConfigurationError):
    """Heads cannot be published now. They are kept durably, and are published before the next ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sealed:
    """A seal that was just made: where the chain stands now, and how many changes it binds."""

    head: Head
    changes: int
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class SealLag:
    """How many changes wait for their seal, and since when the oldest does; until then nothing binds them."""

    waiting: int
    oldest: datetime | None


class Seals(Protocol):
    """The chain of seals, over all themes. None of it tells what a memory says.

    Raises (all methods): StoreUnavailable, DeadlineExceeded, SchemaNotApplied.
    """

    async def seal(self, most: int) -> Sequence[Sealed]:
        """Seal up to `most` changes, one seal for each theme among them; none while somebody else is sealing."""
        ...

    async def expire(self, most: int) -> int:
        """Erase the texts of up to `most` memories that were forgotten long enough ago; return the number of changes.

        How long they are kept is the store's to know, one number for all who share it: no caller shortens it.
        """
        ...

    async def standing(self, heads: Collection[Head]) -> Sequence[Head]:
        """Return those of these published heads that the chain does not hold (any more)."""
        ...

    async def lag(self) -> SealLag:
        """Tell what waits for its seal."""
        ...
