"""Recall: both legs at once under one deadline, fused, ranked, and explainable afterwards."""

from __future__ import annotations

import logging
import time
from array import array
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final
from uuid import uuid4

import anyio
from anyio.abc import TaskGroup

from hermes_memory.application.answers import RecallRequest, RecallResult, Trace, floor_for
from hermes_memory.application.breaker import Breaker
from hermes_memory.application.degradation import Degradation
from hermes_memory.application.own_scores import OwnScore, OwnScores
from hermes_memory.application.packed import PackedPlaces, PackedScores, PackedTrace
from hermes_memory.application.telemetry import Telemetry
from hermes_memory.application.traces import Traces, parted, place
from hermes_memory.domain.bm25 import QueryStatistics
from hermes_memory.domain.errors import (
    DeadlineExceeded,
    EmbedderUnavailable,
    EmbeddingRejected,
    HermesMemoryError,
    InvalidInput,
)
from hermes_memory.domain.fusion import Candidate, Fusion, Ranked
from hermes_memory.domain.lexemes import Analyzer, head_and_tail
from hermes_memory.domain.model import Caller, RowId, TraceId
from hermes_memory.domain.ranking import RankingPolicy, order
from hermes_memory.domain.weights import CosineCalibration
from hermes_memory.ports.embedding import Embedder, EmbeddingQueue, Generation
from hermes_memory.ports.metrics import Happening, Timing
from hermes_memory.ports.reading import Look, Search, TextHit, TextMatches, VectorHit

logger = logging.getLogger(__name__)

TEXT_CANDIDATES: Final = 200
VECTOR_CANDIDATES: Final = 100
TRACES_KEPT: Final = 256
GENERATION_SECONDS: Final = 30.0
UNMEASURED: Final = CosineCalibration(unrelated=0.3, related=0.9)
"""Cautious levels for a model whose own are not measured yet."""
LEG_SHARE: Final = 0.9
"""Share of the deadline that the legs may use; the rest is for ranking."""
_NO_WORDS: Final = (None, 0)
EMBED_SHARE: Final = 0.7
"""Share of a leg's time that the embedder may take; the rest is for the search."""


@dataclass(slots=True)
class _Gathered:
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


