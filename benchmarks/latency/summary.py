"""The table of the benchmark, and which target is met."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import fmean
from typing import Any, Final

from benchmarks.kit.figures import quantile, ratio
from benchmarks.kit.report import Line, at_most

Record = dict[str, Any]

RECALL_MS: Final = 12.0
"""Asked of the median, at 6,000 rows."""
RECALL_ROWS: Final = 6_000
QUANTILES: Final = {"p50": 0.5, "p95": 0.95, "p99": 0.99}
PROCESSORS: Final = {"own_cpu_ms": "the asking process's", "server_cpu_ms": "the server's"}
"""What a busy machine changes least. The model of the peer's agent runs in a process of its own and is in neither."""
KINDS: Final = {
    "recall": "`recall` of the library",
    "tool": "the tool `recall_conversation`",
    "prefetch": "`prefetch` before a turn",
}


def summed_up(rounds: Sequence[Record]) -> Record:
    """Sum up the rounds of one way to ask."""
    waits = [value for one in rounds for value in one["waits_ms"]]
    return {
        "questions": len(waits),
        "answered": sum(one["answered"] for one in rounds),
        **{used: _mean([one[used] for one in rounds]) for used in PROCESSORS},
        **{name: quantile(waits, share) for name, share in QUANTILES.items()},
        "waits_ms": [round(value, 2) for value in waits],
    }


def lines(results: Record) -> list[Line]:
    """Return the lines of the table."""
    return [line for size in results["sizes"] for line in _size(size["rows"], size["found"])]


def _size(rows: int, found: Record) -> Iterator[Line]:
    for kind, title in KINDS.items():
        own, peer = found[f"ours, {kind}"], found.get(f"peer, {kind}", {})
        for name in QUANTILES:
            asked = rows == RECALL_ROWS and kind == "recall" and name == "p50"
            yield Line(
                what=f"{rows:,} rows, {title}: {name}, ms",
                ours=own[name],
                other=peer.get(name),
                ratio=ratio(own[name], peer.get(name)),
                target=f"≤ {RECALL_MS:g}" if asked else "",
                met=at_most(own[name], RECALL_MS) if asked else None,
            )
        for used, whose in PROCESSORS.items():
            yield Line(
                what=f"{rows:,} rows, {title}: {whose} processor, ms a question",
                ours=own.get(used),
                other=peer.get(used),
                ratio=ratio(own.get(used), peer.get(used)),
            )


def _mean(values: Sequence[float | None]) -> float | None:
    told = [value for value in values if value is not None]
    return fmean(told) if told else None
