"""The answers of late, remembered so that they can be explained."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace

from hermes_memory.application.answers import Fate, Placed, RecallRequest, Trace
from hermes_memory.domain.fusion import Candidate, Ranked
from hermes_memory.domain.model import Caller, RowId, TraceId, Turn
from hermes_memory.domain.trust import shown_unasked


class Traces:
    """Keeps the last traces, each for who asked. Belongs to the event loop.

    Args:
        kept: How many, from 1.
    """

    def __init__(self, kept: int) -> None:
        self._kept = kept
        self._traces: OrderedDict[TraceId, Trace] = OrderedDict()

    def __len__(self) -> int:
        return len(self._traces)

    def remember(self, trace: Trace) -> None:
        """Keep a trace, in place of the oldest when there are too many."""
        self._traces[trace.id] = trace
        while len(self._traces) > self._kept:
            self._traces.popitem(last=False)

    def find(self, trace: TraceId, caller: Caller) -> Trace | None:
        """Return a trace of the caller's own; None when it is somebody else's, forgotten, or never was.

        A caller is a theme and a subject here, as they are where rows are shown: sessions share their memories.
        """
        found = self._traces.get(trace)
        mine = found is not None and (found.caller.theme, found.caller.subject) == (caller.theme, caller.subject)
        return found if mine else None

    def note_shown(self, trace: TraceId, caller: Caller, shown: int) -> None:
        """Note that of the hits only the first `shown` had room where they were shown."""
        if found := self.find(trace, caller):
            self._traces[trace] = replace(found, placed=_within_budget(found.placed, shown))


def parted(candidates: Sequence[Candidate], request: RecallRequest) -> tuple[Sequence[Candidate], Sequence[RowId]]:
    """Part candidates from those that may not be shown to one who has not asked; of these, return the ids.

    What may not be shown may not outrank, correct or stand for what may, so they part before anything is ranked.
    """
    if request.unasked is None:
        return candidates, ()
    shown = [one for one in candidates if shown_unasked(one.row, request.caller, request.unasked)]
    known = {one.row.id for one in shown}
    return shown, [one.row.id for one in candidates if one.row.id not in known]


def withheld(row: RowId) -> Placed:
    """Return what is remembered of a candidate that was not ranked."""
    return Placed(row, 0.0, {}, 1.0, (), None, Fate.UNASKED)


def place(ranked: Sequence[Ranked], request: RecallRequest, floor: float) -> tuple[list[Ranked], tuple[Placed, ...]]:
    """Decide what becomes of each candidate; return the hits, and all candidates without their contents.

    Args:
        ranked: In their final order.
        request: Its limit, what the prompt holds, and which turns are in view count here.
        floor: Score below which nothing is returned.
    """
    hits: list[Ranked] = []
    placed = []
    for one in ranked:
        fate = _fate(one, request, floor, len(hits))
        if fate is Fate.RETURNED:
            hits.append(one)
        placed.append(Placed(one.row.id, one.score, one.parts, one.decay, one.collapsed, one.superseded_by, fate))
    return hits, tuple(placed)


def _fate(one: Ranked, request: RecallRequest, floor: float, hits: int) -> Fate:
    if one.row.content in request.exclude or _in_view(one, request):
        return Fate.IN_PROMPT
    if one.score < floor:
        return Fate.FLOOR
    return Fate.RETURNED if hits < request.limit else Fate.LIMIT


def _in_view(one: Ranked, request: RecallRequest) -> bool:
    row, window = one.row, request.window
    return window is not None and isinstance(row, Turn) and row.session in window[0] and row.at >= window[1]


def _within_budget(placed: Sequence[Placed], shown: int) -> tuple[Placed, ...]:
    noted = []
    for one in placed:
        if one.fate is Fate.RETURNED:
            shown -= 1
            noted.append(one if shown >= 0 else one._replace(fate=Fate.BUDGET))
        else:
            noted.append(one)
    return tuple(noted)
