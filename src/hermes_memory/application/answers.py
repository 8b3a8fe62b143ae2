"""What is asked of recall, what it answers, and how the answer came about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from hermes_memory.domain.fusion import Ranked
from hermes_memory.domain.model import Caller, RowId, SessionId, TraceId
from hermes_memory.ports.reading import SearchSpace


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallRequest:
    """What is asked.

    Attributes:
        limit: Most hits wanted, from 1.
        timeout: Seconds the answer is worth waiting for.
        floor: Fused score below which nothing is returned; 0 returns everything found. Ranks that are fused say
            nothing about how well anything fits, so it does not hold for them.
        exclude: Contents not to return, such as what the prompt holds already.
        window: The conversation that is going on, and the time since when its turns are still in view: those are not
            returned either.
    """

    caller: Caller
    query: str
    space: SearchSpace
    limit: int
    timeout: float
    floor: float = 0.0
    exclude: frozenset[str] = frozenset()
    window: tuple[SessionId, datetime] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """How an answer came about.

    Attributes:
        lexemes: What the text leg looked for.
        candidates: Rows found by each leg.
        cut: Ranked rows that did not make it, each with the reason.
        timings: Seconds by stage.
        problems: What degraded the answer, one sentence each.
    """

    id: TraceId
    at: datetime
    caller: Caller
    space: SearchSpace
    lexemes: tuple[str, ...]
    candidates: Mapping[str, int]
    ranked: tuple[Ranked, ...]
    cut: tuple[tuple[RowId, str], ...]
    timings: Mapping[str, float]
    problems: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallResult:
    """The answer: ranked rows, best first.

    Attributes:
        degraded: What kept the answer from being complete, one sentence each; empty when nothing did.
        trace_id: Handle by which the answer can be explained while it is remembered.
    """

    hits: tuple[Ranked, ...]
    degraded: tuple[str, ...]
    trace_id: TraceId
