"""Asks everything, again and again, and compares with the exact answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

from benchmarks.filtered.asking import DEPTH, Asked
from benchmarks.filtered.sides import Answer, Side
from benchmarks.filtered.truth import Nearest, recall
from benchmarks.kit.figures import quantile

TOP = 10
Record = dict[str, Any]


@dataclass(slots=True, kw_only=True)
class _Found:
    """All answers to one place, pass by pass."""

    asked: Asked
    passes: list[list[Answer]] = field(default_factory=list)


async def measure(
    side: Side,
    asked: Sequence[Asked],
    truth: Callable[[Asked], Nearest],
    *,
    passes: int,
    say: Callable[[str], None],
) -> list[Record]:
    """Ask one side everything by one new connection, and return a record of each place."""
    found = [_Found(asked=one) for one in asked if side.name == "ours" or one.peer_can]
    await side.connect()
    for number in range(passes):
        say(f"  {side.name}: pass {number + 1}")
        for one in found:
            one.passes.append(await side.ask(one.asked))
    depth = DEPTH if side.name == "ours" else TOP
    return [_record(side.name, one, truth(one.asked), depth) for one in found]


def _record(side: str, found: _Found, truth: Nearest, depth: int) -> Record:
    first, half = found.passes[0], len(found.passes[0]) // 2
    answers = [answer for one in found.passes for answer in one]
    near, far = range(half), range(half, len(first))
    return {
        "side": side,
        "place": found.asked.name,
        "rows": truth.seen,
        "answers": len(answers),
        "recall_near": _recall(first, truth, near, TOP),
        "recall_far": _recall(first, truth, far, TOP),
        "recall_at_depth": _recall(first, truth, range(len(first)), depth),
        "depth": depth,
        "fewer": sum(len(answer.keys) < min(depth, truth.seen) for answer in answers),
        "changed": sum(
            answer.keys[:TOP] != before.keys[:TOP]
            for later in found.passes[1:]
            for before, answer in zip(first, later, strict=True)
        ),
        "wall_ms": _times(answer.wall_ms for answer in answers),
        "cpu_ms": _times(answer.cpu_ms for answer in answers if answer.cpu_ms is not None),
    }


def _recall(answers: Sequence[Answer], truth: Nearest, questions: Iterable[int], depth: int) -> float:
    return fmean(recall(answers[number].keys, truth.keys(number), depth) for number in questions)


def _times(values: Iterable[float]) -> Record | None:
    """Return median, 99th percentile and mean, None of nothing."""
    known = list(values)
    return {"p50": quantile(known, 0.5), "p99": quantile(known, 0.99), "mean": fmean(known)} if known else None