class Recall:
    """The use case of finding memories. All methods belong to the event loop."""

    def __init__(
        self,
        search: Search,
        queue: EmbeddingQueue,
        *,
        embedder: Embedder | None,
        analyzer: Analyzer,
        ranking: RankingPolicy,
        store_breaker: Breaker,
        embed_breaker: Breaker,
        embed_timeout: float,
        now: Callable[[], datetime],
        telemetry: Telemetry | None = None,
    ) -> None:
        """Search with both legs, or by text alone when there is no embedder."""
        self._search = search
        self._queue = queue
        self._embedder = embedder
        self._analyzer = analyzer
        self._ranking = ranking
        self._store_breaker = store_breaker
        self._embed_breaker = embed_breaker
        self._embed_timeout = embed_timeout
        self._now = now
        self._telemetry = telemetry or Telemetry()
        self._own = OwnScores(analyzer)
        self._traces = Traces(TRACES_KEPT)
        self._generation: Generation | None = None
        self._generation_until = 0.0

    async def recall(self, request: RecallRequest) -> RecallResult:
        """Find the memories that answer a query.

        Raises:
            StoreUnavailable: The database is known to be out of reach.
            DeadlineExceeded: No leg answered in time.
            SchemaNotApplied: The database has no schema, or an older one.
        """
        with self._telemetry.timed(Timing.RECALL):
            try:
                result, problems = await self._recall(request)
            except BaseException:
                self._telemetry.count(Happening.RECALL_FAILED)
                raise
        self._telemetry.count(Happening.RECALL_DEGRADED if problems else Happening.RECALL_FULL)
        for happening in dict.fromkeys(problem.happening for problem in problems):
            self._telemetry.count(happening)
        return result

    async def _recall(self, request: RecallRequest) -> tuple[RecallResult, Sequence[Degradation]]:
        started = time.monotonic()
        query = head_and_tail(request.query)
        gathered = _Gathered(self._analyzer.query_lexemes(query))
        if query.strip():
            await self._gather(request, query, gathered)
        statistics = _statistics(gathered)
        ranked = self._rank(request, statistics, gathered)
        gathered.timings["total"] = time.monotonic() - started
        return self._answer(request, statistics, ranked, gathered), gathered.problems

    def trace(self, trace: TraceId, caller: Caller) -> Trace | None:
        """Return how a recent answer to a caller came about, None when none is remembered for it."""
        return self._traces.find(trace, caller)

    def note_shown(self, trace: TraceId, caller: Caller, shown: int) -> None:
        """Note, for the explanation, that of an answer's hits only the first `shown` had room to be shown."""
        self._traces.note_shown(trace, caller, shown)

    async def _gather(self, request: RecallRequest, query: str, gathered: _Gathered) -> None:
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

    async def _text_leg(self, request: RecallRequest, deadline: float, gathered: _Gathered, legs: TaskGroup) -> None:
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
        self, request: RecallRequest, query: str, deadline: float, gathered: _Gathered, legs: TaskGroup
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

    async def _compare(self, look: Look, gathered: _Gathered, legs: TaskGroup) -> None:
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

    async def _embed(self, query: str, deadline: float, gathered: _Gathered) -> Sequence[float] | None:
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

    async def _score_left_out(self, gathered: _Gathered) -> None:
        gathered.left_out = self._left_out(gathered, _statistics(gathered))

    def _left_out(self, gathered: _Gathered, statistics: QueryStatistics) -> Mapping[RowId, OwnScore]:
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

    def _rank(self, request: RecallRequest, statistics: QueryStatistics, gathered: _Gathered) -> Sequence[Ranked]:
        candidates, gathered.withheld = parted(self._candidates(gathered, statistics), request)
        question = head_and_tail(request.query)
        return order(
            candidates, statistics, _calibration(gathered.generation), self._now(), self._ranking, question=question
        )

    def _candidates(self, gathered: _Gathered, statistics: QueryStatistics) -> Sequence[Candidate]:
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

    def _answer(
        self, request: RecallRequest, statistics: QueryStatistics, ranked: Sequence[Ranked], gathered: _Gathered
    ) -> RecallResult:
        by_scores = self._ranking.fusion is Fusion.SCORES
        floor = floor_for(request, statistics.lexemes) if by_scores else 0.0
        hits, fates = place(ranked, request, floor)
        near = {hit.row.id for hit in gathered.near or ()}
        cosines = {row: cosine for row, cosine in (gathered.cosines or {}).items() if row not in near}
        with_cosine = bool(near or cosines)
        trace = Trace(
            id=TraceId(uuid4()),
            at=self._now(),
            caller=request.caller,
            space=request.space,
            limit=request.limit,
            floor=floor,
            statistics=statistics,
            vector=None if gathered.vector is None else array("d", gathered.vector),
            generation=gathered.compared_with,
            ceiling=self._ranking.weights.ceiling(with_cosine=with_cosine) if by_scores else 1.0,
            support=ranked[0].support if ranked else None,
            timings=dict(gathered.timings),
            problems=tuple(dict.fromkeys(gathered.problems)),
        )
        self._traces.remember(
            PackedTrace(
                head=trace,
                text=None if gathered.text is None else _packed(gathered.text.hits),
                near=None if gathered.near is None else _packed(gathered.near),
                cosines=PackedScores(cosines, cosines.values()),
                placed=PackedPlaces.of(ranked, fates, gathered.withheld),
            )
        )
        return RecallResult(hits=tuple(hits), degraded=trace.problems, trace_id=trace.id)


def _calibration(generation: Generation | None) -> CosineCalibration:
    if generation is None or generation.unrelated is None or generation.related is None:
        return UNMEASURED
    return CosineCalibration(unrelated=generation.unrelated, related=generation.related)


def _left(deadline: float) -> float:
    """Return the seconds until a deadline, never none: whoever is too late is told so by whom it asks."""
    return max(deadline - anyio.current_time(), 0.01)


def _statistics(gathered: _Gathered) -> QueryStatistics:
    text = gathered.text or TextMatches(hits=())
    return QueryStatistics(
        lexemes=gathered.lexemes,
        documents=text.documents,
        average_length=text.mean_length,
        frequencies=text.document_frequencies,
    )


def _packed(hits: Sequence[TextHit | VectorHit]) -> PackedScores:
    """Pack what a leg found: of each row what the leg says about it first."""
    return PackedScores([hit[0].id for hit in hits], [hit[1] for hit in hits])


def _note_failure(error: HermesMemoryError, gathered: _Gathered, what: Degradation) -> None:
    gathered.failure = error
    gathered.problems.append(what)
