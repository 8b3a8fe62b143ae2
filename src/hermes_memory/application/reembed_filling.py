"""Waits until all rows that wait for a vector have been seen to, while others come."""

from __future__ import annotations

import time
from collections.abc import Collection
from typing import Final

import anyio

from hermes_memory.application.embed import EmbedStage
from hermes_memory.application.reembed_progress import Progress, Step
from hermes_memory.domain.errors import EmbedderUnavailable, Outdated
from hermes_memory.ports.embedding import EmbeddingQueue
from hermes_memory.ports.generations import Generations, WaitingRow

LOOK_SECONDS: Final = 0.25
LOOKS_SHARE: Final = 10
"""Counting takes at most this part of the time: there may be millions of rows."""
FEW: Final = 1_000
"""Rows that wait, below which it is watched which ones they are: more may come as fast as they go."""


def dropped(number: int) -> Outdated:
    """Return what is told of a generation that is not there any more."""
    return Outdated(f"the embedding generation {number} was dropped by another operator meanwhile")


class Filling:
    """Watches a generation being filled, whoever does it. Belongs to the event loop."""

    def __init__(
        self,
        number: int,
        queue: EmbeddingQueue,
        stage: EmbedStage,
        generations: Generations,
        *,
        patience: float,
        progress: Progress,
    ) -> None:
        """Watch a generation by its queue, and the stage that works here, whose embedder gets `patience` seconds."""
        self._number = number
        self._queue = queue
        self._stage = stage
        self._generations = generations
        self._patience = patience
        self._progress = progress
        self._fails_since: float | None = None
        self._embedded = 0

    async def complete(self) -> None:
        """Return once every row that waits now has a vector, is refused, or is gone.

        Raises:
            EmbedderUnavailable: The embedder has not answered for too long.
            Outdated: The generation was dropped.
        """
        await self._require_generation()
        total = (await self._queue.backlog()).waiting
        self._progress.begin(Step.EMBED, total)
        watched: Collection[WaitingRow] | None = None
        while total:
            began = time.monotonic()
            await self._require_generation()
            self._heed_embedder()
            watched, left = await self._look(watched)
            self._progress.reach(max(0, total - left))
            if not left:
                return
            await anyio.sleep(max(LOOK_SECONDS, LOOKS_SHARE * (time.monotonic() - began)))

    async def _look(self, watched: Collection[WaitingRow] | None) -> tuple[Collection[WaitingRow] | None, int]:
        """Return which rows are watched from now on, and how many of those that waited at first are left."""
        if watched:
            watched = await self._generations.waiting(self._number, watched)
            return watched, len(watched)
        waiting = (await self._queue.backlog()).waiting
        if waiting > FEW:
            return None, waiting
        watched = await self._generations.waiting(self._number)
        return watched, len(watched)

    async def _require_generation(self) -> None:
        """Ask whether it is still worth it; the connection that all ends by is kept from being cut off as idle, too."""
        if not await self._generations.kept(self._number):
            raise dropped(self._number)

    def _heed_embedder(self) -> None:
        """Give up on an embedder that has failed for too long and embedded nothing meanwhile."""
        embedded, now = self._stage.counts.embedded, time.monotonic()
        if self._stage.problem is None or embedded != self._embedded or self._fails_since is None:
            self._fails_since = now
        self._embedded = embedded
        if now - self._fails_since > self._patience:
            raise EmbedderUnavailable(f"no vectors are made: {self._stage.problem}")
