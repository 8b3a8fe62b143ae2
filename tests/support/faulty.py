"""Adapters that fail on demand: each stands before a real one and lets through whatever is not told to fail."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager

import anyio

from hermes_memory.adapters.inmemory.embedder import HashingEmbedder
from hermes_memory.domain.errors import DeliveryRejected, EmbeddingRejected, StoreBusy, StoreUnavailable
from hermes_memory.domain.model import Caller, Entry, HomeId, OperationId, Row, RowId, Scope, Target, Theme
from hermes_memory.domain.operations import AddEntry, Operation, Outcome, RecordTurns, ReplaceEntry
from hermes_memory.ports.delivery import DeliveryStore, Wanted
from hermes_memory.ports.embedding import EmbeddingBacklog, EmbeddingJob, EmbeddingQueue, Generation, PartVectors
from hermes_memory.ports.reading import Look, Reader, Search, SearchSpace, Standing, TextMatches, VectorHit


class Faults:
    """What happens to the next calls.

    Attributes:
        coming: Raised one a call, the first first; None lets that call through.
        standing: Raised by every call after those, while it is set.
        hangs: No call ever answers.
        calls: How many calls were made.
    """

    def __init__(self) -> None:
        self.coming: deque[Exception | None] = deque()
        self.standing: Exception | None = None
        self.hangs = False
        self.calls = 0

    def come(self, *errors: Exception | None) -> None:
        """Let the next calls fail with these, and pass where None stands."""
        self.coming.extend(errors)

    async def meet(self) -> None:
        """Fail or hang if that is what the call is to do. Another task gets its turn in any case."""
        self.calls += 1
        await anyio.sleep(0)
        if self.hangs:
            await anyio.sleep_forever()
        error = self.coming.popleft() if self.coming else self.standing
        if error is not None:
            raise error


def texts_of(operation: Operation) -> tuple[str, ...]:
    """Return the contents that an operation stores."""
    match operation:
        case AddEntry() | ReplaceEntry():
            return (operation.content,)
        case RecordTurns():
            return tuple(turn.content for turn in operation.turns)
        case _:
            return ()


class FaultyDelivery:
    """A `DeliveryStore` that refuses what it is told to.

    Attributes:
        applying: What happens to `apply`.
        asking: What happens to `outcome`.
        refused: A batch that stores a text with one of these in it is rejected as a whole.
        busy_at: A batch that stores a text with this in it cannot be applied now.
        faults_at: A batch that stores a text with this in it meets an error that nobody foresaw.
        forgets_to_answer: Applies the next so many batches and then fails, as a connection that breaks does.
        batches: The contents of the batches that were applied.
    """

    def __init__(self, delivery: DeliveryStore) -> None:
        self._delivery = delivery
        self.applying = Faults()
        self.asking = Faults()
        self.refused: set[str] = set()
        self.busy_at: str | None = None
        self.faults_at: str | None = None
        self.forgets_to_answer = 0
        self.batches: list[list[str]] = []

    @property
    def applied(self) -> list[str]:
        """The contents that were applied, in order."""
        return [text for batch in self.batches for text in batch]

    async def apply(self, operations: Sequence[Operation], *, wanted: Wanted | None = None) -> Sequence[Outcome]:
        await self.applying.meet()
        texts = [text for operation in operations for text in texts_of(operation)]
        if any(part in text for text in texts for part in self.refused):
            raise DeliveryRejected("the database refuses this", reason="22021 refused")
        if self.faults_at and any(self.faults_at in text for text in texts):
            raise ZeroDivisionError
        if self.busy_at and any(self.busy_at in text for text in texts):
            raise StoreBusy("somebody else holds it")
        outcomes = await self._delivery.apply(operations, wanted=wanted)
        applied = {outcome.operation for outcome in outcomes}
        self.batches.append([t for each in operations if each.stamp.operation in applied for t in texts_of(each)])
        if self.forgets_to_answer:
            self.forgets_to_answer -= 1
            raise StoreUnavailable("the connection broke")
        return outcomes

    async def outcome(self, caller: Caller, operation: OperationId) -> Outcome | None:
        await self.asking.meet()
        return await self._delivery.outcome(caller, operation)


class FaultySearch:
    """A `Search` whose legs fail or hang one by one.

    Attributes:
        ending: What happens when a look ends.
    """

    def __init__(self, search: Search) -> None:
        self._search = search
        self.ending = Faults()
        self.text = Faults()
        self.vector = Faults()
        self.cosine = Faults()

    @asynccontextmanager
    async def look(self, caller: Caller, *, timeout: float) -> AsyncIterator[Look]:
        async with self._search.look(caller, timeout=timeout) as look:
            yield FaultyLook(look, self)
            await self.ending.meet()

    async def by_text(
        self, caller: Caller, space: SearchSpace, lexemes: Sequence[str], *, limit: int, timeout: float
    ) -> TextMatches:
        await self.text.meet()
        return await self._search.by_text(caller, space, lexemes, limit=limit, timeout=timeout)

    async def by_vector(
        self,
        caller: Caller,
        space: SearchSpace,
        vector: Sequence[float],
        *,
        limit: int,
        timeout: float,
        generation: int | None = None,
    ) -> Sequence[VectorHit]:
        await self.vector.meet()
        return await self._search.by_vector(caller, space, vector, limit=limit, timeout=timeout, generation=generation)

    async def cosines(
        self,
        caller: Caller,
        rows: Collection[RowId],
        vector: Sequence[float],
        *,
        timeout: float,
        generation: int | None = None,
    ) -> Mapping[RowId, float]:
        await self.cosine.meet()
        return await self._search.cosines(caller, rows, vector, timeout=timeout, generation=generation)


class FaultyLook:
    """A `Look` that fails as the search does that opened it."""

    def __init__(self, look: Look, search: FaultySearch) -> None:
        self._look = look
        self._of = search

    async def by_text(self, space: SearchSpace, lexemes: Sequence[str], *, limit: int) -> TextMatches:
        await self._of.text.meet()
        return await self._look.by_text(space, lexemes, limit=limit)

    async def by_vector(
        self, space: SearchSpace, vector: Sequence[float], *, limit: int, generation: int | None = None
    ) -> Sequence[VectorHit]:
        await self._of.vector.meet()
        return await self._look.by_vector(space, vector, limit=limit, generation=generation)

    async def cosines(
        self, rows: Collection[RowId], vector: Sequence[float], *, generation: int | None = None
    ) -> Mapping[RowId, float]:
        await self._of.cosine.meet()
        return await self._look.cosines(rows, vector, generation=generation)


class FaultyReader:
    """A `Reader` that fails whatever is read."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self.reading = Faults()

    async def get(self, caller: Caller, row: RowId, *, timeout: float) -> Row | None:
        await self.reading.meet()
        return await self._reader.get(caller, row, timeout=timeout)

    async def standing(self, caller: Caller, rows: Collection[Row], *, timeout: float) -> Standing:
        await self.reading.meet()
        return await self._reader.standing(caller, rows, timeout=timeout)

    async def entries(
        self, caller: Caller, scope: Scope, *, target: Target | None = None, limit: int, timeout: float
    ) -> Sequence[Entry]:
        await self.reading.meet()
        return await self._reader.entries(caller, scope, target=target, limit=limit, timeout=timeout)

    async def with_content(self, caller: Caller, content: str, *, timeout: float) -> Sequence[Entry]:
        await self.reading.meet()
        return await self._reader.with_content(caller, content, timeout=timeout)

    async def mirrored(self, caller: Caller, source: HomeId, *, timeout: float) -> Sequence[Entry]:
        await self.reading.meet()
        return await self._reader.mirrored(caller, source, timeout=timeout)

    async def private_copies(
        self, source: HomeId, contents: Collection[tuple[Target, str]], *, timeout: float
    ) -> frozenset[tuple[Target, str]]:
        await self.reading.meet()
        return await self._reader.private_copies(source, contents, timeout=timeout)

    async def erased_ago(self, *, timeout: float) -> float | None:
        await self.reading.meet()
        return await self._reader.erased_ago(timeout=timeout)

    async def themes(self, caller: Caller, *, timeout: float) -> Sequence[Theme]:
        await self.reading.meet()
        return await self._reader.themes(caller, timeout=timeout)


