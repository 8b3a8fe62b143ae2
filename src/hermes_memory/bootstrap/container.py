"""How the parts of a memory fit together. Built anew for each memory; the lifetimes are in `opening`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from functools import partial
from typing import Final

from dependency_injector import providers

from hermes_memory.adapters.postgres.delivery import PostgresDelivery
from hermes_memory.adapters.postgres.embedding_queue import PostgresEmbeddingQueue
from hermes_memory.adapters.postgres.folding import PostgresTextIndex
from hermes_memory.adapters.postgres.history_reader import PostgresHistory
from hermes_memory.adapters.postgres.inspector import PostgresInspector
from hermes_memory.adapters.postgres.people import PostgresPeople
from hermes_memory.adapters.postgres.pool import Pool
from hermes_memory.adapters.postgres.reader import PostgresReader
from hermes_memory.adapters.postgres.seals import PostgresSeals
from hermes_memory.adapters.postgres.search import PostgresSearch
from hermes_memory.adapters.published_heads import publish
from hermes_memory.adapters.stemming import snowball_stem
from hermes_memory.application.breaker import EMBEDDER, STORE, Breaker
from hermes_memory.application.deliver import Deliverer
from hermes_memory.application.embed import EmbedStage
from hermes_memory.application.explain import Explainer
from hermes_memory.application.fold import FoldStage
from hermes_memory.application.guarded_reader import GuardedReader
from hermes_memory.application.health import Health
from hermes_memory.application.legs import Legs
from hermes_memory.application.link import StoreLink
from hermes_memory.application.memory import Memory
from hermes_memory.application.monitor import Monitor
from hermes_memory.application.past import Past
from hermes_memory.application.people import PersonBook
from hermes_memory.application.recall import Recall
from hermes_memory.application.reconcile import Reconciler
from hermes_memory.application.sealing import SealStage
from hermes_memory.application.services import Services
from hermes_memory.application.spool_access import SpoolAccess
from hermes_memory.application.status import StatusReporter
from hermes_memory.application.store_readings import StoreReadings
from hermes_memory.application.telemetry import Telemetry
from hermes_memory.application.worker import Worker
from hermes_memory.bootstrap.destination import destination_of
from hermes_memory.bootstrap.embedder import make_embedder
from hermes_memory.bootstrap.home import LocalHalf, database_folder, published_heads_path, utc_now
from hermes_memory.bootstrap.parts import ON_THIS_MACHINE, part_policy
from hermes_memory.bootstrap.store import EMBEDDED_PARTITIONS, EmbeddedStore, FleetStore, StoreHost, StorePreparation
from hermes_memory.domain.fusion import Fusion
from hermes_memory.domain.lexemes import Analyzer
from hermes_memory.domain.ranking import RankingPolicy
from hermes_memory.domain.weights import RankingWeights
from hermes_memory.ports.embedding import Embedder, EmbeddingQueue
from hermes_memory.ports.metrics import Timing
from hermes_memory.ports.seals import Sealed
from hermes_memory.ports.text_index import TextIndex
from hermes_memory.settings import Settings

STATEMENTS_A_BATCH: Final = 3
"""How many statements a batch of writes, or the wait for one, may take at their longest."""


def _pool(settings: Settings, host: StoreHost, telemetry: Telemetry) -> Pool:
    return Pool(
        host.dsn,
        max_size=settings.pool_size,
        connect_timeout=settings.connect_timeout,
        command_timeout=settings.command_timeout,
        statement_cache_size=100 if settings.statement_cache else 0,
        waited=partial(telemetry.took, Timing.POOL_WAIT),
    )


def _store_host(settings: Settings, embedder: Embedder | None, worker: Worker) -> StoreHost:
    dsn = settings.dsn
    if dsn is not None:
        return FleetStore(dsn.get_secret_value)
    return EmbeddedStore(
        database_folder(settings.home),
        worker,
        state_directory=settings.state_directory,
        runtime_role=settings.runtime_role,
        partitions=settings.partitions or EMBEDDED_PARTITIONS,
        read_policy=settings.read_policy,
        forgotten_days=settings.forgotten_days,
        generation=(embedder.model, embedder.dimension) if embedder else None,
        part_tokens=part_policy(settings).tokens,
    )


def _delivery(settings: Settings, pool: Pool, analyzer: Analyzer) -> PostgresDelivery:
    return PostgresDelivery(pool, analyze=analyzer.analyze, timeout=settings.command_timeout * STATEMENTS_A_BATCH)


def _ranking(settings: Settings) -> RankingPolicy:
    half_life = timedelta(days=settings.half_life_days) if settings.half_life_days else None
    return RankingPolicy(
        weights=RankingWeights.named(settings.ranking_weights, half_life=half_life),
        fusion=Fusion.RANKS if settings.strategy == "rrf" else Fusion.SCORES,
    )


def _stage(
    settings: Settings, queue: EmbeddingQueue, embedder: Embedder | None, breaker: Breaker, telemetry: Telemetry
) -> EmbedStage | None:
    if embedder is None:
        return None
    return EmbedStage(
        queue,
        embedder,
        breaker=breaker,
        batch=settings.embed_batch,
        parallel=1 if settings.embedder in ON_THIS_MACHINE else settings.embed_parallel,
        timeout=settings.embed_write_timeout,
        chunk=part_policy(settings),
        telemetry=telemetry,
    )


def _deliverer(
    local: LocalHalf,
    spool: SpoolAccess,
    delivery: PostgresDelivery,
    breaker: Breaker,
    stage: EmbedStage | None,
    *,
    sealing: SealStage,
) -> Deliverer:
    async def delivered(_outcomes: object) -> None:
        sealing.doorbell.ring()
        if stage is None:
            return
        if deliverer.behind:
            stage.make_way()
        stage.doorbell.ring()

    deliverer = Deliverer(
        spool, local.leadership, delivery, breaker=breaker, delivered=delivered, telemetry=local.telemetry
    )
    return deliverer


def _seal_stage(settings: Settings, local: LocalHalf, seals: PostgresSeals, worker: Worker) -> SealStage:
    path = published_heads_path(local.folder, destination_of(settings))

    async def published(made: Sequence[Sealed]) -> None:
        await worker.call(lambda: publish(path, made))

    return SealStage(seals, publish=published, telemetry=local.telemetry)


def _fold_stage(index: TextIndex, deliverer: Deliverer) -> FoldStage:
    return FoldStage(index, behind=lambda: deliverer.behind)


def _link(host: StoreHost, preparation: StorePreparation, breaker: Breaker, deliverer: Deliverer) -> StoreLink:
    return StoreLink(
        preparation.prepare,
        repair=preparation.repair if host.repairs else None,
        breaker=breaker,
        opened=deliverer.doorbell.ring,
    )


def _memory(settings: Settings, local: LocalHalf, services: Services, embedder: Embedder | None) -> Memory:
    return Memory(
        services,
        subject_for=local.subject_for,
        embeds=embedder is not None,
        write_timeout=settings.command_timeout * STATEMENTS_A_BATCH,
        read_timeout=settings.tool_timeout,
    )


class Container:
    """The graph of one memory. Synchronous providers only: an async resource would open and close in other tasks.

    It is a class of its own because `dependency_injector.containers` imports every web framework that it could wire
    and that is installed, as FastAPI is beside many a host: a sixth of the time that loading everything takes.

    Args:
        secret: Reads the embedding endpoint's key by the name of its variable.
    """

    def __init__(self, *, settings: Settings, local: LocalHalf, secret: Callable[[str], str | None]) -> None:
        self.settings = settings
        self.store_breaker = providers.Singleton(Breaker, STORE, failures=1, delay=0.25, longest_delay=5.0)
        self.embed_breaker = providers.Singleton(Breaker, EMBEDDER, failures=3, delay=0.5, longest_delay=5.0)

        self.stem = providers.Singleton(snowball_stem)
        self.analyzer = providers.Singleton(Analyzer, stem=self.stem)
        self.embedder = providers.Singleton(make_embedder, settings, secret)

        self.worker = providers.Singleton(Worker)
        self.host = providers.Singleton(_store_host, settings, self.embedder, self.worker)
        self.pool = providers.Singleton(_pool, settings, self.host, local.telemetry)
        self.delivery = providers.Singleton(_delivery, settings, self.pool, self.analyzer)
        self.search = providers.Singleton(PostgresSearch, self.pool)
        self.reader = providers.Singleton(PostgresReader, self.pool)
        self.registry = providers.Singleton(PostgresPeople, self.pool)
        self.people = providers.Singleton(PersonBook, self.registry, self.store_breaker)
        self.history = providers.Singleton(PostgresHistory, self.pool)
        self.text_index = providers.Singleton(PostgresTextIndex, self.pool)
        self.queue = providers.Singleton(PostgresEmbeddingQueue, self.pool)
        self.inspector = providers.Singleton(PostgresInspector, self.pool, embeds=settings.embedder != "none")
        self.preparation = providers.Singleton(StorePreparation, self.host, self.pool, self.inspector)

        self.spool = providers.Singleton(SpoolAccess, local.spool, self.worker)
        self.stage = providers.Singleton(
            _stage, settings, self.queue, self.embedder, self.embed_breaker, local.telemetry
        )
        self.seals = providers.Singleton(PostgresSeals, self.pool)
        self.sealing = providers.Singleton(_seal_stage, settings, local, self.seals, self.worker)
        self.deliverer = providers.Singleton(
            _deliverer, local, self.spool, self.delivery, self.store_breaker, self.stage, sealing=self.sealing
        )
        self.folding = providers.Singleton(_fold_stage, self.text_index, self.deliverer)
        self.link = providers.Singleton(_link, self.host, self.preparation, self.store_breaker, self.deliverer)
        self.legs = providers.Singleton(
            Legs,
            self.search,
            self.queue,
            embedder=self.embedder,
            analyzer=self.analyzer,
            store_breaker=self.store_breaker,
            embed_breaker=self.embed_breaker,
            embed_timeout=settings.embed_read_timeout,
            telemetry=local.telemetry,
        )
        self.ranking = providers.Singleton(_ranking, settings)
        self.recall = providers.Singleton(
            Recall,
            self.legs,
            analyzer=self.analyzer,
            ranking=self.ranking,
            now=utc_now,
            telemetry=local.telemetry,
        )
        self.guarded_reader = providers.Singleton(GuardedReader, self.reader, self.store_breaker)
        self.past = providers.Singleton(
            Past,
            self.history,
            self.search,
            analyzer=self.analyzer,
            ranking=self.ranking,
            breaker=self.store_breaker,
        )
        self.explainer = providers.Singleton(
            Explainer,
            self.recall,
            self.guarded_reader,
            self.search,
            analyzer=self.analyzer,
            store_breaker=self.store_breaker,
        )
        self.reconciler = providers.Singleton(Reconciler, local.mirror, self.reader, self.spool)
        self.health = providers.Singleton(
            Health,
            local.spool,
            self.link,
            self.deliverer,
            self.stage,
            store_breaker=self.store_breaker,
            embed_breaker=self.embed_breaker,
        )
        self.monitor = providers.Singleton(
            Monitor,
            self.spool,
            self.deliverer,
            self.stage,
            self.health,
            sealing=self.sealing,
            store=providers.Singleton(StoreReadings, self.queue, self.seals),
            pool=self.pool.provided.readings,
            tally=local.tally,
            store_breaker=self.store_breaker,
            embed_breaker=self.embed_breaker,
            telemetry=local.telemetry,
        )
        self.status = providers.Singleton(
            StatusReporter,
            self.spool,
            self.deliverer,
            self.stage,
            self.inspector,
            self.queue,
            leadership=local.leadership,
            tally=local.tally,
            mirror=local.mirror,
            reads_notebooks=settings.reconcile_files,
            health=self.health,
            store_breaker=self.store_breaker,
            embed_breaker=self.embed_breaker,
        )
        self.services = providers.Singleton(
            Services,
            acceptor=local.acceptor,
            deliverer=self.deliverer,
            recall=self.recall,
            explainer=self.explainer,
            reader=self.guarded_reader,
            people=self.people,
            past=self.past,
            seals=self.seals,
            sealing=self.sealing,
            queue=self.queue,
            reconciler=self.reconciler,
            link=self.link,
            spool=self.spool,
            status=self.status,
        )
        self.memory = providers.Singleton(_memory, settings, local, self.services, self.embedder)
