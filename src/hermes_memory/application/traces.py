"""The answers of late, remembered so that they can be explained."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from hermes_memory.application.answers import Fate, RecallRequest, Trace
from hermes_memory.application.packed import PackedTrace
from hermes_memory.domain.fusion import Candidate, Ranked
from hermes_memory.domain.model import Caller, RowId, TraceId, Turn
from hermes_memory.domain.trust import shown_unasked


@dataclass(frozen=True, slots=True)
class _Asked:
    """A moment by both clocks: one stands still while the machine sleeps, and the other may be set back."""

    steady: float
    wall: float

    @property
    def age(self) -> float:
        """The seconds since then."""
        return max(time.monotonic() - self.steady, time.time() - self.wall)


class Traces:
    """Keeps the last traces, each for who asked. Belongs to the event loop.

    Args:
        kept: How many, from 1.
    """

    def __init__(self, kept: int) -> None:
        self._kept = kept
        self._traces: OrderedDict[TraceId, tuple[_Asked, PackedTrace]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._traces)

    def remember(self, trace: PackedTrace, *, took: float) -> None:
        """Keep a trace of a question asked `took` seconds ago, in place of the oldest when there are too many."""
        asked = _Asked(time.monotonic() - took, time.time() - took)
        self._traces[trace.head.id] = asked, trace
        while len(self._traces) > self._kept:
            self._traces.popitem(last=False)

    def forget(self, seconds: float) -> None:
        """Forget the traces of questions that were asked `seconds` ago, or before."""
        for trace in [trace for trace, (asked, _) in self._traces.items() if asked.age >= seconds]:
            del self._traces[trace]

    def find(self, trace: TraceId, caller: Caller) -> Trace | None:
        """Return a trace of the caller's own; None when it is somebody else's, forgotten, or never was.

        A caller is a theme and a subject here, as they are where rows are shown: sessions share their memories.
        """
        found = self._of(trace, caller)
        return found.unpacked() if found else None

    def note_shown(self, trace: TraceId, caller: Caller, shown: int) -> None:
        """Note that of the hits only the first `shown` had room where they were shown."""
        if found := self._of(trace, caller):
            fates = tuple(_within_budget(found.placed.fates, shown))
            asked, _ = self._traces[trace]
            self._traces[trace] = asked, replace(found, placed=replace(found.placed, fates=fates))

    def _of(self, trace: TraceId, caller: Caller) -> PackedTrace | None:
        _, found = self._traces.get(trace, (None, None))
        asked = found and found.head.caller
        return found if asked and (asked.theme, asked.subject) == (caller.theme, caller.subject) else None


def parted(candidates: Sequence[Candidate], request: RecallRequest) -> tuple[Sequence[Candidate], Sequence[RowId]]:
    """Part candidates from those that may not be shown to one who has not asked; of these, return the ids.

    What may not be shown may not outrank, correct or stand for what may, so they part before anything is ranked.
    """
    if request.unasked is None:
        return candidates, ()
    shown = [one for one in candidates if shown_unasked(one.row, request.caller, request.unasked)]
    known = {one.row.id for one in shown}
    return shown, [one.row.id for one in candidates if one.row.id not in known]


def place(ranked: Sequence[Ranked], request: RecallRequest, floor: float) -> tuple[list[Ranked], list[Fate]]:
    """Decide what becomes of each candidate; return the hits, and the fates of all.

    Args:
        ranked: In their final order.
        request: Its limit, what the prompt holds, and which turns are in view count here.
        floor: Score below which nothing is returned.
    """
    hits: list[Ranked] = []
    fates: list[Fate] = []
    for one in ranked:
        fate = _fate(one, request, floor, len(hits))
        if fate is Fate.RETURNED:
            hits.append(one)
        fates.append(fate)
    return hits, fates


def _fate(one: Ranked, request: RecallRequest, floor: float, hits: int) -> Fate:
    if one.row.content in request.exclude or _in_view(one, request):
        return Fate.IN_PROMPT
    if one.score < floor:
        return Fate.FLOOR
    return Fate.RETURNED if hits < request.limit else Fate.LIMIT


def _in_view(one: Ranked, request: RecallRequest) -> bool:
    row, window = one.row, request.window
    return window is not None and isinstance(row, Turn) and row.session in window[0] and row.at >= window[1]


def _within_budget(fates: Sequence[Fate], shown: int) -> Iterator[Fate]:
    for fate in fates:
        shown -= fate is Fate.RETURNED
        yield Fate.BUDGET if fate is Fate.RETURNED and shown < 0 else fate