class FaultyQueue:
    """An `EmbeddingQueue` that fails when asked, and keeps what was postponed and parked."""

    def __init__(self, queue: EmbeddingQueue) -> None:
        self._queue = queue
        self.asking = Faults()
        self.completing = Faults()
        self.holding = Faults()
        self.leases: list[float] = []
        self.held: list[tuple[str, float]] = []
        self.postponed: list[tuple[str, float]] = []
        self.parked: list[tuple[str, str]] = []

    async def active(self) -> Generation | None:
        await self.asking.meet()
        return await self._queue.active()

    async def calibrate(self, generation: int, *, unrelated: float, related: float) -> None:
        await self._queue.calibrate(generation, unrelated=unrelated, related=related)

    async def claim(self, limit: int, *, lease: float) -> Sequence[EmbeddingJob]:
        self.leases.append(lease)
        return await self._queue.claim(limit, lease=lease)

    async def complete(self, vectors: Mapping[EmbeddingJob, PartVectors]) -> None:
        await self.completing.meet()
        await self._queue.complete(vectors)

    async def hold(self, jobs: Sequence[EmbeddingJob], seconds: float) -> None:
        await self.holding.meet()
        self.held += [(job.text, seconds) for job in jobs]
        await self._queue.hold(jobs, seconds)

    async def postpone(self, jobs: Sequence[EmbeddingJob], seconds: float) -> None:
        self.postponed += [(job.text, seconds) for job in jobs]
        await self._queue.postpone(jobs, seconds)

    async def park(self, job: EmbeddingJob, reason: str) -> None:
        self.parked.append((job.text, reason))
        await self._queue.park(job, reason)

    async def backlog(self) -> EmbeddingBacklog:
        await self.asking.meet()
        return await self._queue.backlog()


