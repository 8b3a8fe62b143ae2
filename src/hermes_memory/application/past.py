"""The past of the memory: what became of what, and recall as of a moment."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from heapq import nlargest
from operator import attrgetter
from typing import Final, NamedTuple
from uuid import UUID, uuid4

import anyio
from anyio.lowlevel import checkpoint

from hermes_memory.application.answers import RecallRequest, RecallResult, floor_for
from hermes_memory.application.breaker import Breaker
from hermes_memory.application.traces import parted, place
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
MOST_RANKED: Final = 300
"""Memories that are ranked, those that fit best by their words: ranking takes a millisecond for a dozen rows, during
which the event loop stands still."""
SCORED_AT_ONCE: Final = 100
"""So many memories are scored in about a millisecond; then others have their turn."""
READ_SHARE: Final = 0.6
"""Share of the time that reading how memories stood may take."""
COUNT_SHARE: Final = 0.75
"""Share of the time after which their words are counted no further."""
SEARCH_SHARE: Final = 0.9
"""Share of the time after which what was said is waited for no longer; the rest is for ranking."""
NO_COSINES: Final = CosineCalibration(unrelated=0.0, related=1.0)
WORDS_ALONE: Final = "found by words alone: vectors are kept of what stands now"
NOT_ALL: Final = "only the {:,} memories changed last before that moment were searched"


class _Held(NamedTuple):
    """A memory that holds words of the question: how often each, and how many words it has in all."""

    entry: Entry
    words: Mapping[str, int]
    length: int


@dataclass(slots=True)
class _Counted:
    """What was counted of the memories as they stood."""

    holding: list[_Held] = field(default_factory=list)
    frequencies: Counter[str] = field(default_factory=Counter)
    documents: int = 0
    length: int = 0

    def add(self, entry: Entry, analysed: Sequence[str], lexemes: frozenset[str]) -> None:
        self.documents += 1
        self.length += len(analysed)
        if words := Counter(filter(lexemes.__contains__, analysed)):
            self.frequencies.update(words.keys())
            self.holding.append(_Held(entry, words, len(analysed)))


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

    async def moment(self, began: float, *, timeout: float) -> datetime:
        """Return what the store's clock told when something began.

        Args:
            began: When that was, by the clock of the event loop.

        Raises:
            StoreUnavailable, DeadlineExceeded, SchemaNotApplied: As for `HistoryReader`.
        """
        async with self._breaker.awaited(timeout=timeout) as left:
            ago = timedelta(seconds=anyio.current_time() - began)
            return await self._history.moment(timeout=left) - ago

    async def recall(self, request: RecallRequest, moment: datetime) -> RecallResult:
        """Answer a question from the memory as it stood at a moment.

        Durable memories are read from history, so that what was changed or forgotten since is found as it stood; what
        was said is found as it is, if it had been accepted by then. Ages count from that moment.

        Raises:
            StoreUnavailable, DeadlineExceeded, SchemaNotApplied: As for `HistoryReader`.
        """
        lexemes = self._analyzer.query_lexemes(head_and_tail(request.query))
        started = anyio.current_time()
        notes = [WORDS_ALONE]
        entries = await self._entries(request, moment) if lexemes and Kind.ENTRY in request.space.kinds else []
        counted = await self._counted(entries[:MOST_ENTRIES], lexemes, until=started + request.timeout * COUNT_SHARE)
        if counted.documents < len(entries):
            notes.append(NOT_ALL.format(counted.documents))
        turns = TextMatches(hits=())
        if lexemes and Kind.TURN in request.space.kinds:
            turns = await self._turns(request, lexemes, moment, until=started + request.timeout * SEARCH_SHARE)
        statistics = _statistics(lexemes, counted, turns)
        said, _ = parted([*map(_said, turns.hits)], request)
        candidates = [*await _best(counted.holding, statistics, request), *said]
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

    async def _counted(self, entries: Sequence[Entry], lexemes: tuple[str, ...], *, until: float) -> _Counted:
        counted, wanted = _Counted(), frozenset(lexemes)
        for entry in entries:
            if anyio.current_time() >= until:
                break
            counted.add(entry, self._analyzer.analyze(indexed_row(entry)), wanted)
            await checkpoint()
        return counted

    async def _turns(
        self, request: RecallRequest, lexemes: tuple[str, ...], moment: datetime, *, until: float
    ) -> TextMatches:
        space = SearchSpace(scope=request.space.scope, kinds=frozenset({Kind.TURN}))
        async with self._breaker.awaited(timeout=_left(until)) as allowed:
            found = await self._search.by_text(request.caller, space, lexemes, limit=TURN_CANDIDATES, timeout=allowed)
            if not found.hits:
                return found
            rows = [hit.row.id for hit in found.hits]
            known = await self._history.stored_at(request.caller, rows, moment, timeout=_left(until))
        return TextMatches(
            hits=[hit for hit in found.hits if hit.row.id in known],
            documents=found.documents,
            mean_length=found.mean_length,
            document_frequencies=found.document_frequencies,
        )


def _left(deadline: float) -> float:
    """Return the seconds until a deadline, never none: whoever is too late is told so by whom it asks."""
    return max(deadline - anyio.current_time(), 0.01)


def _statistics(lexemes: tuple[str, ...], entries: _Counted, turns: TextMatches) -> QueryStatistics:
    """Add up the memories as they stood and the turns as they are."""
    documents = entries.documents + turns.documents
    length = entries.length + turns.documents * turns.mean_length
    return QueryStatistics(
        lexemes=lexemes,
        documents=documents,
        average_length=length / documents if documents else 0.0,
        frequencies={
            lexeme: entries.frequencies[lexeme] + turns.document_frequencies.get(lexeme, 0) for lexeme in lexemes
        },
    )


async def _best(holding: Sequence[_Held], statistics: QueryStatistics, request: RecallRequest) -> Sequence[Candidate]:
    """Return the memories that fit best by their words, of those that may be shown."""
    best: list[Candidate] = []
    for start in range(0, len(holding), SCORED_AT_ONCE):
        scored = [_scored(held, statistics) for held in holding[start : start + SCORED_AT_ONCE]]
        shown, _ = parted(scored, request)
        best = nlargest(MOST_RANKED, [*best, *shown], key=attrgetter("bm25"))
        await checkpoint()
    return best


def _scored(held: _Held, statistics: QueryStatistics) -> Candidate:
    score = bm25(held.words, held.length, statistics)
    return Candidate(row=held.entry, bm25=score, held=mask_of(map(held.words.__contains__, statistics.lexemes)))


def _said(hit: TextHit) -> Candidate:
    return Candidate(row=hit.row, bm25=hit.bm25, held=hit.held)
