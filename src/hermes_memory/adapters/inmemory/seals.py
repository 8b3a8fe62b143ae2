"""Seals the history of an in-memory store."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from uuid import UUID

from hermes_memory.adapters.inmemory.records import Records
from hermes_memory.domain.chain import FIRST, Head, canonical_form, head, merkle_root, row_hash
from hermes_memory.domain.history import Change
from hermes_memory.domain.model import Theme
from hermes_memory.ports.seals import Sealed, SealLag


class InMemorySeals:
    """`Seals` over changes in memory, which nobody could alter behind its back: the chain is kept for its heads."""

    def __init__(self, records: Records) -> None:
        self._records = records
        self._sealed: set[tuple[Theme, UUID]] = set()
        self._heads: defaultdict[Theme, list[Head]] = defaultdict(list)

    async def seal(self, most: int) -> Sequence[Sealed]:
        """Seal changes; see `Seals.seal`."""
        batches: defaultdict[Theme, list[Change]] = defaultdict(list)
        for change in self._waiting()[:most]:
            batches[change.theme].append(change)
        return [self._seal(theme, changes) for theme, changes in sorted(batches.items())]

    async def expire(self, most: int) -> int:
        """Erase what was forgotten long enough ago; see `Seals.expire`."""
        return self._records.expire(self._records.forgotten()[:most])

    async def standing(self, heads: Collection[Head]) -> Sequence[Head]:
        """Compare published heads with the chain; see `Seals.standing`."""
        return [each for each in heads if each not in self._heads[Theme(each.theme)]]

    async def lag(self) -> SealLag:
        """Tell what waits; see `Seals.lag`."""
        waiting = self._waiting()
        return SealLag(waiting=len(waiting), oldest=waiting[0].recorded_at if waiting else None)

    def _waiting(self) -> list[Change]:
        return [change for change in self._records.history if (change.theme, change.id) not in self._sealed]

    def _seal(self, theme: Theme, changes: Sequence[Change]) -> Sealed:
        chain, at = self._heads[theme], self._records.now()
        root = merkle_root([row_hash(b"", canonical_form([str(c.id), c.before, c.after])) for c in changes])
        prev = chain[-1].chained if chain else FIRST
        number = len(chain) + 1
        chain.append(
            Head(theme=theme, seal=number, chained=head(theme, number, len(changes), at, prev=prev, root=root))
        )
        self._sealed.update((theme, change.id) for change in changes)
        return Sealed(head=chain[-1], changes=len(changes), at=at)
