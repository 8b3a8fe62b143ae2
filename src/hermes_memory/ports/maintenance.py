"""Maintenance as an operator's right: past every wall, in small steps, and on record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What one step did.

    Attributes:
        counts: What it changed, by store.
        more: Whether there may be more to do.
    """

    counts: Mapping[str, int]
    more: bool


class Upkeep(Protocol):
    """One piece of maintenance, told exactly what to do when it was made.

    Each step is one transaction of bounded size that leaves rows, index and vectors fitting each other. Two that do the
    same at once share the work: what one has done, the other neither does nor counts. One that breaks off has done what
    its steps did, and whoever makes another one like it goes on from there.

    Raises (all methods):
        StoreUnavailable: The database cannot be reached, or others are in the way for too long.
        SchemaNotApplied: It has no schema, or an older one.
        ConfigurationError: The login may not do this.
    """

    async def count(self) -> Mapping[str, int]:
        """Count, at one moment, what all steps would change, by store. Nothing is changed."""
        ...

    async def begin(self) -> UUID:
        """Note in the store's own log that it begins; return under which id. Each step adds to it what it did."""
        ...

    async def step(self) -> Step:
        """Do a bounded part of it. After one that has no more, the next begins anew."""
        ...

    async def end(self, remaining: Mapping[str, int]) -> None:
        """Note that it was carried through, and what was still found."""
        ...
