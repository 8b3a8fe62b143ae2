"""The ways in which an answer can lack something, as whoever asked is told them and as they are counted."""

from __future__ import annotations

from enum import StrEnum

from hermes_memory.ports.metrics import Happening


class Degradation(StrEnum):
    """What an answer lacks, in words."""

    TEXT_FAILED = "text search failed"
    TEXT_LATE = "text search did not answer in time"
    VECTOR_FAILED = "vector search failed"
    VECTOR_LATE = "vector search did not answer in time"
    EXCHANGED = "the vectors were exchanged: found by text alone"
    MISMATCH = "the configured embedder is not the stored one: found by text alone"
    NO_VECTOR = "the embedder did not answer: found by text alone"
    QUERY_REFUSED = "the embedder refused the query: found by text alone"

    @property
    def happening(self) -> Happening:
        """As what it is counted."""
        match self:
            case Degradation.TEXT_FAILED | Degradation.TEXT_LATE:
                return Happening.DEGRADED_BY_TEXT
            case Degradation.VECTOR_FAILED | Degradation.VECTOR_LATE:
                return Happening.DEGRADED_BY_VECTOR
            case Degradation.EXCHANGED | Degradation.MISMATCH:
                return Happening.DEGRADED_BY_MISMATCH
            case Degradation.NO_VECTOR | Degradation.QUERY_REFUSED:
                return Happening.DEGRADED_BY_EMBEDDER
