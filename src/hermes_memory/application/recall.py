"""Recall: both legs at once under one deadline, fused, ranked, and explainable afterwards."""

from __future__ import annotations

import time
from array import array
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Final
from uuid import uuid4

from hermes_memory.application.answers import RecallRequest, RecallResult, Trace, floor_for
from hermes_memory.application.degradation import Degradation
from hermes_memory.application.legs import Gathered, Legs
from hermes_memory.application.packed import PackedPlaces, PackedScores, PackedTrace
from hermes_memory.application.telemetry import Telemetry
from hermes_memory.application.traces import Traces, parted, place
from hermes_memory.domain.bm25 import QueryStatistics
from hermes_memory.domain.fusion import Fusion, Ranked
from hermes_memory.domain.lexemes import Analyzer, head_and_tail
from hermes_memory.domain.model import Caller, TraceId
from hermes_memory.domain.ranking import RankingPolicy, order
from hermes_memory.domain.weights import CosineCalibration
from hermes_memory.ports.embedding import Generation
from hermes_memory.ports.metrics import Happening, Timing
from hermes_memory.ports.reading import TextHit, VectorHit

TRACES_KEPT: Final = 256
STAGES: Final = ("embed", "text", "vector", "cosines", "total")
"""What is timed, in the order in which it is told, whichever ends first."""
UNMEASURED: Final = CosineCalibration(unrelated=0.3, related=0.9)
"""Cautious levels for a model whose own are not measured yet."""


class Recall:
    """The use case of finding memories. All methods belong to the event loop."""

    def __init__(
        self,
        legs: Legs,
        *,
        analyzer: Analyzer,
        ranking: RankingPolicy,
        now: Callable[[], datetime],
        telemetry: Telemetry,
    ) -> None:
        self._legs = legs
        self._analyzer = analyzer
        self._ranking = ranking
        self._now = now
        self._telemetry = telemetry
        self._traces = Traces(TRACES_KEPT)

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
        gathered = Gathered(self._analyzer.query_lexemes(query))
        if query.strip():
            await self._legs.gather(request, query, gathered)
        statistics = gathered.statistics()
        ranked = self._rank(request, statistics, gathered)
        gathered.timings["total"] = time.monotonic() - started
        return self._answer(request, statistics, ranked, gathered, started), gathered.problems

    def trace(self, trace: TraceId, caller: Caller) -> Trace | None:
        """Return how a recent answer to a caller came about, None when none is remembered for it."""
        return self._traces.find(trace, caller)

    def forget_traces(self, seconds: float) -> None:
        """Forget how the answers to questions came about that were asked `seconds` ago, or before."""
        self._traces.forget(seconds)

    def note_shown(self, trace: TraceId, caller: Caller, shown: int) -> None:
        """Note, for the explanation, that of an answer's hits only the first `shown` had room to be shown."""
        self._traces.note_shown(trace, caller, shown)

    def _rank(self, request: RecallRequest, statistics: QueryStatistics, gathered: Gathered) -> Sequence[Ranked]:
        candidates, gathered.withheld = parted(self._legs.candidates(gathered, statistics), request)
        question = head_and_tail(request.query)
        return order(
            candidates, statistics, _calibration(gathered.generation), self._now(), self._ranking, question=question
        )

    def _answer(
        self,
        request: RecallRequest,
        statistics: QueryStatistics,
        ranked: Sequence[Ranked],
        gathered: Gathered,
        started: float,
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
            timings={stage: gathered.timings[stage] for stage in STAGES if stage in gathered.timings},
            problems=tuple(dict.fromkeys(gathered.problems)),
        )
        self._traces.remember(
            PackedTrace(
                head=trace,
                text=None if gathered.text is None else _packed(gathered.text.hits),
                near=None if gathered.near is None else _packed(gathered.near),
                cosines=PackedScores(cosines, cosines.values()),
                placed=PackedPlaces.of(ranked, fates, gathered.withheld),
            ),
            took=time.monotonic() - started,
        )
        return RecallResult(hits=tuple(hits), degraded=trace.problems, trace_id=trace.id)


def _calibration(generation: Generation | None) -> CosineCalibration:
    if generation is None or generation.unrelated is None or generation.related is None:
        return UNMEASURED
    return CosineCalibration(unrelated=generation.unrelated, related=generation.related)


def _packed(hits: Sequence[TextHit | VectorHit]) -> PackedScores:
    """Pack what a leg found: of each row what the leg says about it first."""
    return PackedScores([hit[0].id for hit in hits], [hit[1] for hit in hits])
