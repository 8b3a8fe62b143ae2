"""Changing the embedding model: fills a generation beside the one in use while agents work, and switches to it.

Whatever is done is done for good: a process that is killed, or interrupted, is followed by one that goes on. Several at
once share the rows among them, as the agents' own embed stages do.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import anyio

from hermes_memory.application.calibration import CosineLevels, measure
from hermes_memory.application.embed import PROBE, EmbedStage
from hermes_memory.application.reembed_filling import Filling, dropped
from hermes_memory.application.reembed_progress import Progress, Quiet, Step
from hermes_memory.domain.errors import EmbedderUnavailable, HermesMemoryError, StoreUnavailable
from hermes_memory.domain.model import Kind
from hermes_memory.ports.embedding import Embedder, EmbeddingQueue
from hermes_memory.ports.generations import Generations, GenerationStanding

logger = logging.getLogger(__name__)

GOES_ON: Final = "what is done is kept, and the same command goes on with it"
ANEW: Final = "To use it all the same: the same command again"
TOLERATE: Final = "To use it all the same: --accept-refused"
TOLERATED: Final = 10
TOLERATED_SHARE: Final = 0.01
"""Rows, or their share, that the embedder may refuse more than it did before, for the model to be taken into use."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What the new vectors are to be.

    Attributes:
        switch: Whether to use them once they are there.
        tolerate: Whether to use them however many rows the embedder refuses.
    """

    part_tokens: int
    switch: bool = True
    tolerate: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Reembedded:
    """What was reached.

    Attributes:
        standing: How things stand with the generation that was filled.
        embedded: Rows that this process embedded.
        former: The generation that was in use before, None when there was none.
        switched: Whether it is another one now.
        refused: Why the new one is not used though it was wanted, and what uses it; None otherwise.
        seconds: How long it took.
    """

    standing: GenerationStanding
    embedded: int
    former: int | None
    switched: bool
    refused: str | None
    seconds: float


class Reembedding:
    """One run of an operator. Belongs to the event loop."""

    def __init__(
        self,
        generations: Generations,
        embedder: Embedder,
        *,
        queue_of: Callable[[int], EmbeddingQueue],
        stage_of: Callable[[EmbeddingQueue], EmbedStage],
        timeout: float = 30.0,
        patience: float = 60.0,
        progress: Progress | None = None,
    ) -> None:
        """Make vectors by `embedder`.

        Args:
            queue_of: Gives the queue of a generation, whichever is in use.
            stage_of: Gives the stage that works through it.
            timeout: Seconds for a call of the embedder.
            patience: Seconds for which an embedder that fails is waited for.
        """
        self._generations = generations
        self._embedder = embedder
        self._queue_of = queue_of
        self._stage_of = stage_of
        self._timeout = timeout
        self._patience = patience
        self._progress = progress or Quiet()
        self._found: GenerationStanding | None = None

    async def run(self, wanted: Wanted) -> Reembedded:
        """Bring the generation of the embedder to use, or what is missing for it.

        It takes the place of the one that is in use as the run begins. If others have changed that by the end, one who
        helped to fill it, say, and one who has switched back since, theirs stays.

        Raises:
            EmbedderUnavailable: The embedder does not answer, or stopped answering for longer than it is waited for.
            EmbeddingRejected: It answers wrongly: another dimension, or vectors that tell nothing apart.
            Outdated: Somebody dropped the generation meanwhile.
            StoreUnavailable, SchemaNotApplied: The database does not serve.
        """
        try:
            return await self._run(wanted)
        except StoreUnavailable as error:
            raise StoreUnavailable(f"{error}; {GOES_ON}") from error
        except EmbedderUnavailable as error:
            raise type(error)(f"{error}; {GOES_ON}", retry_after=error.retry_after) from error

    async def _run(self, wanted: Wanted) -> Reembedded:
        started = time.monotonic()
        await self._embedder.embed_documents([PROBE], timeout=self._timeout)
        self._found = await self._in_use()
        async with self._generations.alone(self._waits):
            number = await self._prepared(wanted)
        queue = self._queue_of(number)
        stage = self._stage_of(queue)
        filling = Filling(number, queue, stage, self._generations, patience=self._patience, progress=self._progress)
        former, refused = await self._beside(stage, number, filling, wanted)
        standing = await self._standing(number)
        return Reembedded(
            standing=standing,
            embedded=stage.counts.embedded,
            former=former,
            switched=standing.active and former != number,
            refused=refused,
            seconds=time.monotonic() - started,
        )

    def _waits(self) -> None:
        self._progress.begin(Step.WAIT, None)

    async def _prepared(self, wanted: Wanted) -> int:
        """Make the generation and let the rows wait for it; a model that cannot be measured leaves nothing behind."""
        key = self._embedder.model, self._embedder.dimension, wanted.part_tokens
        levels = None if await self._measured(key) else await self._levels()
        number = await self._generations.register(*key)
        if levels is not None:
            await self._queue_of(number).calibrate(number, unrelated=levels.unrelated, related=levels.related)
        await self._queue_rows(number)
        return number

    async def _measured(self, key: tuple[str, int, int]) -> bool:
        return any(
            each.measured and (each.model, each.dimension, each.part_tokens) == key
            for each in await self._generations.standing()
        )

    async def _levels(self) -> CosineLevels:
        self._progress.begin(Step.MEASURE, None)
        return await measure(self._embedder, timeout=self._timeout)

    async def _queue_rows(self, number: int) -> int:
        """Let every row wait that has nothing of this generation; return how many these were."""
        self._progress.begin(Step.QUEUE, None)
        entries = await self._generations.queue_rows(number, Kind.ENTRY, self._progress.reach)
        return entries + await self._generations.queue_rows(
            number, Kind.TURN, lambda turns: self._progress.reach(entries + turns)
        )

    async def _beside(
        self, stage: EmbedStage, number: int, filling: Filling, wanted: Wanted
    ) -> tuple[int | None, str | None]:
        """Bring the generation to use while the stage embeds: rows that are stored meanwhile are not left behind.

        What goes wrong is kept until the stage has ended: out of the group it would come as one of a group.
        """
        outcome: tuple[int | None, str | None] = None, None
        failure: HermesMemoryError | None = None
        async with anyio.create_task_group() as beside:
            beside.start_soon(stage.run)
            try:
                outcome = await self._brought_to_use(number, filling, wanted)
            except HermesMemoryError as error:
                failure = await self._told(number, error)
            beside.cancel_scope.cancel()
        if failure is not None:
            raise failure
        return outcome

    async def _brought_to_use(self, number: int, filling: Filling, wanted: Wanted) -> tuple[int | None, str | None]:
        await filling.complete()
        while not await self._indexed(number):
            await filling.complete()
        await filling.complete()
        async with self._generations.alone(self._waits):
            return await self._switched(number, wanted)

    async def _indexed(self, number: int) -> bool:
        """Make the index, unless rows turn up that nobody embeds: those that were being changed when they were met."""
        async with self._generations.alone(self._waits):
            if await self._queue_rows(number):
                return False
            self._progress.begin(Step.INDEX, None)
            await self._generations.index(number, self._progress.reach)
        return True

    async def _switched(self, number: int, wanted: Wanted) -> tuple[int | None, str | None]:
        """Switch, if it is wanted and nothing speaks against it; return what was in use before, and what does."""
        one = await self._standing(number)
        active = await self._in_use()
        former = active.generation if active else None
        if one.active or not wanted.switch:
            return former, None
        if (active and active.term) != (self._found and self._found.term):
            return former, f"another operator took generation {former} into use meanwhile. {ANEW}"
        if not wanted.tolerate and _loses(one, active):
            return former, f"the embedder refuses {one.parked:,} rows, found by their words alone then. {TOLERATE}"
        await self._generations.switch(number)
        logger.info(
            "another embedding generation is in use", extra={"action": "reembed.switched", "generation": number}
        )
        return former, None

    async def _in_use(self) -> GenerationStanding | None:
        return next((each for each in await self._generations.standing() if each.active), None)

    async def _standing(self, number: int) -> GenerationStanding:
        found = [each for each in await self._generations.standing() if each.generation == number]
        if not found:
            raise dropped(number)
        return found[0]

    async def _told(self, number: int, error: HermesMemoryError) -> HermesMemoryError:
        """Return what went wrong. A statement that misses the tables of a dropped generation says something else."""
        with suppress(HermesMemoryError):
            if not await self._generations.kept(number):
                return dropped(number)
        return error


def _loses(one: GenerationStanding, active: GenerationStanding | None) -> bool:
    """Tell whether notably more rows would be without a vector than are now."""
    before = active.parked if active else 0
    return one.parked > before + max(TOLERATED, int(one.embeddable * TOLERATED_SHARE))
