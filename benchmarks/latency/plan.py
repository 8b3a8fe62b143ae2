"""How much is measured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Sizes of a run.

    Attributes:
        sizes: Rows of the one theme that is asked, each in databases of their own.
        rounds: Ours and the peer's alternate within each.
        questions: A round, of each kind.
        warm_up: Questions before the first round.
        limit: Memories asked for.
    """

    sizes: tuple[int, ...] = (6_000, 100_000)
    rounds: int = 3
    questions: int = 60
    warm_up: int = 20
    limit: int = 10


QUICK: Final = Plan(sizes=(6_000,), rounds=1, questions=40)
SMOKE: Final = Plan(sizes=(60,), rounds=1, questions=2, warm_up=1)
PARTITIONS: Final = 8
"""As the embedded database of a home has them."""
SERVER_SETTINGS: Final = {"max_connections": "50", "shared_buffers": "512MB", "max_wal_size": "4GB"}
