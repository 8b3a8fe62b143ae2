"""What an operator has done to the memory as a whole, named exactly, and what came of it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Final, TypeAlias
from uuid import UUID

from hermes_memory.domain.errors import InvalidInput
from hermes_memory.domain.model import SINKS, Json, Origin, Theme
from hermes_memory.domain.themes import canonical_theme, is_reserved

LONGEST_DAYS: Final = 36_500.0
SHORTEST_INBOX_DAYS: Final = 7.0
"""A home that was switched off for less finds that its writes were stored already."""
INBOX_DAYS: Final = 90.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Prune:
    """Remove what was said before a moment. Durable memories are never touched.

    Attributes:
        before: Turns said earlier than this go.
        theme: Of this theme alone.
        origin: Written by this alone.
    """

    before: datetime
    theme: Theme | None = None
    origin: Origin | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Cleanup:
    """Remove what nothing refers to any more.

    Attributes:
        operations_before: What is known of operations delivered earlier than this goes.
        log_before: What the log of maintenance noted earlier than this goes; None keeps all of it.
    """

    operations_before: datetime
    log_before: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Remap:
    """Move everything of one theme into another, which may have memories of its own.

    Attributes:
        grants: Let grants that name the old theme name the new one also where that had memories of its own before.

    Raises:
        InvalidInput: Both are the same.
    """

    source: Theme
    target: Theme
    grants: bool = False

    def __post_init__(self) -> None:
        if self.source == self.target:
            raise InvalidInput(f"both names stand for the theme {self.source!r}: there is nothing to move", field="to")


@dataclass(frozen=True, slots=True, kw_only=True)
class Backfill:
    """Let rows without a vector wait for one again.

    Attributes:
        retry_parked: Those, too, that the embedder refused.
    """

    retry_parked: bool = False


Chore: TypeAlias = Prune | Cleanup | Remap | Backfill


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What a piece of maintenance did, or would do.

    Attributes:
        verb: Its name on the command line.
        detail: What exactly it was told to do.
        executed: Whether anything was done.
        counts: What was changed, by store; of a dry run, what would be.
        remaining: What a look afterwards found left to be done, by store; empty of a dry run.
        notes: What the operator has to know or do besides, a sentence each.
        id: Under which the log of maintenance has it; None of a dry run.
    """

    verb: str
    detail: Mapping[str, Json]
    executed: bool
    counts: Mapping[str, int]
    remaining: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    notes: tuple[str, ...] = ()
    id: UUID | None = None

    @property
    def complete(self) -> bool:
        """Whether there is nothing left to do."""
        return not any((self.remaining if self.executed else self.counts).values())


def days_before(now: datetime, days: float, *, least: float = 0.0, field: str) -> datetime:
    """Return the moment so many days before another one (aware).

    Raises:
        InvalidInput: The number is not a positive one of at most 36,500, or below `least`.

    >>> from datetime import UTC
    >>> days_before(datetime(2026, 5, 31, tzinfo=UTC), 30, field="older_than").date().isoformat()
    '2026-05-01'
    """
    if not math.isfinite(days) or not max(least, 0.0) <= days <= LONGEST_DAYS or days == 0:
        smallest = f"from {least:g}" if least else "more than 0"
        raise InvalidInput(f"{field}: give a number of days, {smallest} and at most {LONGEST_DAYS:,.0f}", field=field)
    return now - timedelta(days=days)


def theme_named(name: str | None) -> Theme | None:
    """Return the theme that an operator narrows work to, None for all; a sink is named like any other one.

    Raises:
        InvalidInput: The name is empty, or that of a scope.
    """
    if name is None:
        return None
    theme = canonical_theme(name)
    if is_reserved(theme) and theme not in SINKS:
        raise InvalidInput(f"{theme!r} is a scope and no theme: name one theme", field="theme")
    return theme


def theme_to_move(name: str, field: str) -> Theme:
    """Return a theme that can be moved, or moved to, by any spelling of its name.

    Raises:
        InvalidInput: The name is unusable, or that of a scope or of a governed theme, whose rows are people's own.
    """
    theme = canonical_theme(name)
    if is_reserved(theme):
        raise InvalidInput(f"{theme!r} is reserved: neither a scope nor a governed theme can be moved", field=field)
    return theme
