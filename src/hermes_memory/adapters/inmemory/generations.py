"""The embedding generations of an in-memory store, as their owner makes, fills, switches and drops them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import asynccontextmanager
from datetime import datetime

import anyio

from hermes_memory.adapters.inmemory.records import Records
from hermes_memory.adapters.inmemory.vectors import KeptGeneration
from hermes_memory.domain.errors import InvalidInput
from hermes_memory.domain.model import Kind
from hermes_memory.ports.embedding import Generation
from hermes_memory.ports.generations import GenerationStanding, WaitingRow

BYTES_A_NUMBER = 8


class InMemoryGenerations:
    """`Generations` over rows in memory. All operators of a store share one."""

    def __init__(self, records: Records) -> None:
        self._records = records
        self._alone = anyio.Lock()

    @asynccontextmanager
    async def alone(self, waits: Callable[[], object] = lambda: None) -> AsyncIterator[None]:
        """Wait for other operators; see `Generations.alone`."""
        if self._alone.locked():
            waits()
        async with self._alone:
            yield

    async def standing(self) -> Sequence[GenerationStanding]:
        """Return how things stand; see `Generations.standing`."""
        return standing_of(self._records)

    async def moment(self) -> datetime:
        """Return the time; see `Generations.moment`."""
        return self._records.now()

    async def made(self) -> int:
        """Return how many there have been; see `Generations.made`."""
        return self._records.generations_made

    async def kept(self, generation: int) -> bool:
        """Tell whether a generation is there; see `Generations.kept`."""
        return generation in self._records.kept

    async def register(self, model: str, dimension: int, part_tokens: int) -> int:
        """Make a generation; see `Generations.register`."""
        for number, kept in self._records.kept.items():
            one = kept.generation
            if (one.model, one.dimension, one.part_tokens) == (model, dimension, part_tokens):
                return number
        number = self._records.generations_made + 1
        self._records.keep(Generation(number=number, model=model, dimension=dimension, part_tokens=part_tokens))
        return number

    async def queue_rows(self, generation: int, kind: Kind, seen: Callable[[int], object]) -> int:
        """Let rows wait; see `Generations.queue_rows`."""
        lacking = self._records.lacking(self._require(generation), kind)
        for row in lacking:
            self._records.enqueue(row, generation)
        seen(len(lacking))
        return len(lacking)

    async def waiting(self, generation: int, among: Collection[WaitingRow] | None = None) -> Sequence[WaitingRow]:
        """Return rows that wait; see `Generations.waiting`."""
        found = []
        kept = self._records.kept.get(generation)
        for row, job in kept.jobs.items() if kept else ():
            stored = self._records.row(row)
            if stored is not None and job.parked_reason is None:
                found.append(WaitingRow(stored.theme, row, job.content_hash))
        return found if among is None else [row for row in found if row in set(among)]

    async def index(self, generation: int, made: Callable[[int, int], object]) -> None:
        """Note that it may be searched, which needs no index here; see `Generations.index`."""
        self._require(generation).indexed = True
        made(1, 1)

    async def switch(self, generation: int) -> int | None:
        """Use a generation; see `Generations.switch`."""
        wanted, former = self._require(generation), self._records.active
        if wanted.generation.unrelated is None and wanted.activated_at is None:
            raise _refused(generation, "is not measured yet")
        if not wanted.indexed:
            raise _refused(generation, "has no index yet")
        self._records.use(generation)
        self._records.note("reembed")
        return former

    async def drop(self, generation: int) -> None:
        """Remove a generation; see `Generations.drop`."""
        unwanted = self._require(generation)
        if generation == self._records.active:
            raise _refused(generation, "is in use")
        del self._records.kept[generation]
        self._records.note("reembed", {"vectors": len(unwanted.vectors)})

    def _require(self, generation: int) -> KeptGeneration:
        kept = self._records.kept.get(generation)
        if kept is None:
            raise InvalidInput(f"there is no embedding generation {generation}", field="generation")
        return kept


def _refused(generation: int, why: str) -> InvalidInput:
    return InvalidInput(f"the embedding generation {generation} {why}", field="generation")


def standing_of(records: Records) -> Sequence[GenerationStanding]:
    """Return how things stand with each generation of a store."""
    embeddable = len(records.entries) + len(records.turns.keys() - records.unembedded)
    return [_standing(kept, embeddable, number == records.active) for number, kept in records.kept.items()]


def _standing(kept: KeptGeneration, embeddable: int, active: bool) -> GenerationStanding:
    one = kept.generation
    return GenerationStanding(
        generation=one.number,
        model=one.model,
        dimension=one.dimension,
        part_tokens=one.part_tokens,
        active=active,
        fed=True,
        measured=one.unrelated is not None,
        embeddable=embeddable,
        embedded=len(kept.vectors),
        waiting=kept.waiting,
        parked=kept.parked,
        bytes=sum(len(parts) * one.dimension * BYTES_A_NUMBER for parts in kept.vectors.values()),
        activated_at=kept.activated_at,
    )
