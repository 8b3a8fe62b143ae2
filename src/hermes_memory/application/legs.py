"""Both legs of recall: by words and by meaning, at once under one deadline.

What only one of them has found is measured by the other's measure as well, so that all rows are judged alike.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

import anyio
from anyio.abc import TaskGroup

from hermes_memory.application.answers import RecallRequest
from hermes_memory.application.breaker import Breaker
from hermes_memory.application.degradation import Degradation
from hermes_memory.application.own_scores import OwnScore, OwnScores
from hermes_memory.application.telemetry import Telemetry
from hermes_memory.domain.bm25 import QueryStatistics
from hermes_memory.domain.errors import (
    DeadlineExceeded,
    EmbedderUnavailable,
    EmbeddingRejected,
    HermesMemoryError,
    InvalidInput,
)
from hermes_memory.domain.fusion import Candidate
from hermes_memory.domain.lexemes import Analyzer
from hermes_memory.domain.model import RowId
from hermes_memory.ports.embedding import Embedder, EmbeddingQueue, Generation
from hermes_memory.ports.metrics import Timing
from hermes_memory.ports.reading import Look, Search, TextMatches, VectorHit

TEXT_CANDIDATES: Final = 200
VECTOR_CANDIDATES: Final = 100
GENERATION_SECONDS: Final = 30.0
LEG_SHARE: Final = 0.9
"""Share of the deadline that the legs may use; the rest is for ranking."""
EMBED_SHARE: Final = 0.7
"""Share of a leg's time that the embedder may take; the rest is for the search."""
_NO_WORDS: Final = (None, 0)


@dataclass(slots=True)
class Gathered:
    """What the legs have brought so far; each leg writes its own fields.

    Attributes:
        text_alone: Whether the question has no vector, and gets none any more.
        near_failed: Whether the vector leg has ended without an answer.
        comparing: Whether a leg asks for the cosines of rows that words have found, or has.
        left_out: Scores of rows that only the vector leg has found, by the words they hold; those of the text leg have
            theirs.
    """

    lexemes: tuple[str, ...]
    text: TextMatches | None = None
    vector: Sequence[float] | None = None
    text_alone: bool = False
    near_failed: bool = False
    comparing: bool = False
    generation: Generation | None = None
    near: Sequence[VectorHit] | None = None
    cosines: Mapping[RowId, float] | None = None
    left_out: Mapping[RowId, OwnScore] | None = None
    withheld: Sequence[RowId] = ()
    problems: list[Degradation] = field(default_factory=list)
    timings: dict[str, float] = field(default_factory=dict)
    failure: HermesMemoryError | None = None

    @property
    def complete(self) -> bool:
        """Whether all is there that can be."""
        compared = self.near is not None and self.cosines is not None
        return self.text is not None and (self.text_alone or compared)

    @property
    def comparable(self) -> bool:
        """Whether the rows that words have found can be given their cosines, and nobody does it."""
        return self.vector is not None and self.text is not None and not (self.near_failed or self.comparing)

    @property
    def compared_with(self) -> int | None:
        """Number of the generation whose model made the vector: it means nothing beside vectors of any other."""
        return self.generation.number if self.generation else None

    def statistics(self) -> QueryStatistics:
        """Return what the text leg knows of the question's words; nothing when it has not answered."""
        text = self.text or TextMatches(hits=())
        return QueryStatistics(
            lexemes=self.lexemes,
            documents=text.documents,
            average_length=text.mean_length,
            frequencies=text.document_frequencies,
        )


