"""Watches which tables a statement of the store looks through, and how: by the server's own counters, as it runs.

What a function does inside counts too, which no plan of the statement that calls it would show.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import pytest

from hermes_memory.adapters.postgres.pool import Transaction

METHODS: Final = ("fetch", "fetch_row", "fetch_value", "execute")
COUNTERS: Final = """
select s.relname, s.seq_scan, coalesce(s.idx_scan, 0) as idx_scan, coalesce(s.idx_tup_fetch, 0) as fetched
  from pg_stat_xact_user_tables s
 where s.schemaname = 'hermes_memory' and (s.seq_scan > 0 or s.idx_scan > 0)"""
_PARTITION: Final = re.compile(r"(.+)_p(\d+)$")
_FRAME: Final = re.compile(r"\s*(begin|commit|set)\b")

Counts = Mapping[str, tuple[int, int, int]]


@dataclass(slots=True)
class Looked:
    """How one statement has looked at partitions so far.

    Attributes:
        partitions: The most of each table that one run looked into.
        fetched: The most rows of each table that one run took up by an index.
        sequential: Tables that it read row by row.
        by_index: Tables that it read by an index.
    """

    runs: int = 0
    partitions: defaultdict[str, int] = field(default_factory=lambda: defaultdict(int))
    fetched: defaultdict[str, int] = field(default_factory=lambda: defaultdict(int))
    sequential: set[str] = field(default_factory=set)
    by_index: set[str] = field(default_factory=set)

    def note(self, before: Counts, after: Counts) -> None:
        """Note one run, by the counters around it."""
        self.runs += 1
        touched: defaultdict[str, int] = defaultdict(int)
        fetched: defaultdict[str, int] = defaultdict(int)
        for relation, counts in after.items():
            earlier = before.get(relation, (0, 0, 0))
            if (partition := _PARTITION.match(relation)) is None or counts == earlier:
                continue
            touched[partition[1]] += 1
            fetched[partition[1]] += counts[2] - earlier[2]
            (self.sequential if counts[0] > earlier[0] else self.by_index).add(partition[1])
        for table, number in touched.items():
            self.partitions[table] = max(self.partitions[table], number)
            self.fetched[table] = max(self.fetched[table], fetched[table])


@contextmanager
def watched() -> Iterator[dict[str, Looked]]:
    """Watch all statements of all stores within the block, by their text."""
    seen: dict[str, Looked] = {}
    with pytest.MonkeyPatch.context() as patch:
        for name in METHODS:
            patch.setattr(Transaction, name, _watching(getattr(Transaction, name), seen))
        yield seen


def _watching(method: Any, seen: dict[str, Looked]) -> Any:
    async def run(self: Any, statement: str, *arguments: object) -> Any:
        if _FRAME.match(statement):
            return await method(self, statement, *arguments)
        before = await _counts(self)
        answer = await method(self, statement, *arguments)
        seen.setdefault(statement, Looked()).note(before, await _counts(self))
        return answer

    return run


async def _counts(transaction: Any) -> Counts:
    found = await transaction._connection.fetch(COUNTERS)
    return {record["relname"]: (record["seq_scan"], record["idx_scan"], record["fetched"]) for record in found}
