"""Asking the embedder for many texts at once, and finding out what a failure was about: a text, or the embedder."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from hermes_memory.application.breaker import Breaker
from hermes_memory.application.telemetry import Telemetry
from hermes_memory.application.throttle import Throttle
from hermes_memory.domain.errors import (
    EmbedderBusy,
    EmbedderForbidden,
    EmbedderUnavailable,
    EmbeddingRejected,
    HermesMemoryError,
)
from hermes_memory.ports.embedding import Embedder
from hermes_memory.ports.metrics import Timing

logger = logging.getLogger(__name__)

PROBE: Final = "The meeting is on Tuesday."
PROBE_SECONDS: Final = 10.0
"""A server may have to load its model first."""


@dataclass(frozen=True, slots=True)
class Refused:
    """The embedder refuses this text and takes others."""

    reason: str


@dataclass(frozen=True, slots=True)
class Unanswered:
    """There is no answer now.

    Attributes:
        suspect: The embedder fails on this text, or on one beside it, and answers others.
        reason: What went wrong.
    """

    suspect: bool
    reason: str


Answer: TypeAlias = "Sequence[float] | Refused | Unanswered"


class EmbedCalls:
    """Calls of the stage to one embedder. All methods belong to the event loop.

    Whenever a call fails, a harmless text is sent: if that fails too, the fault is the embedder's own, `problem` says
    what it is, and nothing is held against any text. A probe that fails changes nothing else.

    Attributes:
        problem: Why no vectors are made, None when they are.
        unproven: A probe was answered after a failure, and no text since.
        relapsed: And when texts were sent then, all failed again: the next probe says nothing that they would not.
    """

    def __init__(
        self,
        embedder: Embedder,
        *,
        breaker: Breaker,
        throttle: Throttle,
        timeout: float,
        clock: Callable[[], float] = time.monotonic,
        telemetry: Telemetry | None = None,
    ) -> None:
        """Ask within `timeout` seconds a call; how long each took is told to `telemetry`."""
        self._embedder = embedder
        self._breaker = breaker
        self._throttle = throttle
        self._timeout = timeout
        self._clock = clock
        self._telemetry = telemetry or Telemetry()
        self.problem: str | None = None
        self.unproven = False
        self.relapsed = False

    async def vectors(self, texts: Sequence[str], *, whole: bool = True) -> list[Answer]:
        """Return an answer for each text, in their order.

        Args:
            texts: At least one.
            whole: Whether this is a call of its own, not a part of one that was refused.
        """
        if not self._breaker.allows():
            return [Unanswered(suspect=False, reason="the embedder is left alone")] * len(texts)
        began = self._clock()
        try:
            vectors = await self._ask(texts, self._timeout)
        except EmbedderUnavailable as error:
            if isinstance(error, EmbedderBusy) or error.retry_after is not None:
                self._throttle.busy(began, error.retry_after)
                return [Unanswered(suspect=False, reason=str(error))] * len(texts)
            self._throttle.failed(began)
            return [Unanswered(suspect=await self.probe(), reason=str(error))] * len(texts)
        except EmbeddingRejected as error:
            return await self._sorted_out(texts, str(error), whole=whole)
        self._throttle.answered(began)
        self._note_success()
        return [*vectors]

    async def probe(self) -> bool:
        """Tell whether the embedder embeds a harmless text. If not, `problem` says why, and is logged once."""
        if not self._breaker.allows():
            return False
        try:
            await self._ask([PROBE], min(self._timeout, PROBE_SECONDS))
        except EmbedderBusy as error:
            self._throttle.busy(self._clock(), error.retry_after)
            return False
        except (EmbedderUnavailable, EmbeddingRejected) as error:
            self._note_problem(error)
            return False
        if self.problem is not None:
            if not self.relapsed:
                logger.info("the embedder works again", extra={"action": "embed.again"})
            self.unproven = True
        self.problem = None
        return True

    async def _ask(self, texts: Sequence[str], timeout: float) -> Sequence[Sequence[float]]:
        """Ask once, heeding and informing the breaker; being busy is a sign of life.

        Raises:
            EmbedderUnavailable, EmbeddingRejected: As `Embedder.embed_documents` does; also while the breaker is open.
        """
        with self._breaker.guard():
            try:
                with self._telemetry.timed(Timing.EMBEDDING):
                    return await self._embedder.embed_documents(texts, timeout=timeout)
            except EmbedderBusy as error:
                busy = error
        raise busy

    async def _sorted_out(self, texts: Sequence[str], reason: str, *, whole: bool) -> list[Answer]:
        """Find by halving which texts are refused, once it is sure that not all are."""
        if (whole or len(texts) == 1) and not await self.probe():
            return [Unanswered(suspect=False, reason=reason)] * len(texts)
        if len(texts) == 1:
            return [Refused(reason)]
        half = len(texts) // 2
        answers = [
            *await self.vectors(texts[:half], whole=False),
            *await self.vectors(texts[half:], whole=False),
        ]
        if not any(isinstance(answer, Refused | Unanswered) for answer in answers):
            self._throttle.too_large(len(texts))
        return answers

    def _note_success(self) -> None:
        """Note that texts are embedded."""
        if self.relapsed:
            logger.info("the embedder works again", extra={"action": "embed.again"})
        self.problem = None
        self.unproven = self.relapsed = False

    def _note_problem(self, error: HermesMemoryError) -> None:
        """Say once what is wrong with the embedder: loudly where it needs an operator, as for a key or a model.

        One that answers only now and then is not reported anew after each answer to a probe.
        """
        if self.problem is None and self.unproven:
            self.relapsed = True
        elif self.problem is None:
            lasting = isinstance(error, EmbeddingRejected | EmbedderForbidden)
            level = logging.ERROR if lasting else logging.WARNING
            facts = {"action": "embed.stopped", "cause": type(error).__name__, "reason": str(error)}
            logger.log(level, "no vectors are made", extra=facts)
        self.problem = str(error)
