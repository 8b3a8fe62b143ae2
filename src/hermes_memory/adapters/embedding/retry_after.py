"""How long an HTTP endpoint asks to be left alone."""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final

LONGEST_WAIT: Final = 60.0
"""Seconds; a longer wish is cut to this: limits are mostly a minute's, and neither a wrong clock nor a proxy's standard
page must silence an embedder that is back."""


def retry_after_seconds(header: str | None, now: datetime) -> float | None:
    """Read a `Retry-After` header: a number of seconds or a date (RFC 9110, section 10.2.3).

    >>> retry_after_seconds("2", datetime(2026, 1, 1, tzinfo=UTC))
    2.0
    >>> retry_after_seconds("Thu, 01 Jan 2026 00:00:05 GMT", datetime(2026, 1, 1, tzinfo=UTC))
    5.0

    Args:
        header: The header's value, None when there is none.
        now: The present, aware.

    Returns:
        Seconds from 0 to `LONGEST_WAIT`, or None when the header is missing or unreadable.
    """
    if header is None:
        return None
    seconds = _seconds(header.strip(), now)
    return None if seconds is None else min(max(seconds, 0.0), LONGEST_WAIT)


def _seconds(header: str, now: datetime) -> float | None:
    if header.isascii() and header.isdigit():
        return float(header[:9])
    try:
        moment = parsedate_to_datetime(header)
    except (ValueError, OverflowError):
        return None
    if moment.tzinfo is None:  # "-0000" in the header: the time is UTC, the place unknown
        moment = moment.replace(tzinfo=UTC)
    return (moment - now).total_seconds()
