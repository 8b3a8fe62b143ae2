"""The past of the memory: what became of what, and recall as of a moment."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final
from uuid import UUID, uuid4

import anyio
from anyio.lowlevel import checkpoint

from hermes_memory.application.answers import RecallRequest, RecallResult, floor_for
from hermes_memory.application.breaker import Breaker
from hermes_memory.application.traces import place
from hermes_memory.domain.bm25 import QueryStatistics, bm25
from hermes_memory.domain.coverage import mask_of
from hermes_memory.domain.errors import NotVisible
from hermes_memory.domain.fusion import Candidate, Fusion
from hermes_memory.domain.history import Change
from hermes_memory.domain.lexemes import Analyzer, head_and_tail, indexed_row
from hermes_memory.domain.model import Caller, Entry, Kind, OperationId, RowId, Scope, TraceId
from hermes_memory.domain.ranking import RankingPolicy, order
from hermes_memory.domain.weights import CosineCalibration
from hermes_memory.ports.history import HistoryReader
from hermes_memory.ports.reading import Search, SearchSpace, TextHit, TextMatches

MOST_CHANGES: Final = 1_000
"""Changes of one memory that are looked at."""
MOST_ENTRIES: Final = 5_000
"""Memories that are read to be searched as they stood, those changed last first."""
TURN_CANDIDATES: Final = 200
READ_SHARE: Final = 0.6
"""Share of the time that reading how memories stood may take; the rest is for what was said, and for ranking."""
NO_COSINES: Final = CosineCalibration(unrelated=0.0, related=1.0)
WORDS_ALONE: Final = "found by words alone: vectors are kept of what stands now"
NOT_ALL: Final = f"only the {MOST_ENTRIES:,} memories changed last before that moment were searched"


class Past:
    """Reads the past behind the store's breaker. All methods belong to the event loop."""

    def __init__(
        self, history: HistoryReader, search: Search, *, analyzer: Analyzer, ranking: RankingPolicy, breaker: Breaker
    ) -> None:
        """Search the past with `analyzer` and rank it by `ranking`."""
        self._history = history
        self._search = search
        self._analyzer = analyzer
        self._ranking = ranking
        self._breaker = breaker

    async def of_row(self, caller: Caller, row: RowId, *, limit: int, timeout: float) -> Sequence[Change]:
        """Return the changes of a memory, newest first.

        Raises:
            NotVisible: There never was one, or it is not the caller's to see.
        """
        async with self._breaker.awaited(timeout=timeout) as left:
            found = await self._history.of_row(caller, row, limit=limit, timeout=left)
        if not found:
            raise NotVisible("there is no such memory for this caller")
        return found

    async def recent(self, caller: Caller, scope: Scope, *, limit: int, timeout: float) -> Sequence[Change]:
        """Return the changes within a scope, newest first."""
        async with self._breaker.awaited(timeout=timeout) as left:
            return await self._history.recent(caller, scope, limit=limit, timeout=left)

    async def named(self, caller: Caller, name: UUID, *, timeout: float) -> tuple[Change, Sequence[Change]]:
        """Find a change by the memory it changed last, or by the write that made it.

        Returns:
            The change, and all changes of its memory, newest first.

        Raises:
            NotVisible: There is none, or it is not the caller's to see.
        """
        async with self._breaker.awaited(timeout=timeout) as left:
            changes = await self._history.of_row(caller, RowId(name), limit=MOST_CHANGES, timeout=left)
            if changes:
                return changes[0], changes
            made = await self._history.of_operation(caller, OperationId(name), timeout=left)
            if not made:
                raise NotVisible("there is no such memory, and no such write, for this caller")
            return made[0], await self._history.of_row(caller, made[0].row, limit=MOST_CHANGES, timeout=left)

    async def recall(self, request: RecallRequest, moment: datetime) -> RecallResult:
        """Answer a question from the memory as it stood at a moment.

        Durable memories are read from history, so that what was changed or forgotten since is found as it stood; what
        was said is found as it is, if it had been accepted by then. Ages count from that moment.

        Raises:
            StoreUnavailable, DeadlineExceeded, SchemaNotApplied: As for `HistoryReader`.
        """
        lexemes = self._analyzer.query_lexemes(head_and_tail(request.query))
        deadline = anyio.current_time() + request.timeout
        notes = [WORDS_ALONE]
        entries = await self._entries(request, moment) if lexemes and Kind.ENTRY in request.space.kinds else []
        if len(entries) > MOST_ENTRIES:
            notes.append(NOT_ALL)
        counted = await self._counted(entries[:MOST_ENTRIES])
        turns = TextMatches(hits=())
        if lexemes and Kind.TURN in request.space.kinds:
            turns = await self._turns(request, lexemes, moment, left=deadline - anyio.current_time())
        statistics = _statistics(lexemes, [words for _, words in counted], turns)
        candidates = [*_scored(counted, statistics), *map(_said, turns.hits)]
        question = head_and_tail(request.query)
        ranked = order(candidates, statistics, NO_COSINES, moment, self._ranking, question=question)
        floor = floor_for(request, lexemes) if self._ranking.fusion is Fusion.SCORES else 0.0
        hits, _ = place(ranked, request, floor)
        return RecallResult(hits=tuple(hits), degraded=tuple(notes), trace_id=TraceId(uuid4()))

    async def _entries(self, request: RecallRequest, moment: datetime) -> Sequence[Entry]:
        async with self._breaker.awaited(timeout=request.timeout * READ_SHARE) as left:
            return await self._history.entries_at(
                request.caller,
                request.space.scope,
                moment,
                target=request.space.target,
                limit=MOST_ENTRIES + 1,
                timeout=left,
            )

    async def _counted(self, entries: Iterable[Entry]) -> list[tuple[Entry, Counter[str]]]:
        counted = []
        for entry in entries:
            counted.append((entry, Counter(self._analyzer.analyze(indexed_row(entry)))))
            await checkpoint()
        return counted

    async def _turns(
        self, request: RecallRequest, lexemes: tuple[str, ...], moment: datetime, *, left: float
    ) -> TextMatches:
        space = SearchSpace(scope=request.space.scope, kinds=frozenset({Kind.TURN}))
        deadline = anyio.current_time() + max(left, 0.01)
        async with self._breaker.awaited(timeout=max(left, 0.01)) as allowed:
            found = await self._search.by_text(request.caller, space, lexemes, limit=TURN_CANDIDATES, timeout=allowed)
            if not found.hits:
                return found
            rest = max(deadline - anyio.current_time(), 0.01)
            rows = [hit.row.id for hit in found.hits]
            known = await self._history.stored_at(request.caller, rows, moment, timeout=rest)
        return TextMatches(
            hits=[hit for hit in found.hits if hit.row.id in known],
            documents=found.documents,
            mean_length=found.mean_length,
            document_frequencies=found.document_frequencies,
        )


def _statistics(lexemes: tuple[str, ...], entries: Sequence[Mapping[str, int]], turns: TextMatches) -> QueryStatistics:
    """Count over the memories as they stood and the turns as they are."""
    documents = len(entries) + turns.documents
    length = sum(sum(words.values()) for words in entries) + turns.documents * turns.mean_length
    return QueryStatistics(
        lexemes=lexemes,
        documents=documents,
        average_length=length / documents if documents else 0.0,
        frequencies={
            lexeme: sum(lexeme in words for words in entries) + turns.document_frequencies.get(lexeme, 0)
            for lexeme in lexemes
        },
    )


def _scored(counted: Sequence[tuple[Entry, Counter[str]]], statistics: QueryStatistics) -> list[Candidate]:
    scores = ((entry, words, bm25(words, words.total(), statistics)) for entry, words in counted)
    return [
        Candidate(row=entry, bm25=score, held=mask_of(map(words.__contains__, statistics.lexemes)))
        for entry, words, score in scores
        if score > 0
    ]


def _said(hit: TextHit) -> Candidate:
    return Candidate(row=hit.row, bm25=hit.bm25, held=hit.held)
