"""Asks the peer's store: a program with the standard library and the peer's package, in the peer's environment.

It reads one JSON object a line. The first one names the database, each later one is an order, answered by one line.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any


class Searcher:
    """Carries out the orders."""

    def __init__(self, setup: dict[str, Any]) -> None:
        from hermes_pgvector.store import MemoryStore  # type: ignore[import-not-found]

        self._store = MemoryStore(setup["dsn"])

    def search(
        self, theme: str | None, sinks: list[str], questions: list[list[float]], limit: int, pids: list[int]
    ) -> dict[str, Any]:
        """Ask the questions one after another; `pids` are the server's processes whose time counts."""
        return {"answers": [self._answer(question, theme, sinks, limit, pids) for question in questions]}

    def _answer(
        self, question: list[float], theme: str | None, sinks: list[str], limit: int, pids: list[int]
    ) -> dict[str, Any]:
        cpu, started = _used_ms(pids), time.perf_counter()
        rows = self._store.search_turns(
            query_embedding=question,
            agent_identity=theme,
            limit=limit,
            exclude_identities=None if theme else sinks,
        )
        taken, after = time.perf_counter() - started, _used_ms(pids)
        return {
            "keys": [row["id"] for row in rows],
            "wall_ms": taken * 1_000,
            "cpu_ms": None if cpu is None or after is None else after - cpu,
        }


def _used_ms(pids: list[int]) -> float | None:
    """Return the milliseconds that processes have used, None where that cannot be told."""
    files = [Path(f"/proc/{pid}/schedstat") for pid in pids]
    if not files or not all(file.exists() for file in files):
        return None
    return sum(int(file.read_text().split()[0]) for file in files) / 1e6


def main() -> None:
    """Carry out orders until the input ends."""
    searcher = Searcher(json.loads(sys.stdin.readline()))
    for line in sys.stdin:
        given = json.loads(line)
        print(json.dumps(getattr(searcher, given.pop("order"))(**given)), flush=True)
    os._exit(0)  # whoever gave the orders is gone, or has seen enough


if __name__ == "__main__":
    main()
