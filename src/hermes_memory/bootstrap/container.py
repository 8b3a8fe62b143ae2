"""How the parts of a memory fit together. Built anew for each memory; the lifetimes are in `opening`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from functools import partial
from typing import Final

from dependency_injector import containers, providers

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


def _embeds(settings: Settings) -> bool:
    return settings.embedder != "none"


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


class Container(containers.DeclarativeContainer):
    """The graph of one memory. Synchronous providers only: an async resource would open and close in other tasks."""

    settings = providers.Dependency(instance_of=Settings)
    local = providers.Dependency(instance_of=LocalHalf)
    secret: providers.Dependency[object] = providers.Dependency()

    store_breaker = providers.Singleton(Breaker, STORE, failures=1, delay=0.25, longest_delay=5.0)
    embed_breaker = providers.Singleton(Breaker, EMBEDDER, failures=3, delay=0.5, longest_delay=5.0)

    stem = providers.Singleton(snowball_stem)
    analyzer = providers.Singleton(Analyzer, stem=stem)
    embedder = providers.Singleton(make_embedder, settings, secret)

    worker = providers.Singleton(Worker)
    host = providers.Singleton(_store_host, settings, embedder, worker)
    pool = providers.Singleton(_pool, settings, host, local.provided.telemetry)
    delivery = providers.Singleton(_delivery, settings, pool, analyzer)
    search = providers.Singleton(PostgresSearch, pool)
    reader = providers.Singleton(PostgresReader, pool)
    registry = providers.Singleton(PostgresPeople, pool)
    people = providers.Singleton(PersonBook, registry, store_breaker)
    history = providers.Singleton(PostgresHistory, pool)
    text_index = providers.Singleton(PostgresTextIndex, pool)
    queue = providers.Singleton(PostgresEmbeddingQueue, pool)
    inspector = providers.Singleton(PostgresInspector, pool, embeds=providers.Callable(_embeds, settings))
    preparation = providers.Singleton(StorePreparation, host, pool, inspector)

    spool = providers.Singleton(SpoolAccess, local.provided.spool, worker)
    stage = providers.Singleton(_stage, settings, queue, embedder, embed_breaker, local.provided.telemetry)
    seals = providers.Singleton(PostgresSeals, pool)
    sealing = providers.Singleton(_seal_stage, settings, local, seals, worker)
    deliverer = providers.Singleton(_deliverer, local, spool, delivery, store_breaker, stage, sealing=sealing)
    folding = providers.Singleton(_fold_stage, text_index, deliverer)
    link = providers.Singleton(_link, host, preparation, store_breaker, deliverer)
    recall = providers.Singleton(
        Recall,
        search,
        queue,
        embedder=embedder,
        analyzer=analyzer,
        ranking=providers.Singleton(_ranking, settings),
        store_breaker=store_breaker,
        embed_breaker=embed_breaker,
        embed_timeout=settings.provided.embed_read_timeout,
        now=providers.Object(utc_now),
        telemetry=local.provided.telemetry,
    )
    guarded_reader = providers.Singleton(GuardedReader, reader, store_breaker)
    past = providers.Singleton(
        Past,
        history,
        search,
        analyzer=analyzer,
        ranking=providers.Singleton(_ranking, settings),
        breaker=store_breaker,
    )
    explainer = providers.Singleton(
        Explainer, recall, guarded_reader, search, analyzer=analyzer, store_breaker=store_breaker
    )
    reconciler = providers.Singleton(Reconciler, local.provided.mirror, reader, spool)
    health = providers.Singleton(
        Health,
        local.provided.spool,
        link,
        deliverer,
        stage,
        store_breaker=store_breaker,
        embed_breaker=embed_breaker,
    )
    monitor = providers.Singleton(
        Monitor,
        spool,
        deliverer,
        stage,
        health,
        sealing=sealing,
        store=providers.Singleton(StoreReadings, queue, seals),
        pool=pool.provided.readings,
        tally=local.provided.tally,
        store_breaker=store_breaker,
        embed_breaker=embed_breaker,
        telemetry=local.provided.telemetry,
    )
    status = providers.Singleton(
        StatusReporter,
        spool,
        deliverer,
        stage,
        inspector,
        queue,
        leadership=local.provided.leadership,
        tally=local.provided.tally,
        health=health,
        store_breaker=store_breaker,
        embed_breaker=embed_breaker,
    )
    services = providers.Singleton(
        Services,
        acceptor=local.provided.acceptor,
        deliverer=deliverer,
        recall=recall,
        explainer=explainer,
        reader=guarded_reader,
        people=people,
        past=past,
        seals=seals,
        sealing=sealing,
        queue=queue,
        reconciler=reconciler,
        link=link,
        spool=spool,
        status=status,
    )
    memory = providers.Singleton(_memory, settings, local, services, embedder)
