"""How far long work has come, on a terminal; nothing where nobody watches."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Final

EVERY_SECONDS: Final = 0.2


class Progress:
    """One line that is written over again, on standard error. A context manager."""

    def __init__(self, did: str) -> None:
        """Tell how many rows were `did`, and how fast."""
        self._did = did
        self._count = 0
        self._started = self._told = time.monotonic()
        self._shows = sys.stderr is not None and sys.stderr.isatty()

    def advance(self, rows: int) -> None:
        """Count rows more."""
        self._count += rows
        now = time.monotonic()
        if self._shows and now - self._told >= EVERY_SECONDS:
            self._told = now
            pace = self._count / max(now - self._started, EVERY_SECONDS)
            print(
                f"\r\x1b[K{self._did} {self._count:,} rows, {pace:,.0f} a second", end="", file=sys.stderr, flush=True
            )

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._shows:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
