"""Stores vectors that come with archived rows, in the place of the jobs that would make them anew."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING
from uuid import UUID

from hermes_memory.adapters.postgres.embedding_queue import STORE
from hermes_memory.adapters.postgres.rows import columns_in_parts

if TYPE_CHECKING:
    from hermes_memory.adapters.postgres.jobs import Waiting
    from hermes_memory.adapters.postgres.pool import Transaction

_HALF_BYTES = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Vectored:
    """Where vectors go: a generation and its dimension; without a generation they are left out."""

    generation: int | None = None
    dimension: int = 0

    async def store(
        self,
        transaction: Transaction,
        theme: str,
        waiting: Sequence[Waiting],
        vectors: Mapping[UUID, Sequence[bytes]],
    ) -> None:
        """Store the vectors of rows of one theme that wait for them; the other rows go on waiting."""
        if self.generation is None:
            return
        usable = [each for each in waiting if self._fits(vectors[each.row])]
        for part in columns_in_parts(
            (each.row, each.kind.value, each.content_hash, vectors[each.row]) for each in usable
        ):
            rows, kinds, hashes, packed = part
            numbers = list(chain.from_iterable(self._numbers(each) for parts in packed for each in parts))
            await transaction.execute(
                STORE,
                *(self.generation, [theme] * len(rows), rows, kinds, hashes, [None] * len(rows)),
                *([len(parts) for parts in packed], self.dimension, numbers),
            )

    def _fits(self, parts: Sequence[bytes]) -> bool:
        return bool(parts) and all(len(part) == self.dimension * _HALF_BYTES for part in parts)

    def _numbers(self, part: bytes) -> tuple[float, ...]:
        return struct.unpack(f">{self.dimension}e", part)
