"""Stores vectors that come with archived rows, in the place of the jobs that would make them anew."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING
from uuid import UUID

from hermes_memory.adapters.postgres.embedding_queue import STORE
from hermes_memory.adapters.postgres.rows import columns_in_parts
from hermes_memory.domain.vectors import all_indexable, numbers_of

if TYPE_CHECKING:
    from hermes_memory.adapters.postgres.jobs import Waiting
    from hermes_memory.adapters.postgres.pool import Transaction


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
        follows: Mapping[UUID, bytes | None] | None = None,
    ) -> None:
        """Store the vectors of rows of one theme that wait for them; the other rows go on waiting.

        Args:
            follows: Of turns, the SHA-256 of what they were embedded after. Where another text stands right before one,
                or none, it goes on waiting too.
        """
        if self.generation is None:
            return
        usable = [each for each in waiting if all_indexable(vectors[each.row], self.dimension)]
        for part in columns_in_parts(
            (each.row, each.kind.value, each.content_hash, (follows or {}).get(each.row), vectors[each.row])
            for each in usable
        ):
            rows, kinds, hashes, previous, packed = part
            numbers = list(chain.from_iterable(numbers_of(each) for parts in packed for each in parts))
            await transaction.execute(
                STORE,
                *(self.generation, [theme] * len(rows), rows, kinds, hashes, previous),
                *([len(parts) for parts in packed], self.dimension, numbers),
            )
