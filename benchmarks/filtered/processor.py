"""The processor's time that one process has used, as the kernel counts it."""

from __future__ import annotations

from pathlib import Path


def used_ms(pid: int) -> float | None:
    """Return milliseconds on a processor so far, None where that cannot be told."""
    file = Path(f"/proc/{pid}/schedstat")
    return int(file.read_text().split()[0]) / 1e6 if file.exists() else None


def between(before: float | None, after: float | None) -> float | None:
    """Return the difference, None if one is missing."""
    return None if before is None or after is None else after - before
