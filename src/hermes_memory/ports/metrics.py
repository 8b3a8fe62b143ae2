"""Handing out numbers about a memory to whatever watches a fleet.

What is measured is named here and nowhere else, each with the one sentence that all who show it repeat. A name says
what, never who: there is no label but a few fixed words, so nobody's name and no content can be in one, and how many
series there are does not depend on what is remembered.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final, Protocol

BUCKETS: Final = (0.00025, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
"""Upper bounds, in seconds, of the classes into which times are counted: from an accepted write to an outage."""


class Place(StrEnum):
    """Of what a number is."""

    HOME = "home"
    """The same in each process of the home: of several, count one."""
    PROCESS = "process"
    """Of the process that shows it."""
    STORE = "store"
    """Of the database, the same for all homes that share it: of several, count one."""


class Metric(StrEnum):
    """A number that is read every few seconds, as it is then."""

    SPOOL_ACCEPTED = "spool_accepted"
    SPOOL_DELIVERED = "spool_delivered"
    SPOOL_BURIED = "spool_buried"
    SPOOL_DISCARDED = "spool_discarded"
    SPOOL_REFUSED = "spool_refused"
    SPOOL_DEPTH = "spool_depth"
    SPOOL_DEAD = "spool_dead"
    SPOOL_BYTES = "spool_bytes"
    SPOOL_FILL = "spool_fill_ratio"
    SPOOL_OLDEST_AGE = "spool_oldest_age_seconds"
    SPOOL_QUARANTINED = "spool_quarantined_files"
    SPOOL_READABLE = "spool_readable"
    STRANDED = "stranded_writes"
    SECRETS_REDACTED = "secrets_redacted"
    SECRETS_REFUSED = "secrets_refused"
    LED = "led"
    LEADER = "leader"
    DELIVERED = "delivered"
    POSTPONED = "postponed"
    BATCH = "delivery_batch"
    EMBEDDED = "embedded"
    PARKED = "parked"
    SEALED = "sealed"
    POOL_CONNECTIONS = "pool_connections"
    POOL_WAITING = "pool_waiting"
    POOL_SIZE = "pool_size"
    STORE_BREAKER_OPEN = "store_breaker_open"
    EMBED_BREAKER_OPEN = "embed_breaker_open"
    DEGRADED = "degraded"
    DEGRADED_SPOOL_FULL = "degraded_spool_full"
    DEGRADED_SETUP = "degraded_setup"
    DEGRADED_STORE = "degraded_store"
    DEGRADED_EMBEDDER = "degraded_embedder"
    READ_AT = "read_timestamp_seconds"
    STORE_UP = "store_up"
    UNEMBEDDED = "unembedded_rows"
    UNEMBEDDABLE = "unembeddable_rows"
    UNSEALED = "unsealed_changes"
    SEAL_LAG = "seal_lag_seconds"
    THEMES = "themes"
    ENTRIES = "entries"
    TURNS = "turns"
    VECTORS = "vectors"

    @property
    def counts(self) -> bool:
        """Whether it only ever grows."""
        return self in _COUNTERS

    @property
    def place(self) -> Place:
        """Of what it is."""
        if self in _OF_THE_STORE:
            return Place.STORE
        return Place.PROCESS if self in _OF_A_PROCESS else Place.HOME

    @property
    def help(self) -> str:
        """What it says, in a sentence."""
        return _HELP[self]


_HELP: Final[Mapping[Metric, str]] = {
    Metric.SPOOL_ACCEPTED: "Writes accepted, ever.",
    Metric.SPOOL_DELIVERED: "Writes that had their effect, ever.",
    Metric.SPOOL_BURIED: "Writes that became dead letters, ever.",
    Metric.SPOOL_DISCARDED: "Writes that an operator dropped undelivered, ever.",
    Metric.SPOOL_REFUSED: "Writes refused because the spool had reached its bound, ever.",
    Metric.SPOOL_DEPTH: "Writes that wait for the database.",
    Metric.SPOOL_DEAD: "Dead letters kept.",
    Metric.SPOOL_BYTES: "Bytes of the writes that wait.",
    Metric.SPOOL_FILL: "Share of the spool's tighter bound that is taken, 0 to 1.",
    Metric.SPOOL_OLDEST_AGE: "Seconds that the oldest write has waited, 0 when none waits.",
    Metric.SPOOL_QUARANTINED: "Damaged spool files set aside.",
    Metric.SPOOL_READABLE: "1 while the spool can be read.",
    Metric.STRANDED: "Writes that wait, or are dead, for databases that the home does not point at any more.",
    Metric.SECRETS_REDACTED: "Secrets in whose place a mark was kept, ever.",
    Metric.SECRETS_REFUSED: "Secrets because of which a text was not kept, ever.",
    Metric.LED: "1 while some process delivers for the home.",
    Metric.LEADER: "1 while this process delivers for its home.",
    Metric.DELIVERED: "Writes delivered since the memory was opened.",
    Metric.POSTPONED: "Times that a write was held back, and what follows it, because the store was too busy for it.",
    Metric.BATCH: "Writes that the next transaction may take: fewer where the store is slow.",
    Metric.EMBEDDED: "Rows embedded since the memory was opened.",
    Metric.PARKED: "Rows set aside because the embedder refuses them, since the memory was opened.",
    Metric.SEALED: "Changes bound into the chain of history since the memory was opened.",
    Metric.POOL_CONNECTIONS: "Database connections in use or being made.",
    Metric.POOL_WAITING: "Transactions that wait for a connection.",
    Metric.POOL_SIZE: "Database connections at most.",
    Metric.STORE_BREAKER_OPEN: "1 while the store is left alone because it did not answer.",
    Metric.EMBED_BREAKER_OPEN: "1 while the embedder is left alone because it did not answer.",
    Metric.DEGRADED: "1 while anything is wrong.",
    Metric.DEGRADED_SPOOL_FULL: "1 while new writes are refused.",
    Metric.DEGRADED_SETUP: "1 while the store or the spool needs its operator.",
    Metric.DEGRADED_STORE: "1 while the store is out of reach: writes wait, recall finds nothing.",
    Metric.DEGRADED_EMBEDDER: "1 while the embedder is of no use: recall works by words alone.",
    Metric.READ_AT: "When these numbers were read, in seconds since 1970.",
    Metric.STORE_UP: "1 when the database answered at the last look.",
    Metric.UNEMBEDDED: "Rows that wait for a vector.",
    Metric.UNEMBEDDABLE: "Rows without a vector because the embedder refuses them.",
    Metric.UNSEALED: "Changes that wait for their seal.",
    Metric.SEAL_LAG: "Seconds that the oldest change has waited for its seal, 0 when none waits.",
    Metric.THEMES: "Themes that are known.",
    Metric.ENTRIES: "Entries stored.",
    Metric.TURNS: "Turns stored.",
    Metric.VECTORS: "Rows that have a vector of the active generation.",
}
_COUNTERS: Final = frozenset(
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
        Metric.SEALED,
    }
)
_OF_THE_STORE: Final = frozenset(
    {
        Metric.STORE_UP,
        Metric.UNEMBEDDED,
        Metric.UNEMBEDDABLE,
        Metric.UNSEALED,
        Metric.SEAL_LAG,
        Metric.THEMES,
        Metric.ENTRIES,
        Metric.TURNS,
        Metric.VECTORS,
    }
)
_OF_A_PROCESS: Final = frozenset(
    {
        Metric.LEADER,
        Metric.DELIVERED,
        Metric.POSTPONED,
        Metric.BATCH,
        Metric.EMBEDDED,
        Metric.PARKED,
        Metric.SEALED,
        Metric.POOL_CONNECTIONS,
        Metric.POOL_WAITING,
        Metric.POOL_SIZE,
        Metric.STORE_BREAKER_OPEN,
        Metric.EMBED_BREAKER_OPEN,
        Metric.DEGRADED,
        Metric.DEGRADED_SPOOL_FULL,
        Metric.DEGRADED_SETUP,
        Metric.DEGRADED_STORE,
        Metric.DEGRADED_EMBEDDER,
        Metric.READ_AT,
    }
)


class Timing(StrEnum):
    """Something that takes time, told each time it ends. All are of a process. What follows a dot is a stage of it."""

    __hash__ = str.__hash__  # an enumeration's own takes longer than all else that is done for a number

    ACCEPT = "accept"
    DELIVERY = "delivery"
    DELIVERY_LAG = "delivery_lag"
    EMBEDDING = "embedding"
    SEALING = "sealing"
    POOL_WAIT = "pool_wait"
    RECALL = "recall"
    RECALL_EMBED = "recall_stage.embed"
    RECALL_TEXT = "recall_stage.text"
    RECALL_VECTOR = "recall_stage.vector"
    RECALL_COSINES = "recall_stage.cosines"

    @property
    def family(self) -> str:
        """The name under which it is counted, its stages together."""
        return f"{self.value.partition('.')[0]}_seconds"

    @property
    def labels(self) -> Mapping[str, str]:
        """The fixed word that tells a stage from the others, if it is one."""
        stage = self.value.partition(".")[2]
        return {"stage": stage} if stage else {}

    @property
    def help(self) -> str:
        """What its family says, in a sentence."""
        return _TIMING_HELP[self.family]


_TIMING_HELP: Final[Mapping[str, str]] = {
    "accept_seconds": "Seconds that the spool took to keep a write durably, or to refuse it.",
    "delivery_seconds": "Seconds that a batch of writes took in the database.",
    "delivery_lag_seconds": "Seconds from the acceptance of a write to its effect in the database.",
    "embedding_seconds": "Seconds that the embedder took for a batch of texts.",
    "sealing_seconds": "Seconds that sealing a part of the history took.",
    "pool_wait_seconds": "Seconds that a transaction waited for a database connection.",
    "recall_seconds": "Seconds that an answer took, all of it.",
    "recall_stage_seconds": "Seconds that a stage of an answer took; stages overlap.",
}


class Happening(StrEnum):
    """Something that is counted each time it happens. All are of a process. What follows the dot is its kind."""

    __hash__ = str.__hash__  # an enumeration's own takes longer than all else that is done for a number

    RECALL_FULL = "recalls.full"
    RECALL_DEGRADED = "recalls.degraded"
    RECALL_FAILED = "recalls.failed"
    DEGRADED_BY_TEXT = "degraded_answers.text"
    DEGRADED_BY_VECTOR = "degraded_answers.vector"
    DEGRADED_BY_EMBEDDER = "degraded_answers.embedder"
    DEGRADED_BY_MISMATCH = "degraded_answers.mismatch"
    REFUSED_FULL = "refused_writes.full"
    REFUSED_INVALID = "refused_writes.invalid"
    REFUSED_UNUSABLE = "refused_writes.unusable"

    @property
    def family(self) -> str:
        """The name under which it is counted, all its kinds together."""
        return self.value.partition(".")[0]

    @property
    def labels(self) -> Mapping[str, str]:
        """The fixed word that tells its kind."""
        label = "outcome" if self.family == "recalls" else "reason"
        return {label: self.value.partition(".")[2]}

    @property
    def help(self) -> str:
        """What its family says, in a sentence."""
        return _HAPPENING_HELP[self.family]


_HAPPENING_HELP: Final[Mapping[str, str]] = {
    "recalls": "Answers that were asked for: full, degraded (some leg was missing), or failed (none at all).",
    "degraded_answers": "Reasons why answers were degraded: the search by text or by vector failed or was late, the "
    "embedder did not embed the query, or it is not the one of the stored vectors (mismatch).",
    "refused_writes": "Writes refused: the spool is full, the write alone is too large (invalid), or the spool cannot "
    "be used for now (unusable).",
}


class Metrics(Protocol):
    """Takes the numbers of a memory. Its methods must not block and must not raise."""

    def publish(self, readings: Mapping[Metric, float]) -> None:
        """Take the numbers as they are now, which replace those from before. Called every few seconds."""
        ...

    def took(self, timing: Timing, seconds: float) -> None:
        """Take how long something took. Any thread may call, on the way of a write: it has about a microsecond."""
        ...

    def count(self, happening: Happening) -> None:
        """Take that something happened. Any thread may call."""
        ...
