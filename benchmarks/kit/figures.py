"""Small statistics over few, noisy measurements."""

from __future__ import annotations

import statistics
from collections.abc import Sequence


def quantile(values: Sequence[float], share: float) -> float:
    """Return the smallest value that `share` of the values do not exceed (nearest rank)."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def median(values: Sequence[float]) -> float | None:
    """Return the median, None of nothing."""
    return statistics.median(values) if values else None


def ratio(value: float | None, other: float | None) -> float | None:
    """Return `value / other`, None when either is missing or nothing can be divided by."""
    return value / other if value is not None and other else None


def shown(value: object) -> str:
    """Return a figure as a reader wants it: three significant digits, thousands parted."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
    return str(value)
