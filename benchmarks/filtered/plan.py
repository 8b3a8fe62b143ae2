"""How much is measured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

EMBEDDED_PARTITIONS: Final = 8
FLEET_PARTITIONS: Final = 32
EMBEDDED_ROWS: Final = 100_000
"""Up to so many rows, the tables are partitioned as a home's own database is; beyond, as a fleet's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Sizes of a run.

    Attributes:
        rows: In all themes together.
        questions: To each place, near ones and as many far ones.
        passes: How often each is asked, by one connection.
        changed: The share of rows that is deleted, and that is added, before everything is asked again.
    """

    rows: int = 100_000
    questions: int = 40
    passes: int = 3
    changed: float = 0.02

    @property
    def partitions(self) -> int:
        """Partitions of our tables."""
        return EMBEDDED_PARTITIONS if self.rows <= EMBEDDED_ROWS else FLEET_PARTITIONS

    @property
    def build_memory(self) -> str:
        """Memory for building an index: it holds the greater one, the peer's, with room to spare."""
        return f"{max(128, self.rows * 3_200 // 2**20)}MB"

    @property
    def server_settings(self) -> dict[str, str]:
        """Settings of the server: as much of the tables in its memory as on a machine that is meant for them."""
        return {
            "max_connections": "50",
            "shared_buffers": f"{min(2_048, max(256, self.rows // 200))}MB",
            "max_wal_size": "8GB",
        }


QUICK: Final = Plan(rows=20_000, questions=10, passes=2)
SMOKE: Final = Plan(rows=1_500, questions=2, passes=1)
