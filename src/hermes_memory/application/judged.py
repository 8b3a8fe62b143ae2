"""What a trace says of one candidate, joined from the places where it is kept, and in words."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from hermes_memory.application.answers import Fate, Placed, Trace
from hermes_memory.application.explanation import Verdict
from hermes_memory.domain.fusion import score_of
from hermes_memory.domain.model import Entry, Row, RowId

GONE: Final = "it is no longer there, or no longer yours to see"


def judged(trace: Trace, row: RowId) -> Verdict | None:
    """Return what became of a candidate, None for a row that was none. The row itself is not read."""
    for rank, placed in enumerate(trace.placed, start=1):
        if placed.row == row:
            return _placed(trace, placed, rank)
        if row in placed.collapsed:
            return _collapsed(trace, placed, row)
    return None


def as_now(verdict: Verdict, row: Row | None, trace: Trace) -> Verdict:
    """Add the row as it is now to a verdict, or that it is gone."""
    if row is None:
        return replace(verdict, fate=Fate.GONE, because=f"{GONE}; then: {verdict.because}")
    if not changed_since(row, trace):
        return replace(verdict, row=row)
    return replace(verdict, row=row, changed=True, because=f"{verdict.because}; it was changed since")


def changed_since(row: Row, trace: Trace) -> bool:
    """Tell whether a row was stored or changed after an answer, as far as it tells itself."""
    return isinstance(row, Entry) and row.updated_at > trace.at


def standing_in_legs(trace: Trace, row: RowId) -> dict[str, Any]:
    """Return the fields of a verdict that say what each leg made of a row."""
    text, near = trace.text or {}, trace.near or {}
    return {
        "text_rank": _rank_in(text, row),
        "bm25": text.get(row),
        "vector_rank": _rank_in(near, row),
        "cosine": near.get(row, trace.cosines.get(row)),
    }


def _placed(trace: Trace, placed: Placed, rank: int) -> Verdict:
    own = score_of(placed.parts, ceiling=trace.ceiling, support=trace.support, decay=placed.decay)
    lift = 0.0 if math.isclose(placed.score, own) else placed.score - own
    verdict = Verdict(
        id=placed.row,
        fate=placed.fate,
        because="",
        rank=rank,
        score=placed.score,
        parts=placed.parts,
        decay=placed.decay,
        lift=lift,
        stands_for=placed.collapsed,
        superseded_by=placed.superseded_by,
        **standing_in_legs(trace, placed.row),
    )
    return replace(verdict, because=_because(trace, verdict))


def _collapsed(trace: Trace, survivor: Placed, row: RowId) -> Verdict:
    return Verdict(
        id=row,
        fate=Fate.COLLAPSED,
        because=f"it has the same text as {survivor.row}, which stands for it; that one: {survivor.fate}",
        collapsed_into=survivor.row,
        superseded_by=survivor.superseded_by,
        **standing_in_legs(trace, row),
    )


def _because(trace: Trace, verdict: Verdict) -> str:
    sentence = _fate(trace, verdict)
    if verdict.superseded_by is not None:
        sentence = f"superseded by {verdict.superseded_by}; {sentence}"
    if trace.vector is not None and trace.near is not None and verdict.cosine is None:
        sentence += "; it had no vector, so its words alone counted"
    return sentence


def _fate(trace: Trace, verdict: Verdict) -> str:
    match verdict.fate:
        case Fate.FLOOR:
            return f"its score of {verdict.score:.3f} is below the floor of {trace.floor:g}{_nothing_fits(trace)}"
        case Fate.LIMIT:
            return f"it is number {verdict.rank} of the candidates, beyond the limit of {trace.limit}"
        case Fate.BUDGET:
            return "it was found and had no room within the token budget"
        case Fate.UNASKED:
            return "nobody asked, and who wrote it is not trusted enough to be shown unasked: see `ambient_trust`"
        case Fate.IN_PROMPT:
            return "the prompt holds it already"
        case _:
            return f"{verdict.fate} as number {verdict.rank} of the candidates"


def _nothing_fits(trace: Trace) -> str:
    if trace.support is None or any(placed.fate is not Fate.FLOOR for placed in trace.placed):
        return ""
    return f", as are all: no memory stands out for this question (support {trace.support:.3f})"


def _rank_in(leg: Mapping[RowId, float], row: RowId) -> int | None:
    # A leg keeps its rows best first.
    return next((rank for rank, one in enumerate(leg, start=1) if one == row), None)
