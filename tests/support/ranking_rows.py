"""Rows for tests of ranking and rendering."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

from hermes_memory.domain.bm25 import QueryStatistics
from hermes_memory.domain.fusion import Ranked
from hermes_memory.domain.model import Entry, Origin, Role, Row, RowId, SessionId, Subject, Target, Theme, Turn
from hermes_memory.domain.weights import CosineCalibration

NOW = datetime(2024, 6, 1, 12, 0, tzinfo=UTC)
CALIBRATION = CosineCalibration(unrelated=0.2, related=0.7)
STATISTICS = QueryStatistics(
    lexemes=("launch", "date"), documents=100, average_length=20.0, frequencies={"launch": 5, "date": 10}
)


def entry(
    number: int, content: str = "content", *, days: float = 0, theme: str = "marketing", subject: Subject | None = None
) -> Entry:
    """An entry that became true `days` after NOW."""
    at = NOW + timedelta(days=days)
    return Entry(
        id=RowId(UUID(int=number)),
        theme=Theme(theme),
        subject=subject,
        target=Target.MEMORY,
        content=content,
        at=at,
        updated_at=at,
        origin=Origin.AGENT,
    )


def turn(
    number: int,
    content: str = "content",
    *,
    position: int = 0,
    session: str = "s1",
    speaker: str | None = None,
    days: float = 0,
    role: Role = Role.USER,
) -> Turn:
    """A turn said `days` after NOW."""
    return Turn(
        id=RowId(UUID(int=number)),
        theme=Theme("marketing"),
        subject=None,
        session=SessionId(session),
        role=role,
        content=content,
        at=NOW + timedelta(days=days),
        origin=Origin.USER,
        position=position,
        speaker=speaker,
    )


def hit(row: Row, score: float = 0.5) -> Ranked:
    return Ranked(row=row, score=score)
