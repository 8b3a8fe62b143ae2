"""Reading behind the store's breaker: while the database is known to be away, a question fails at once."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from hermes_memory.application.breaker import Breaker
from hermes_memory.domain.model import Caller, Entry, HomeId, Row, RowId, Scope, Target, Theme
from hermes_memory.ports.reading import Reader, Standing


class GuardedReader:
    """Implements `hermes_memory.ports.reading.Reader` on another one. All methods belong to the event loop."""

    def __init__(self, reader: Reader, breaker: Breaker) -> None:
        self._reader = reader
        self._breaker = breaker

    async def get(self, caller: Caller, row: RowId, *, timeout: float) -> Row | None:
        """Return a row; see `Reader.get`."""
        async with self._breaker.awaited(timeout=timeout) as left:
            return await self._reader.get(caller, row, timeout=left)

    async def standing(self, caller: Caller, rows: Collection[Row], *, timeout: float) -> Standing:
        """Tell how rows stand now; see `Reader.standing`."""
        async with self._breaker.awaited(timeout=timeout) as left:
            return await self._reader.standing(caller, rows, timeout=left)

    async def entries(
        self, caller: Caller, scope: Scope, *, target: Target | None = None, limit: int, timeout: float
    ) -> Sequence[Entry]:
        """List entries; see `Reader.entries`."""
        async with self._breaker.awaited(timeout=timeout) as left:
            return await self._reader.entries(caller, scope, target=target, limit=limit, timeout=left)

    async def with_content(self, caller: Caller, content: str, *, timeout: float) -> Sequence[Entry]:
        """List the entries of a content; see `Reader.with_content`."""
        async with self._breaker.awaited(timeout=timeout) as left:
            return await self._reader.with_content(caller, content, timeout=left)

    async def mirrored(self, caller: Caller, source: HomeId, *, timeout: float) -> Sequence[Entry]:
        """List what mirrors a home; see `Reader.mirrored`."""
        async with self._breaker.awaited(timeout=timeout) as left:
            return await self._reader.mirrored(caller, source, timeout=left)

    async def private_copies(
        self, source: HomeId, contents: Collection[tuple[Target, str]], *, timeout: float
    ) -> frozenset[tuple[Target, str]]:
        """Tell which contents are some subject's; see `Reader.private_copies`."""
        async with self._breaker.awaited(timeout=timeout) as left:
            return await self._reader.private_copies(source, contents, timeout=left)

    async def erased_ago(self, *, timeout: float) -> float | None:
        """Return how long ago something was erased; see `Reader.erased_ago`."""
        async with self._breaker.awaited(timeout=timeout) as left:
            return await self._reader.erased_ago(timeout=left)

    async def themes(self, caller: Caller, *, timeout: float) -> Sequence[Theme]:
        """List the readable themes; see `Reader.themes`."""
        async with self._breaker.awaited(timeout=timeout) as left:
            return await self._reader.themes(caller, timeout=left)
