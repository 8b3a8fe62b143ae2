"""Handing out numbers about a memory to whatever watches a fleet."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Protocol


class Metric(StrEnum):
    """What is measured. There is one number for each: no label, so nobody's name and no content can be in one.

    Those of the spool and of secrets are of the home, the same in each of its processes; the others of this process.
    """

    SPOOL_ACCEPTED = "spool_accepted"
    """Writes accepted, ever."""
    SPOOL_DELIVERED = "spool_delivered"
    """Writes that had their effect, ever."""
    SPOOL_BURIED = "spool_buried"
    """Writes that became dead letters, ever."""
    SPOOL_DISCARDED = "spool_discarded"
    """Writes that an operator dropped undelivered, ever."""
    SPOOL_REFUSED = "spool_refused"
    """Writes refused because of a bound, ever."""
    SPOOL_DEPTH = "spool_depth"
    """Writes that wait."""
    SPOOL_DEAD = "spool_dead"
    """Dead letters kept."""
    SPOOL_BYTES = "spool_bytes"
    """Bytes of what waits."""
    SPOOL_FILL = "spool_fill_ratio"
    """Share of the tighter bound that is taken, 0 to 1."""
    SPOOL_OLDEST_AGE = "spool_oldest_age_seconds"
    """Seconds that the oldest write has waited, 0 when none waits."""
    SPOOL_QUARANTINED = "spool_quarantined_files"
    """Damaged files set aside."""
    SECRETS_REDACTED = "secrets_redacted"
    """Secrets in whose place a mark was kept, ever."""
    SECRETS_REFUSED = "secrets_refused"
    """Secrets because of which a text was not kept, ever."""
    LEADER = "leader"
    """1 while this process delivers for its home."""
    DELIVERED = "delivered"
    """Writes that this process delivered since it opened the memory."""
    POSTPONED = "postponed"
    """How often this process held a write back, and what follows it, because the store was too busy for it."""
    BATCH = "delivery_batch"
    """Writes that this process's next transaction may take: fewer where the store is slow."""
    EMBEDDED = "embedded"
    """Rows that this process embedded since it opened the memory."""
    PARKED = "parked"
    """Rows that this process set aside because the embedder refuses them."""
    STORE_BREAKER_OPEN = "store_breaker_open"
    """1 while the store is left alone because it did not answer."""
    EMBED_BREAKER_OPEN = "embed_breaker_open"
    """1 while the embedder is left alone because it did not answer."""
    DEGRADED = "degraded"
    """1 while anything is wrong."""

    @property
    def counts(self) -> bool:
        """Whether it only ever grows."""
        return self in _COUNTERS


_COUNTERS = frozenset(
    {
        Metric.SPOOL_ACCEPTED,
        Metric.SPOOL_DELIVERED,
        Metric.SPOOL_BURIED,
        Metric.SPOOL_DISCARDED,
        Metric.SPOOL_REFUSED,
        Metric.SECRETS_REDACTED,
        Metric.SECRETS_REFUSED,
        Metric.DELIVERED,
        Metric.POSTPONED,
        Metric.EMBEDDED,
        Metric.PARKED,
    }
)


class Metrics(Protocol):
    """Takes the numbers of a memory."""

    def publish(self, readings: Mapping[Metric, float]) -> None:
        """Take the numbers as they are now, which replace those from before.

        Called on the event loop every few seconds: it must not block and must not raise.
        """
        ...
