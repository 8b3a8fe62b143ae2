"""Reading an in-memory store."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from dataclasses import replace
from heapq import nlargest

from hermes_memory.adapters.inmemory.records import Records
from hermes_memory.domain.model import (
    SINKS,
    Caller,
    CurrentScope,
    Entry,
    HomeId,
    Kind,
    Row,
    RowId,
    Scope,
    Target,
    Theme,
)
from hermes_memory.domain.visibility import in_scope, readable, visible
from hermes_memory.ports.reading import Standing

MARKS = 8
"""How many of the newest entries a standing names."""
_ENTRIES = frozenset({Kind.ENTRY})


class InMemoryReader:
    """`Reader` over rows in memory. The time allowed is not watched: nothing here waits."""

    def __init__(self, records: Records) -> None:
        self._records = records

    async def get(self, caller: Caller, row: RowId, *, timeout: float) -> Row | None:
        """Return a row; see `Reader.get`."""
        found = self._records.row(row)
        if found is None or not visible(found.theme, found.subject, caller, self._records.access(caller)):
            return None
        return found

    async def standing(self, caller: Caller, rows: Collection[Row], *, timeout: float) -> Standing:
        """Tell how rows stand now; see `Reader.standing`."""
        found = {row.id: await self.get(caller, row.id, timeout=timeout) for row in rows}
        own = (entry.id for entry in self._visible_entries(caller) if entry.theme == caller.theme)
        return Standing(
            unchanged=frozenset(row.id for row in rows if _same(row, found[row.id])),
            newest=tuple(nlargest(MARKS, (self._records.marks[entry] for entry in own))),
        )

    async def entries(
        self, caller: Caller, scope: Scope, *, target: Target | None = None, limit: int, timeout: float
    ) -> Sequence[Entry]:
        """List entries; see `Reader.entries`."""
        listed = [
            entry
            for entry in self._visible_entries(caller)
            if in_scope(entry.theme, entry.subject, entry.session, caller, scope) and target in {None, entry.target}
        ]
        listed.sort(key=lambda entry: entry.updated_at)
        return listed[::-1][:limit]

    async def with_content(self, caller: Caller, content: str, *, timeout: float) -> Sequence[Entry]:
        """List the entries of a content; see `Reader.with_content`."""
        listed = await self.entries(caller, CurrentScope(), limit=len(self._records.entries), timeout=timeout)
        return [entry for entry in listed if entry.content == content]

    async def mirrored(self, caller: Caller, source: HomeId, *, timeout: float) -> Sequence[Entry]:
        """List what mirrors a home; see `Reader.mirrored`."""
        return [
            entry
            for entry in self._visible_entries(caller)
            if (entry.theme, entry.subject, entry.source) == (caller.theme, caller.subject, source)
        ]

    async def private_copies(
        self, source: HomeId, contents: Collection[tuple[Target, str]], *, timeout: float
    ) -> frozenset[tuple[Target, str]]:
        """Tell which contents are some subject's; see `Reader.private_copies`."""
        private = {
            (entry.target, entry.content)
            for entry in self._records.entries.values()
            if entry.subject is not None and entry.source == source
        }
        return frozenset(contents) & private

    async def erased_ago(self, *, timeout: float) -> float | None:
        """Return how long ago something was erased; see `Reader.erased_ago`."""
        erased_at = self._records.erased_at
        return None if erased_at is None else time.monotonic() - erased_at

    async def themes(self, caller: Caller, *, timeout: float) -> Sequence[Theme]:
        """List the readable themes; see `Reader.themes`."""
        access = self._records.access(caller)
        return sorted(theme for theme in self._records.themes.keys() - SINKS if readable(theme, caller, access))

    def _visible_entries(self, caller: Caller) -> Sequence[Entry]:
        return [row for row in self._records.visible_rows(caller, _ENTRIES) if isinstance(row, Entry)]


def _same(kept: Row, found: Row | None) -> bool:
    """Tell whether a row is as it was read. Which home it mirrors is no part of that."""
    if isinstance(kept, Entry) and isinstance(found, Entry):
        return replace(found, source=kept.source) == kept
    return found == kept
