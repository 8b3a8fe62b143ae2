"""Who may read what beyond the read policy, and how much each theme holds: an operator's questions and acts."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from hermes_memory.domain.grants import Grant, StandingGrant
from hermes_memory.domain.model import ReadPolicy, Subject, Theme


@dataclass(frozen=True, slots=True, kw_only=True)
class ThemeCounts:
    """How much a theme holds, over everybody in it. Numbers alone.

    Attributes:
        governed: Whether it is one that people and groups are kept apart in.
        subjects: How many people and groups have something in it.
    """

    theme: Theme
    governed: bool
    entries: int
    turns: int
    sessions: int
    subjects: int
    first_seen_at: datetime
    last_seen_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class SubjectCounts:
    """How much a subject has, over all themes. Numbers alone.

    Attributes:
        also: The other subjects that are the same person.
    """

    subject: Subject
    entries: int
    turns: int
    themes: int
    also: frozenset[Subject]


class Granting(Protocol):
    """Changes who may read what. Every change is noted in the store's own log, in the same transaction.

    Raises (all methods):
        StoreUnavailable: The database cannot be reached.
        SchemaNotApplied: It has no schema, or an older one.
        ConfigurationError: The login may not do this.
    """

    async def policy(self) -> ReadPolicy:
        """Return the read policy of the installation."""
        ...

    async def grants(self) -> Sequence[StandingGrant]:
        """List all grants, expired ones too, by source and reader."""
        ...

    async def add(self, grant: Grant) -> bool:
        """Let a grant stand, with its end in place of an earlier one's; tell whether it is new."""
        ...

    async def revoke(self, grant: Grant) -> bool:
        """Take a grant back, whatever its end; tell whether there was one."""
        ...

    async def subjects(self, only: Collection[Subject] | None = None) -> Sequence[SubjectCounts]:
        """Count what subjects have: all that have anything, or those named, whether they have anything or not."""
        ...

    async def merge(self, subjects: Collection[Subject]) -> int:
        """Let subjects be one person, together with all that any of them was before; tell how many it is now."""
        ...

    async def split(self, subject: Subject) -> bool:
        """Take a subject out of its person; tell whether it was one with others."""
        ...

    async def themes(self) -> Sequence[ThemeCounts]:
        """Count what each theme holds, in the order of their names."""
        ...
