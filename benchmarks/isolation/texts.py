"""Notes that share some words and differ in others."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

WORDS: Final = (
    *("gateway", "cluster", "rollback", "deploy", "invoice", "harbour"),
    *("kestrel", "ledger", "signal", "copper", "quartz", "meadow", "anchor"),
)
_BEGAN: Final = datetime(2026, 1, 1, tzinfo=UTC)


def note(number: int) -> str:
    """Return the note of a number."""
    words = [WORDS[(number * step) % len(WORDS)] for step in (1, 3, 7)]
    return f"Note {number}: the {words[0]} of the {words[1]} waits for the {words[2]} since case {number % 997}"


def moment(number: int) -> datetime:
    """Return when the note of a number was taken."""
    return _BEGAN + timedelta(minutes=number)
