"""What a memory is made of, in one place: the use cases behind its public face."""

from __future__ import annotations

from dataclasses import dataclass

from hermes_memory.application.accept import Acceptor
from hermes_memory.application.deliver import Deliverer
from hermes_memory.application.explain import Explainer
from hermes_memory.application.link import StoreLink
from hermes_memory.application.past import Past
from hermes_memory.application.people import PersonBook
from hermes_memory.application.recall import Recall
from hermes_memory.application.reconcile import Reconciler
from hermes_memory.application.sealing import SealStage
from hermes_memory.application.spool_access import SpoolAccess
from hermes_memory.application.status import StatusReporter
from hermes_memory.ports.embedding import EmbeddingQueue
from hermes_memory.ports.reading import Reader
from hermes_memory.ports.seals import Seals


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """The use cases that a memory is made of."""

    acceptor: Acceptor
    deliverer: Deliverer
    recall: Recall
    explainer: Explainer
    reader: Reader
    people: PersonBook
    past: Past
    seals: Seals
    sealing: SealStage
    queue: EmbeddingQueue
    reconciler: Reconciler
    link: StoreLink
    spool: SpoolAccess
    status: StatusReporter
