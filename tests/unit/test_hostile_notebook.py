"""A notebook far larger than a host keeps: it is copied in parts, and everything else goes on in between."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from itertools import pairwise
from typing import Final, TypeVar

from hermes_memory.adapters.inmemory.notebooks import InMemoryNotebooks
from hermes_memory.adapters.inmemory.spool import InMemorySpool
from hermes_memory.adapters.inmemory.store import InMemoryStore
from hermes_memory.application.accept import Acceptor, CapturePolicy
from hermes_memory.application.mirror import Mirror
from hermes_memory.application.reconcile import WRITES_AT_ONCE, Reconciler
from hermes_memory.application.spool_access import SpoolAccess
from hermes_memory.application.worker import Worker
from hermes_memory.domain.model import Target
from hermes_memory.testing.making import DESK, HOME, PLENTY

Answer = TypeVar("Answer")
LINES: Final = [f"Line {number} of the notebook" for number in range(WRITES_AT_ONCE * 3 + 7)]


class CountingWorker(Worker):
    """Notes how much was accepted when each piece of work ended."""

    def __init__(self, spool: InMemorySpool) -> None:
        super().__init__()
        self._spool = spool
        self.accepted = [0]

    async def call(self, work: Callable[[], Answer], *, abandon: bool = False) -> Answer:
        answer = await super().call(work, abandon=abandon)
        self.accepted.append(self._spool.status().accepted)
        return answer


async def test_a_large_notebook_is_copied_in_parts_each_line_once() -> None:
    spool, store = InMemorySpool(), InMemoryStore(analyze=str.split)
    notebooks = InMemoryNotebooks(HOME)
    notebooks.write(Target.MEMORY, "\n§\n".join(LINES))
    acceptor = Acceptor(spool, policy=CapturePolicy(), now=lambda: datetime.now(UTC))
    worker = CountingWorker(spool)
    reconciler = Reconciler(Mirror(acceptor, notebooks), store.reader, SpoolAccess(spool, worker))

    count = await reconciler.reconcile(DESK, timeout=5.0)
    await store.delivery.apply([item.operation for item in spool.due(PLENTY)])
    again = await reconciler.reconcile(DESK, timeout=5.0)

    steps = [after - before for before, after in pairwise(worker.accepted)]
    assert count == len(LINES)
    assert again == 0
    assert max(steps) == WRITES_AT_ONCE
