"""A whole memory in this process, made of the in-memory adapters, each behind one that fails on demand."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Final

import anyio

from hermes_memory.adapters.inmemory import InMemoryStore
from hermes_memory.adapters.inmemory.metrics import InMemoryMetrics
from hermes_memory.adapters.inmemory.notebooks import InMemoryNotebooks
from hermes_memory.adapters.inmemory.secret_tally import InMemorySecretTally
from hermes_memory.adapters.inmemory.spool import InMemoryLeadership, InMemorySpool
from hermes_memory.application.accept import Acceptor, CapturePolicy
from hermes_memory.application.breaker import EMBEDDER, STORE, Breaker
from hermes_memory.application.deliver import Deliverer
from hermes_memory.application.embed import EmbedStage
from hermes_memory.application.explain import Explainer
from hermes_memory.application.guarded_reader import GuardedReader
from hermes_memory.application.health import Health
from hermes_memory.application.legs import Legs
from hermes_memory.application.link import StoreLink
from hermes_memory.application.memory import Memory, Services
from hermes_memory.application.mirror import Mirror
from hermes_memory.application.monitor import Monitor
from hermes_memory.application.past import Past
from hermes_memory.application.people import PersonBook
from hermes_memory.application.recall import Recall
from hermes_memory.application.reconcile import Reconciler
from hermes_memory.application.sealing import SealStage
from hermes_memory.application.spool_access import SpoolAccess
from hermes_memory.application.status import StatusReporter
from hermes_memory.application.store_readings import StoreReadings
from hermes_memory.application.telemetry import Telemetry
from hermes_memory.application.worker import Worker
from hermes_memory.bootstrap.home import LocalHalf
from hermes_memory.domain.contacts import ContactKind
from hermes_memory.domain.lexemes import Analyzer
from hermes_memory.domain.model import Subject
from hermes_memory.domain.ranking import RankingPolicy
from hermes_memory.domain.subjects import subject_for
from hermes_memory.ports.spool import Leadership, Spool
from hermes_memory.testing.making import HOME
from tests.support.faulty import Faults, FaultyDelivery, FaultyEmbedder, FaultyQueue, FaultyReader, FaultySearch

GUARD: Final = 60.0
"""Seconds; a guard against hanging, no measure of speed."""
SECRET: Final = b"s" * 32
MOMENT: Final = 0.01
"""Seconds after which a breaker of these tests lets a probe pass."""


def utc_now() -> datetime:
    """Return the time."""
    return datetime.now(UTC)


async def _published_nowhere(_heads: object) -> None:
    """Publish nothing: nobody looks at the heads of these tests."""


def same_stem(word: str) -> str:
    """Leave a word as it is."""
    return word


def new_analyzer() -> Analyzer:
    """Return an analyser without stemming."""
    return Analyzer(stem=same_stem)


def store_breaker() -> Breaker:
    """Return a breaker that opens with the first failure and soon probes."""
    return Breaker(STORE, failures=1, delay=MOMENT, longest_delay=MOMENT)


def embed_breaker(*, failures: int = 3) -> Breaker:
    """Return a breaker that soon probes."""
    return Breaker(EMBEDDER, failures=failures, delay=MOMENT, longest_delay=MOMENT)


class InProcess:
    """The parts of a memory, wired as the composition root wires them, over rows in this process.

    `running()` runs what delivers and embeds; without it nothing happens by itself.

    Args:
        embedder: What makes the vectors; None for a memory that works by text alone.
        store: Whose rows these are; a new one, whose vectors are the embedder's, by default.
        spool: Where accepted writes wait.
        leadership: Who delivers.
        policy: What of a conversation is kept.
        ranking: How candidates become an answer.
        local: The local half of a real home, whose spool, seat and notebooks are taken then.
        reads_notebooks: Whether the memory is kept in step with the notebooks, as its status tells of them.
    """

    def __init__(
        self,
        embedder: FaultyEmbedder | None = None,
        *,
        store: InMemoryStore | None = None,
        spool: Spool | None = None,
        leadership: Leadership | None = None,
        policy: CapturePolicy | None = None,
        ranking: RankingPolicy | None = None,
        local: LocalHalf | None = None,
        reads_notebooks: bool = True,
    ) -> None:
        self.embedder = embedder
        self.analyzer = new_analyzer()
        generation = embedder.generation if embedder else None
        self.store = store or InMemoryStore(analyze=self.analyzer.analyze, generation=generation)
        self.delivery = FaultyDelivery(self.store.delivery)
        self.search = FaultySearch(self.store.search)
        self.reader = FaultyReader(self.store.reader)
        self.queue = FaultyQueue(self.store.queue)
        self.preparing = Faults()

        self.metrics = InMemoryMetrics()
        self.telemetry = local.telemetry if local else Telemetry()
        self.telemetry.attach(self.metrics)
        self.store_breaker, self.embed_breaker = store_breaker(), embed_breaker()
        self.spool = local.spool if local else spool or InMemorySpool()
        self.access = SpoolAccess(self.spool, Worker())
        self.notebooks = InMemoryNotebooks(HOME)
        self.tally = local.tally if local else InMemorySecretTally()
        if local:
            self.acceptor, self.mirror, leadership = local.acceptor, local.mirror, local.leadership
        else:
            self.acceptor = Acceptor(
                self.spool,
                policy=policy or CapturePolicy(),
                now=utc_now,
                tally=self.tally,
                telemetry=self.telemetry,
            )
            self.mirror = Mirror(self.acceptor, self.notebooks)
        self.stage = (
            EmbedStage(self.queue, embedder, breaker=self.embed_breaker, telemetry=self.telemetry) if embedder else None
        )
        self.sealing = SealStage(self.store.seals, publish=_published_nowhere, telemetry=self.telemetry)
        self.leadership = leadership or InMemoryLeadership()
        self.deliverer = Deliverer(
            self.access,
            self.leadership,
            self.delivery,
            breaker=self.store_breaker,
            delivered=self._delivered,
            telemetry=self.telemetry,
        )
        self.link = StoreLink(
            self.preparing.meet, repair=None, breaker=self.store_breaker, opened=self.deliverer.doorbell.ring
        )
        self.health = Health(
            self.spool,
            self.link,
            self.deliverer,
            self.stage,
            store_breaker=self.store_breaker,
            embed_breaker=self.embed_breaker,
        )
        self.monitor = Monitor(
            self.access,
            self.deliverer,
            self.stage,
            self.health,
            sealing=self.sealing,
            store=StoreReadings(self.queue, self.store.seals),
            pool=dict,
            tally=self.tally,
            store_breaker=self.store_breaker,
            embed_breaker=self.embed_breaker,
            telemetry=self.telemetry,
        )
        legs = Legs(
            self.search,
            self.queue,
            embedder=embedder,
            analyzer=self.analyzer,
            store_breaker=self.store_breaker,
            embed_breaker=self.embed_breaker,
            embed_timeout=1.0,
            telemetry=self.telemetry,
        )
        self.recall = Recall(
            legs, analyzer=self.analyzer, ranking=ranking or RankingPolicy(), now=utc_now, telemetry=self.telemetry
        )
        services = self._services(reads_notebooks=reads_notebooks)
        self.memory = Memory(services, subject_for=_subject_for, embeds=embedder is not None)

    def _services(self, *, reads_notebooks: bool = True) -> Services:
        reader = GuardedReader(self.reader, self.store_breaker)
        return Services(
            acceptor=self.acceptor,
            deliverer=self.deliverer,
            recall=self.recall,
            explainer=Explainer(
                self.recall, reader, self.search, analyzer=self.analyzer, store_breaker=self.store_breaker
            ),
            reader=reader,
            people=PersonBook(self.store.people, self.store_breaker),
            past=Past(
                self.store.history,
                self.search,
                analyzer=self.analyzer,
                ranking=RankingPolicy(),
                breaker=self.store_breaker,
            ),
            seals=self.store.seals,
            sealing=self.sealing,
            queue=self.queue,
            reconciler=Reconciler(self.mirror, self.reader, self.access),
            link=self.link,
            spool=self.access,
            status=StatusReporter(
                self.access,
                self.deliverer,
                self.stage,
                self.store.inspector,
                self.queue,
                leadership=self.leadership,
                tally=self.tally,
                mirror=self.mirror,
                reads_notebooks=reads_notebooks,
                health=self.health,
                store_breaker=self.store_breaker,
                embed_breaker=self.embed_breaker,
            ),
        )

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Memory]:
        """Deliver and embed in the background; fail when the block takes longer than any test should."""
        with anyio.fail_after(GUARD):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self.link.run)
                tasks.start_soon(self.deliverer.run)
                tasks.start_soon(self.monitor.run)
                if self.stage:
                    tasks.start_soon(self.stage.run)
                yield self.memory
                tasks.cancel_scope.cancel()

    async def _delivered(self, _outcomes: object) -> None:
        if self.stage:
            self.stage.doorbell.ring()


def _subject_for(platform: str, contact: str) -> Subject:
    return subject_for(SECRET, ContactKind.PERSON, platform, contact)


async def until(check: Callable[[], object]) -> None:
    """Wait until something is true."""
    with anyio.fail_after(GUARD):
        while not check():
            await anyio.sleep(0.002)