class Legs:
    """Searches with both legs, or by words alone when there is no embedder. All methods belong to the event loop."""

    def __init__(
        self,
        search: Search,
        queue: EmbeddingQueue,
        *,
        embedder: Embedder | None,
        analyzer: Analyzer,
        store_breaker: Breaker,
        embed_breaker: Breaker,
        embed_timeout: float,
        telemetry: Telemetry,
    ) -> None:
        self._search = search
        self._queue = queue
        self._embedder = embedder
        self._store_breaker = store_breaker
        self._embed_breaker = embed_breaker
        self._embed_timeout = embed_timeout
        self._telemetry = telemetry
        self._own = OwnScores(analyzer)
        self._generation: Generation | None = None
        self._generation_until = 0.0

    async def gather(self, request: RecallRequest, query: str, gathered: Gathered) -> None:
        """Run both legs, and note in `gathered` what they bring and what they lack.

        Raises:
            StoreUnavailable: The database is known to be out of reach.
            DeadlineExceeded: No leg answered in time.
            SchemaNotApplied: The database has no schema, or an older one.
        """
        deadline = anyio.current_time() + request.timeout * LEG_SHARE
        with anyio.move_on_at(deadline) as allowed:
            async with anyio.create_task_group() as legs:
                legs.start_soon(self._text_leg, request, deadline, gathered, legs)
                legs.start_soon(self._vector_leg, request, query, deadline, gathered, legs)
        if gathered.text is None and gathered.near is None:
            raise gathered.failure or DeadlineExceeded("the database did not answer in time")
        if allowed.cancelled_caught and not gathered.complete and gathered.failure is None:
            late = Degradation.TEXT_LATE if gathered.text is None else Degradation.VECTOR_LATE
            gathered.problems.append(late)

    def candidates(self, gathered: Gathered, statistics: QueryStatistics) -> Sequence[Candidate]:
        """Return the rows that either leg has found, each with what both say of it."""
        text, near = gathered.text.hits if gathered.text else (), gathered.near or ()
        cosines = {**(gathered.cosines or {}), **{row.id: cosine for row, cosine in near}}
        known = {row.id for row, _, _ in text}
        scores = self._left_out(gathered, statistics) if gathered.left_out is None else gathered.left_out
        found = [Candidate(row, bm25, held, cosines.get(row.id)) for row, bm25, held in text]
        for row, cosine in near:
            if row.id not in known:
                bm25, held = scores.get(row.id, _NO_WORDS)
                found.append(Candidate(row, bm25, held, cosine))
        return found

    async def _text_leg(self, request: RecallRequest, deadline: float, gathered: Gathered, legs: TaskGroup) -> None:
        started, compares = time.monotonic(), False
        try:
            async with self._looking(request, deadline) as look:
                with self._telemetry.timed(Timing.RECALL_TEXT):
                    gathered.text = await look.by_text(request.space, gathered.lexemes, limit=self._text_candidates)
                gathered.timings["text"] = time.monotonic() - started
                if compares := gathered.comparable:
                    await self._compare(look, gathered, legs)
        except HermesMemoryError as error:
            # A connection that breaks when all has been answered takes nothing from the answer.
            if gathered.text is None:
                _note_failure(error, gathered, Degradation.TEXT_FAILED)
            elif compares and gathered.cosines is None:
                exchanged = isinstance(error, InvalidInput)  # it is the generation that is not there any more
                if exchanged:
                    self._generation_until = 0.0
                alone = exchanged and gathered.near is None
                _note_failure(error, gathered, Degradation.EXCHANGED if alone else Degradation.VECTOR_FAILED)
        gathered.timings.setdefault("text", time.monotonic() - started)

    async def _vector_leg(
        self, request: RecallRequest, query: str, deadline: float, gathered: Gathered, legs: TaskGroup
    ) -> None:
        started = time.monotonic()
        if self._embedder is not None:
            with self._telemetry.timed(Timing.RECALL_EMBED):
                gathered.vector = await self._embed(query, deadline, gathered)
        gathered.timings["embed"] = time.monotonic() - started
        if gathered.vector is None:
            gathered.text_alone = True
            return
        started, compares = time.monotonic(), False
        try:
            async with self._looking(request, deadline) as look:
                with self._telemetry.timed(Timing.RECALL_VECTOR):
                    gathered.near = await look.by_vector(
                        request.space, gathered.vector, limit=VECTOR_CANDIDATES, generation=gathered.compared_with
                    )
                gathered.timings["vector"] = time.monotonic() - started
                if compares := gathered.comparable:
                    await self._compare(look, gathered, legs)
                elif gathered.comparing:
                    legs.start_soon(self._score_left_out, gathered)
        except InvalidInput:
            # It is the generation that is not there any more: nothing that the caller gave.
            self._generation_until = 0.0
            gathered.problems.append(Degradation.EXCHANGED)
        except HermesMemoryError as error:
            if gathered.near is None or (compares and gathered.cosines is None):
                _note_failure(error, gathered, Degradation.VECTOR_FAILED)
        gathered.near_failed = gathered.near is None
        gathered.timings.setdefault("vector", time.monotonic() - started)

    @asynccontextmanager
    async def _looking(self, request: RecallRequest, deadline: float) -> AsyncIterator[Look]:
        async with (
            self._store_breaker.awaited(timeout=_left(deadline)) as left,
            self._search.look(request.caller, timeout=left) as look,
        ):
            yield look

    async def _compare(self, look: Look, gathered: Gathered, legs: TaskGroup) -> None:
        """Give rows that only the text leg found their cosine, so that all are judged by one measure.

        The text leg does it as soon as it has its rows, over its own connection, while the vector leg is under way; if
        the question has no vector by then, the vector leg does.
        """
        if gathered.vector is None or gathered.text is None:
            return
        gathered.comparing = True
        have = {hit.row.id for hit in gathered.near or ()}
        missing = [hit.row.id for hit in gathered.text.hits if hit.row.id not in have]
        started = time.monotonic()
        if missing:
            if gathered.near is not None:
                legs.start_soon(self._score_left_out, gathered)  # begins when the database has been asked
            with self._telemetry.timed(Timing.RECALL_COSINES):
                gathered.cosines = await look.cosines(missing, gathered.vector, generation=gathered.compared_with)
            gathered.timings["cosines"] = time.monotonic() - started
        else:
            gathered.cosines = {}

    async def _embed(self, query: str, deadline: float, gathered: Gathered) -> Sequence[float] | None:
        """Embed the query; None, with the reason noted, when there is no vector to search with."""
        if self._embedder is None:
            return None
        try:
            gathered.generation = await self._fitting_generation(deadline)
            if gathered.generation is None:
                gathered.problems.append(Degradation.MISMATCH)
                return None
            timeout = min(self._embed_timeout, _left(deadline) * EMBED_SHARE)
            with self._embed_breaker.guard():
                return await self._embedder.embed_query(query, timeout=timeout)
        except EmbedderUnavailable:
            gathered.problems.append(Degradation.NO_VECTOR)
        except EmbeddingRejected:
            gathered.problems.append(Degradation.QUERY_REFUSED)
        except HermesMemoryError as error:
            _note_failure(error, gathered, Degradation.VECTOR_FAILED)
        return None

    async def _fitting_generation(self, deadline: float) -> Generation | None:
        """Return the generation in use if its vectors are this embedder's."""
        generation = await self._active_generation(deadline)
        return generation if generation is not None and self._fits(generation) else None

    def _fits(self, generation: Generation) -> bool:
        embedder = self._embedder
        return embedder is not None and (generation.model, generation.dimension) == (embedder.model, embedder.dimension)

    async def _active_generation(self, deadline: float) -> Generation | None:
        if time.monotonic() >= self._generation_until:
            async with self._store_breaker.awaited(timeout=_left(deadline)):
                self._generation = await self._queue.active()
            found = self._generation
            settled = found is not None and found.unrelated is not None and self._fits(found)
            self._generation_until = time.monotonic() + (GENERATION_SECONDS if settled else 1.0)
        return self._generation

    async def _score_left_out(self, gathered: Gathered) -> None:
        gathered.left_out = self._left_out(gathered, gathered.statistics())

    def _left_out(self, gathered: Gathered, statistics: QueryStatistics) -> Mapping[RowId, OwnScore]:
        """Score the rows of the vector leg by their words where the text leg has had no room for all that hold some."""
        text = gathered.text.hits if gathered.text else ()
        if len(text) < self._text_candidates:
            return {}
        known = {hit.row.id for hit in text}
        others = [hit.row for hit in gathered.near or () if hit.row.id not in known]
        scored = {row.id: self._own.score(row, statistics) for row in others}
        return {key: score for key, score in scored.items() if score.bm25 > 0}

    @property
    def _text_candidates(self) -> int:
        """The text leg has the room of both where it is the only one."""
        return TEXT_CANDIDATES + (VECTOR_CANDIDATES if self._embedder is None else 0)


def _left(deadline: float) -> float:
    """Return the seconds until a deadline, never none: whoever is too late is told so by whom it asks."""
    return max(deadline - anyio.current_time(), 0.01)


def _note_failure(error: HermesMemoryError, gathered: Gathered, what: Degradation) -> None:
    gathered.failure = error
    gathered.problems.append(what)
