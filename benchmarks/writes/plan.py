"""How much is measured: the whole run, a quick one, and one that only shows that the harness works."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Sizes of a run. Times are in seconds, and bounds: what is not done by then is left out or counts as it is.

    Attributes:
        limit: For the whole run.
        rounds: Of everything whose figures vary; ours and the peer's alternate within each.
        paced: Exchanges a round of the accept measurement.
        latencies: Of the embedding endpoint, in milliseconds.
        waiting: Exchanges that wait when delivery begins.
        window: That a measurement of the rate of delivery may take at most; the peer's takes a third less.
        burst: Exchanges of a burst.
        burst_rounds: Bursts of each kind.
        backlog: Writes in the spool that is emptied.
        backlog_seconds: For emptying it.
        sessions: Agents in one process.
        session_seconds: For starting them.
    """

    limit: float
    rounds: int
    paced: int
    latencies: tuple[int, ...] = (0, 30, 200)
    waiting: int
    window: float
    burst: int
    burst_rounds: int
    backlog: int
    backlog_seconds: float
    sessions: tuple[int, ...]
    session_seconds: float


WHOLE: Final = Plan(
    limit=590.0,
    rounds=3,
    paced=40,
    waiting=3_000,
    window=12.0,
    burst=2_000,
    burst_rounds=2,
    backlog=50_000,
    backlog_seconds=100.0,
    sessions=(50, 1_000),
    session_seconds=35.0,
)
QUICK: Final = Plan(
    limit=88.0,
    rounds=1,
    paced=12,
    waiting=800,
    window=3.5,
    burst=500,
    burst_rounds=1,
    backlog=5_000,
    backlog_seconds=8.0,
    sessions=(50,),
    session_seconds=5.0,
)
SMOKE: Final = Plan(
    limit=600.0,
    rounds=1,
    paced=3,
    latencies=(0,),
    waiting=20,
    window=60.0,
    burst=10,
    burst_rounds=1,
    backlog=30,
    backlog_seconds=60.0,
    sessions=(3,),
    session_seconds=30.0,
)
