"""What operators want to know: is everything accepted on its way, and does recall have all it needs."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, TypeVar

from hermes_memory.application.breaker import Breaker
from hermes_memory.application.deliver import Deliverer
from hermes_memory.application.embed import EmbedStage
from hermes_memory.application.health import Health, Trouble
from hermes_memory.application.mirror import Mirror
from hermes_memory.application.spool_access import SpoolAccess
from hermes_memory.domain.errors import DeadlineExceeded, HermesMemoryError
from hermes_memory.domain.notebook_lines import Standing
from hermes_memory.ports.embedding import EmbeddingQueue, Generation
from hermes_memory.ports.generations import GenerationStanding
from hermes_memory.ports.installation import Installation, StoreInspector
from hermes_memory.ports.secrets import SecretTally, SecretTotals
from hermes_memory.ports.spool import Leadership, SpoolStatus

logger = logging.getLogger(__name__)

NO_GENERATION: Final = "no embedding generation: run migrate with an embedder configured to make one"
Counted = TypeVar("Counted")


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """A snapshot of the whole memory as this process sees it.

    Attributes:
        installation: Facts of the store, None when it could not be asked.
        store_problem: Why not, None when it could.
        rows: Stored rows by kind, empty when the store could not be asked or counting takes too long.
        secrets: Secrets that this home kept out, ever.
        held_lines: Lines of the notebooks that stay out because nobody told whose they are. 0 where none are read.
        notebook_problem: Why it is not known whose any of them are, so that all stay out; None when it is, or when
            the notebooks are not read.
        leads: Whether this process is the one that delivers for its home.
        leader: The process that does, 0 when it is not known which, None when none does.
        delivered, buried: Writes that this process delivered, or set aside, since it opened the memory.
        postponed: How often it held one back, and what follows it, because the store was too busy for it.
        batch: Writes that its next transaction may take: fewer where the store is slow.
        embedded, parked: Rows that it gave a vector, or set aside because the embedder refuses them.
        troubles: What is wrong, as this process knows it.
        embedder_problem: Why no vectors are made, None when they are or none are wanted.
        embedder_note: What they are that are made and was not configured, None when they are as configured.
        generations: How things stand with the vectors of each model, empty as `rows` is.
    """

    at: datetime
    spool: SpoolStatus
    secrets: SecretTotals
    held_lines: int
    notebook_problem: str | None
    leads: bool
    leader: int | None
    delivered: int
    buried: int
    postponed: int
    batch: int
    embedded: int
    parked: int
    store_breaker: str
    embed_breaker: str
    installation: Installation | None
    store_problem: str | None
    generation: Generation | None
    rows: Mapping[str, int]
    embedder_problem: str | None
    embedder_note: str | None
    generations: Sequence[GenerationStanding]
    troubles: tuple[Trouble, ...]


class StatusReporter:
    """Collects the snapshot. Belongs to the event loop."""

    def __init__(
        self,
        spool: SpoolAccess,
        deliverer: Deliverer,
        stage: EmbedStage | None,
        inspector: StoreInspector,
        queue: EmbeddingQueue,
        *,
        leadership: Leadership,
        tally: SecretTally,
        mirror: Mirror,
        reads_notebooks: bool,
        health: Health,
        store_breaker: Breaker,
        embed_breaker: Breaker,
    ) -> None:
        self._spool = spool
        self._deliverer = deliverer
        self._stage = stage
        self._inspector = inspector
        self._queue = queue
        self._leadership = leadership
        self._tally = tally
        self._mirror = mirror
        self._reads_notebooks = reads_notebooks
        self._health = health
        self._store_breaker = store_breaker
        self._embed_breaker = embed_breaker

    def troubles(self) -> tuple[Trouble, ...]:
        """Return what is wrong as this process knows it, without asking anybody. Any thread may call."""
        return self._health.troubles()

    async def embedder_problem(self) -> str | None:
        """Say why rows that are stored get no vector here, None when they do or are not to.

        Raises:
            StoreUnavailable, SchemaNotApplied: As for `EmbeddingQueue.active`.
        """
        if self._stage is None:
            return None
        generation = await self._queue.active()
        return self._embedder_problem(generation) if generation else NO_GENERATION

    async def report(self, *, unanswered: str | None = None) -> Status:
        """Take the snapshot; a store that does not answer is part of it, not an error."""
        installation: Installation | None = None
        generation: Generation | None = None
        rows: Mapping[str, int] = {}
        generations: Sequence[GenerationStanding] = ()
        problem = unanswered
        try:
            if problem is None:
                installation = await self._inspector.verify()
                generation = await self._queue.active()
                rows = await _in_time(self._inspector.counts(), {})
                generations = await _in_time(self._inspector.generations(), ())
        except HermesMemoryError as error:
            problem = str(error)
        notebooks = await self._spool.call(self._mirror.standing) if self._reads_notebooks else Standing()
        return Status(
            at=datetime.now(UTC),
            spool=await self._spool.status(),
            secrets=await self._spool.call(self._tally.totals),
            held_lines=0 if notebooks.problem else len(notebooks.held),
            notebook_problem=notebooks.problem,
            leads=self._deliverer.leads,
            leader=await self._spool.call(self._leadership.leader),
            delivered=self._deliverer.counts.delivered,
            buried=self._deliverer.counts.buried,
            postponed=self._deliverer.counts.postponed,
            batch=self._deliverer.batch,
            embedded=self._stage.counts.embedded if self._stage else 0,
            parked=self._stage.counts.parked if self._stage else 0,
            store_breaker=str(self._store_breaker.state),
            embed_breaker=str(self._embed_breaker.state),
            installation=installation,
            store_problem=problem,
            generation=generation,
            rows=rows,
            embedder_problem=self._embedder_problem(generation),
            embedder_note=self._stage.other_parts(generation) if self._stage and generation else None,
            generations=generations,
            troubles=self._health.troubles(),
        )

    def _embedder_problem(self, generation: Generation | None) -> str | None:
        """Say why no vectors are made, also where the stage has not yet looked at what is stored."""
        if self._stage is None:
            return None
        return (self._stage.mismatch_with(generation) if generation else None) or self._stage.problem


async def _in_time(counting: Awaitable[Counted], unknown: Counted) -> Counted:
    """Return what is counted, `unknown` where that takes too long: a store is none the worse for being large."""
    try:
        return await counting
    except DeadlineExceeded:
        logger.info("counting all rows takes too long", extra={"action": "status.uncounted"})
        return unknown
