"""A count of secrets in this process's memory."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping

from hermes_memory.ports.secrets import SecretTotals


class InMemorySecretTally:
    """Counts for as long as the process lives."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._redacted: Counter[str] = Counter()
        self._refused: Counter[str] = Counter()

    def note(self, kinds: Mapping[str, int], *, refused: bool) -> None:
        """Add what was found in one text."""
        with self._lock:
            (self._refused if refused else self._redacted).update(kinds)

    def totals(self) -> SecretTotals:
        """Return the counts."""
        with self._lock:
            return SecretTotals(redacted=dict(self._redacted), refused=dict(self._refused))
