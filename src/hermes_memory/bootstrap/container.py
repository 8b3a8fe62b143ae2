"""How the parts of a memory fit together. Built anew for each memory; the lifetimes are in `opening`."""

from __future__ import annotations

from datetime import timedelta

from dependency_injector import containers, providers

from hermes_memory.adapters.postgres.delivery import PostgresDelivery
from hermes_memory.adapters.postgres.embedding_queue import PostgresEmbeddingQueue
from hermes_memory.adapters.postgres.inspector import PostgresInspector
from hermes_memory.adapters.postgres.pool import Pool
from hermes_memory.adapters.postgres.reader import PostgresReader
from hermes_memory.adapters.postgres.search import PostgresSearch
from hermes_memory.adapters.stemming import snowball_stem
from hermes_memory.application.breaker import Breaker
from hermes_memory.application.deliver import Deliverer
from hermes_memory.application.embed import EmbedStage
from hermes_memory.application.link import StoreLink
from hermes_memory.application.memory import Memory, Services
from hermes_memory.application.recall import Recall
from hermes_memory.application.reconcile import Reconciler
from hermes_memory.application.spool_access import SpoolAccess
from hermes_memory.application.status import StatusReporter
from hermes_memory.bootstrap.embedder import make_embedder
from hermes_memory.bootstrap.home import LocalHalf, utc_now
from hermes_memory.bootstrap.store import EMBEDDED_PARTITIONS, EmbeddedStore, FleetStore, StoreHost, StorePreparation
from hermes_memory.domain.fusion import Fusion, RankingWeights
from hermes_memory.domain.lexemes import Analyzer
from hermes_memory.domain.ranking import RankingPolicy
from hermes_memory.ports.embedding import Embedder, EmbeddingQueue
from hermes_memory.settings import Settings
