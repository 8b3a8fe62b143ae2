"""Reading what the host hands over: text is text, everything else is nothing."""

from __future__ import annotations


def text_or_none(value: object) -> str | None:
    """Return a value that is text and not blank, trimmed; None for everything else."""
    return value.strip() or None if isinstance(value, str) else None


def holds_text(value: object) -> bool:
    """Tell whether a value is text and not blank."""
    return isinstance(value, str) and bool(value.strip())
