"""Keeps the rows that a worker has claimed its own while it works on them, and gives back what it does not finish."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Final, TypeAlias

import anyio

from hermes_memory.application.faults import RepeatedFaults
from hermes_memory.domain.errors import HermesMemoryError
from hermes_memory.domain.model import RowId, Theme
from hermes_memory.ports.embedding import EmbeddingJob, EmbeddingQueue

logger = logging.getLogger(__name__)

_Key: TypeAlias = tuple[int, Theme, RowId]

DEFAULT_LEASE: Final = 15.0
"""Seconds; the rows of a worker that is killed wait for that long."""
_RENEWALS: Final = 3
"""Renewals in the time of a lease: one that fails, or comes late, does no harm."""
_FAREWELL_SECONDS: Final = 0.5


class Leases:
    """The jobs that this worker holds. All methods belong to the event loop.

    A lease is short, so that the rows of a worker that was killed are soon somebody else's, and renewed, so that a slow
    embedder does not let two workers embed the same rows.
    """

    def __init__(self, queue: EmbeddingQueue, seconds: float) -> None:
        """Hold jobs for `seconds` at a time."""
        self._queue = queue
        self._faults = RepeatedFaults(logger)
        self.seconds = seconds
        self._held: dict[_Key, tuple[EmbeddingJob, float]] = {}

    def take(self, jobs: Sequence[EmbeddingJob]) -> None:
        """Note jobs that were just claimed for `seconds`."""
        now = anyio.current_time()
        self._held.update({_key(job): (job, now) for job in jobs})

    def forget(self, jobs: Sequence[EmbeddingJob]) -> None:
        """Hold jobs no longer: they are over, or somebody gave them back."""
        for job in jobs:
            self._held.pop(_key(job), None)

    async def give_back(self, jobs: Sequence[EmbeddingJob]) -> None:
        """Hold jobs no longer, and let others have them at once."""
        self.forget(jobs)
        await self._queue.hold(jobs, 0.0)

    async def renew(self) -> None:
        """Renew what is held for a while, until cancelled. A store that does not answer is asked again."""
        while True:
            await anyio.sleep(self.seconds / _RENEWALS)
            due = anyio.current_time() - self.seconds / _RENEWALS
            jobs = [job for job, since in self._held.values() if since <= due]
            try:
                await self._queue.hold(jobs, self.seconds)
            except HermesMemoryError as error:
                logger.debug("a lease is not renewed", extra={"action": "embed.lease", "cause": type(error).__name__})
            except Exception as error:  # noqa: BLE001 - the worker goes on: rows whose lease ends are embedded twice
                self._faults.tell("renewing leases met an unexpected error", error, action="embed.fault")

    async def give_all_back(self) -> None:
        """Give back everything, for half a second at most, even while being cancelled: else it waits for the lease."""
        jobs = [job for job, _ in self._held.values()]
        self._held.clear()
        if not jobs:
            return
        with anyio.move_on_after(_FAREWELL_SECONDS, shield=True):
            try:
                await self._queue.hold(jobs, 0.0)
            except HermesMemoryError as error:
                logger.debug("rows wait", extra={"action": "embed.lease", "cause": type(error).__name__})
            except Exception as error:  # noqa: BLE001 - the worker ends as it is told to: the rows wait for their lease
                self._faults.tell("giving rows back met an unexpected error", error, action="embed.fault")


def _key(job: EmbeddingJob) -> _Key:
    return job.generation, job.theme, job.row
