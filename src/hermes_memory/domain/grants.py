"""Grants: which theme, or which person or group, may read another theme, and until when."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from hermes_memory.domain.errors import InvalidInput
from hermes_memory.domain.model import SINKS, Subject, Theme

LONGEST = timedelta(days=36_500)


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """Somebody may read the rows of a theme that carry no subject.

    Attributes:
        reader: A theme; or a person or group, in whatever theme they speak. What is granted to one subject of a person
            is granted to all of them, for as long as they are one.
        source: The theme that is read.
        expires_at: The moment from which it holds no more (aware); None for never.

    Raises:
        InvalidInput: A governed theme is named, or a theme is granted to itself.
    """

    reader: Theme | Subject
    source: Theme
    expires_at: datetime | None = None

    def __post_init__(self) -> None:
        if self.source in SINKS:
            raise InvalidInput("a governed theme is granted to nobody: it holds what people said", field="source")
        if self.reader in SINKS:
            raise InvalidInput(
                "a governed theme is granted nothing, it would be everybody's in it: name the person or group",
                field="reader",
            )
        if self.reader == self.source:
            raise InvalidInput("a theme reads itself without a grant", field="reader")


@dataclass(frozen=True, slots=True, kw_only=True)
class StandingGrant:
    """A grant as it is stored.

    Attributes:
        granted_by: The login that made it.
    """

    grant: Grant
    granted_at: datetime
    granted_by: str

    def expired(self, now: datetime) -> bool:
        """Tell whether it holds no more."""
        return self.grant.expires_at is not None and self.grant.expires_at <= now


def end_of(days: float | None, now: datetime) -> datetime | None:
    """Return the end of a grant for so many days from now, None for one without an end.

    Raises:
        InvalidInput: The number of days is not above 0, or beyond a century.
    """
    if days is None:
        return None
    if not 0 < days <= LONGEST.days:
        raise InvalidInput(f"a grant holds for more than 0 and at most {LONGEST.days} days", field="days")
    return now + timedelta(days=days)
