"""Explaining an answer afterwards: how it came about, and why a memory is or is not in it.

What is remembered of an answer names no content. Whatever is told of a memory is read anew, through the ordinary read
on behalf of who asks, so that nobody learns by an explanation what no read would show any more. The words of a question
are its asker's own, and go when anything is erased: of whom they tell is not known here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import anyio

from hermes_memory.application.answers import Fate, Trace
from hermes_memory.application.breaker import Breaker
from hermes_memory.application.explanation import Explanation, Verdict, Word
from hermes_memory.application.judged import as_now, changed_since, judged
from hermes_memory.application.recall import Recall
from hermes_memory.domain.bm25 import bm25
from hermes_memory.domain.errors import InvalidInput, NotVisible
from hermes_memory.domain.lexemes import Analyzer, indexed_row
from hermes_memory.domain.model import Caller, Entry, Row, RowId, TraceId, kind_of
from hermes_memory.domain.visibility import in_scope
from hermes_memory.ports.reading import Reader, Search

NO_SUCH_MEMORY: Final = "there is no such memory for this caller"


class Explainer:
    """Explains answers that are remembered still. All methods belong to the event loop.

    Raises (all methods):
        NotVisible: No such answer is remembered for this caller.
        StoreUnavailable, DeadlineExceeded, SchemaNotApplied: As for `Reader.get`.
    """

    def __init__(
        self, recall: Recall, reader: Reader, search: Search, *, analyzer: Analyzer, store_breaker: Breaker
    ) -> None:
        """Explain what `recall` answered."""
        self._recall = recall
        self._reader = reader
        self._search = search
        self._analyzer = analyzer
        self._breaker = store_breaker

    async def explain(self, caller: Caller, answer: TraceId, *, rows: int, timeout: float) -> Explanation:
        """Tell how an answer came about, with its `rows` best candidates as they are now."""
        deadline = anyio.current_time() + timeout
        trace = await self._trace(caller, answer, deadline)
        verdicts = []
        for placed in trace.placed[:rows]:
            row = await self._reader.get(caller, placed.row, timeout=_left(deadline))
            if verdict := judged(trace, placed.row):
                verdicts.append(as_now(verdict, row, trace))
        return _explanation(trace, tuple(verdicts))

    async def why(self, caller: Caller, answer: TraceId, row: RowId, *, timeout: float) -> Verdict:
        """Tell why a memory is in an answer, or is not."""
        deadline = anyio.current_time() + timeout
        trace = await self._trace(caller, answer, deadline)
        found = await self._reader.get(caller, row, timeout=_left(deadline))
        if verdict := judged(trace, row):
            return as_now(verdict, found, trace)
        if found is None:
            return Verdict(id=row, fate=Fate.UNKNOWN, because=NO_SUCH_MEMORY)
        return replace(await self._missing(caller, trace, found, deadline), row=found)

    async def _trace(self, caller: Caller, answer: TraceId, deadline: float) -> Trace:
        if self._recall.trace(answer, caller):
            ago = await self._reader.erased_ago(timeout=_left(deadline))
            if ago is not None:
                self._recall.forget_traces(ago)
        if found := self._recall.trace(answer, caller):
            return found
        raise NotVisible("no such answer is remembered")

    async def _missing(self, caller: Caller, trace: Trace, row: Row, deadline: float) -> Verdict:
        """Tell why a memory that the caller may read was not even a candidate."""
        if outside := _outside(trace, row):
            return Verdict(id=row.id, fate=Fate.ELSEWHERE, because=outside)
        if changed_since(row, trace):
            return Verdict(id=row.id, fate=Fate.LATER, because="it was stored or changed after the question")
        words = Counter(self._analyzer.analyze(indexed_row(row)))
        held = [lexeme for lexeme in trace.statistics.lexemes if words[lexeme]]
        cosine = await self._cosine(caller, trace, row, deadline)
        score = bm25(words, words.total(), trace.statistics) if held else None
        fate, because = _by_meaning(trace, cosine) if score is None else _by_words(trace, held, score)
        return Verdict(id=row.id, fate=fate, because=because, bm25=score, cosine=cosine)

    async def _cosine(self, caller: Caller, trace: Trace, row: Row, deadline: float) -> float | None:
        if trace.vector is None:
            return None
        async with self._breaker.awaited(timeout=_left(deadline)) as left:
            try:
                found = await self._search.cosines(
                    caller, [row.id], trace.vector, timeout=left, generation=trace.generation
                )
            except InvalidInput:  # the vectors that the question was compared with are not kept any more
                return None
        return found.get(row.id)


def _explanation(trace: Trace, verdicts: tuple[Verdict, ...]) -> Explanation:
    statistics = trace.statistics
    return Explanation(
        id=trace.id,
        at=trace.at,
        space=trace.space,
        limit=trace.limit,
        floor=trace.floor,
        words=tuple(
            Word(lexeme=lexeme, documents=statistics.frequencies.get(lexeme, 0), idf=statistics.idf(lexeme))
            for lexeme in statistics.lexemes
        ),
        documents=statistics.documents,
        mean_length=statistics.average_length,
        candidates=trace.candidates,
        fates=_fates(trace),
        ceiling=trace.ceiling,
        support=trace.support,
        verdicts=verdicts,
        left_out=len(trace.placed) - len(verdicts),
        timings=trace.timings,
        problems=trace.problems,
    )


def _fates(trace: Trace) -> dict[Fate, int]:
    fates = Counter(placed.fate for placed in trace.placed)
    fates[Fate.COLLAPSED] = sum(len(placed.collapsed) for placed in trace.placed)
    return {fate: fates[fate] for fate in Fate if fates[fate]}


def _outside(trace: Trace, row: Row) -> str | None:
    """Say how a row lies outside of what was searched, None when it does not."""
    space, kind = trace.space, kind_of(row)
    if kind not in space.kinds:
        return f"it is of the kind '{kind}', which was not searched"
    if isinstance(row, Entry) and space.target not in {None, row.target}:
        return f"its target is '{row.target}', and only '{space.target}' was searched"
    if not in_scope(row.theme, row.subject, row.session, trace.caller, space.scope):
        return "it lies outside of the scope that was searched"
    return None


def _by_words(trace: Trace, held: Sequence[str], score: float) -> tuple[Fate, str]:
    holds = f"it holds {', '.join(held)} of the question's words"
    if trace.text is None:
        return Fate.NOT_FOUND, f"{holds}, and the text search did not answer"
    if score <= min(trace.text.values(), default=0.0):
        return Fate.NOT_FOUND, f"{holds}, and is not among the {len(trace.text)} rows that fit them best"
    # When a turn was stored is not told, and in a large theme the least telling of the index is not read.
    return Fate.NOT_FOUND, f"{holds} and would fit: it was stored since, or the text search ended before it"


def _by_meaning(trace: Trace, cosine: float | None) -> tuple[Fate, str]:
    holds = "it holds none of the question's words"
    if trace.vector is None:
        return Fate.NOT_FOUND, f"{holds}, and none were compared by meaning"
    if trace.near is None:
        return Fate.NOT_FOUND, f"{holds}, and the search by meaning did not answer"
    if cosine is None:
        return Fate.NOT_EMBEDDED, f"{holds}, and has no vector: it is not embedded yet, or is not meant to be"
    farthest = min(trace.near.values(), default=1.0)
    if cosine <= farthest:
        nearest = f"the {len(trace.near)} nearest have {farthest:.3f} and more"
        return Fate.TOO_FAR, f"{holds}, and is too far in meaning: its cosine is {cosine:.3f}, {nearest}"
    # The index of a large theme is approximate, and a row may have got its vector only after the question.
    return Fate.NOT_FOUND, f"{holds}; its cosine of {cosine:.3f} would do, and the search by meaning did not bring it"


def _left(deadline: float) -> float:
    return max(deadline - anyio.current_time(), 0.01)