class FaultyEmbedder:
    """An `Embedder` that fails, hangs or refuses single texts.

    Attributes:
        querying: What happens to `embed_query`.
        storing: What happens to `embed_documents`.
        refused: Texts with one of these in them are refused, and every text beside them.
        batches: What was embedded to store.
    """

    def __init__(self, dimension: int = 64, *, model: str | None = None) -> None:
        self._embedder = HashingEmbedder(dimension)
        self._model = model or self._embedder.model
        self.querying = Faults()
        self.storing = Faults()
        self.refused: set[str] = set()
        self.batches: list[list[str]] = []

    @property
    def model(self) -> str:
        return self._model

    @property
    def dimension(self) -> int:
        return self._embedder.dimension

    @property
    def generation(self) -> Generation:
        """The generation whose vectors are this embedder's, measured already."""
        return Generation(number=1, model=self.model, dimension=self.dimension, unrelated=0.05, related=0.8)

    async def embed_query(self, text: str, *, timeout: float) -> Sequence[float]:
        await self.querying.meet()
        self._judge([text])
        return await self._embedder.embed_query(text, timeout=timeout)

    async def embed_documents(self, texts: Sequence[str], *, timeout: float) -> Sequence[Sequence[float]]:
        await self.storing.meet()
        self._judge(texts)
        self.batches.append(list(texts))
        return await self._embedder.embed_documents(texts, timeout=timeout)

    async def aclose(self) -> None:
        await self._embedder.aclose()

    def _judge(self, texts: Sequence[str]) -> None:
        if any(part in text for text in texts for part in self.refused):
            raise EmbeddingRejected("the endpoint refuses this input (400)")
