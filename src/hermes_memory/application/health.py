"""What is wrong with a memory now, as this process knows it: read at any time, without asking anybody."""

from __future__ import annotations

from enum import StrEnum

from hermes_memory.application.breaker import Breaker, BreakerState
from hermes_memory.application.deliver import Deliverer
from hermes_memory.application.embed import EmbedStage
from hermes_memory.application.link import StoreLink
from hermes_memory.domain.errors import ConfigurationError, SchemaNotApplied
from hermes_memory.ports.spool import Spool


class Trouble(StrEnum):
    """A way in which a memory serves less than it should."""

    SPOOL_FULL = "spool_full"
    """New writes are refused."""
    SETUP = "setup"
    """The store or the spool needs its operator: schema, address, or a file that cannot be used."""
    STORE = "store"
    """The store is out of reach: writes wait, recall finds nothing."""
    EMBEDDER = "embedder"
    """The embedder is out of reach or not the stored one: recall works by words alone."""


class Health:
    """Tells what is wrong. Any thread may call."""

    def __init__(
        self,
        spool: Spool,
        link: StoreLink,
        deliverer: Deliverer,
        stage: EmbedStage | None,
        *,
        store_breaker: Breaker,
        embed_breaker: Breaker,
    ) -> None:
        self._spool = spool
        self._link = link
        self._deliverer = deliverer
        self._stage = stage
        self._store_breaker = store_breaker
        self._embed_breaker = embed_breaker

    @property
    def served(self) -> bool:
        """Whether the store has been usable since this memory was opened."""
        return self._link.opened

    def troubles(self) -> tuple[Trouble, ...]:
        """Return what is wrong now, in the order of `Trouble`. A store that is still starting is nothing wrong."""
        found = {
            Trouble.SPOOL_FULL: self._spool.full(),
            Trouble.SETUP: self._needs_operator(),
            Trouble.STORE: self._store_away(),
            Trouble.EMBEDDER: self._embedder_away(),
        }
        return tuple(trouble for trouble, present in found.items() if present)

    def _needs_operator(self) -> bool:
        waiting_for = isinstance(self._link.problem, SchemaNotApplied | ConfigurationError)
        return self._deliverer.obstacle is not None or (waiting_for and not self._link.opened)

    def _store_away(self) -> bool:
        if self._link.opened:
            return self._store_breaker.state is not BreakerState.CLOSED
        return self._link.problem is not None and not self._needs_operator()

    def _embedder_away(self) -> bool:
        if self._stage is None:
            return False
        return self._stage.mismatch is not None or self._embed_breaker.state is not BreakerState.CLOSED
