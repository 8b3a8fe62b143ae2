"""What the embedders over HTTP have in common: batches, time budget, checks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import ClassVar, Final, Protocol

import anyio

from hermes_memory.adapters.embedding.body import body_limit
from hermes_memory.adapters.embedding.connection import Connection
from hermes_memory.adapters.embedding.texts import DEFAULT_MAX_CHARS, prepared
from hermes_memory.adapters.embedding.vectors import checked_vectors
from hermes_memory.domain.endpoint import Endpoint, parse_endpoint
from hermes_memory.domain.errors import EmbedderUnavailable

DEFAULT_BATCH: Final = 64
"""Texts a request; larger batches gain little and make a refused text costlier to find."""

_COURTESY_SECONDS: Final = 0.5


class Shape(Protocol):
    """How an endpoint wants to be asked, and where its answer holds the vectors."""

    name: ClassVar[str]
    """Name of the shape, as the settings spell it."""

    def url(self, endpoint: Endpoint) -> str:
        """Return where this shape is served."""
        ...

    def question(self, model: str, texts: Sequence[str], dimension: int | None) -> Mapping[str, object]:
        """Return the JSON to send. A `dimension` asks the model to shorten its vectors to it."""
        ...

    def vectors(self, answer: object) -> object:
        """Return the vectors of an answer in the order of the texts; nothing else about them is checked here.

        Raises:
            EmbeddingRejected: The answer does not have this shape.
        """
        ...


class HttpEmbedder(ABC):
    """Base of the embedders over HTTP; implements `hermes_memory.ports.embedding.Embedder`.

    All calls come from one event loop. Texts, keys and answers never appear in errors or logs.

    Args:
        base_url: Where the endpoint is, with or without `/v1` at its end.
        model: The model's name, as the endpoint knows it.
        dimension: How long its vectors are, 1 to 4,000; every answer is checked against it.
        key: Returns the bearer key at each call, None or "" for no key.
        key_variable: Name of the environment variable the key comes from, to be named in messages.
        shorten: Ask the endpoint for vectors of `dimension`, for models that can shorten theirs.
        max_chars: Characters of a text that are embedded; the rest is cut off.
        max_batch: Texts a request.
        connections: Most connections at a time; one more than batches, so that a question finds one free.
        ca_file: PEM file of the authorities to trust instead of the system's.

    Raises:
        ConfigurationError: The address breaks a rule (see `endpoint`), or the file cannot be read.
    """

    def __init__(
        self,
        base_url: str,
        *,
        model: str,
        dimension: int,
        key: Callable[[], str | None] | None = None,
        key_variable: str = "",
        shorten: bool = False,
        max_chars: int = DEFAULT_MAX_CHARS,
        max_batch: int = DEFAULT_BATCH,
        connections: int = 4,
        ca_file: Path | None = None,
    ) -> None:
        self._model = model
        self._dimension = dimension
        self._shorten = shorten
        self._max_chars = max_chars
        self._max_batch = max_batch
        self._questions = 0
        self._quiet = anyio.Event()
        self._connection = Connection(
            parse_endpoint(base_url), key=key, key_variable=key_variable, limit=connections, ca_file=ca_file
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._connection.endpoint.origin!r}, model={self._model!r})"

    @property
    def model(self) -> str:
        """The model's name, as configured."""
        return self._model

    @property
    def dimension(self) -> int:
        """Length of every vector."""
        return self._dimension

    async def embed_query(self, text: str, *, timeout: float) -> list[float]:
        """Embed a question; see the port.

        Raises:
            EmbedderUnavailable: No answer in `timeout` seconds, not reachable, busy, or the key is refused.
            EmbeddingRejected: The endpoint refuses the text or answers wrongly.
        """
        self._questions += 1
        self._quiet = anyio.Event() if self._questions == 1 else self._quiet
        try:
            [vector] = await self._within([text], timeout, courteous=False)
        finally:
            self._questions -= 1
            if self._questions == 0:
                self._quiet.set()
        return vector

    async def embed_documents(self, texts: Sequence[str], *, timeout: float) -> list[list[float]]:
        """Embed texts in their order, in requests of at most `max_batch`, all within `timeout` seconds.

        A request waits for questions under way, so that these do not queue behind it at the endpoint.

        Raises:
            EmbedderUnavailable: No answer in `timeout` seconds, not reachable, busy, or the key is refused.
            EmbeddingRejected: The endpoint refuses one of the texts or answers wrongly.
        """
        return await self._within(texts, timeout, courteous=True)

    async def aclose(self) -> None:
        """Close the connections. Called again it does nothing."""
        await self._connection.aclose()

    async def _within(self, texts: Sequence[str], timeout: float, *, courteous: bool) -> list[list[float]]:
        vectors: list[list[float]] = []
        try:
            with anyio.fail_after(timeout):
                for start in range(0, len(texts), self._max_batch):
                    if courteous:
                        await self._give_way()
                    batch = texts[start : start + self._max_batch]
                    vectors += await self._embed([prepared(text, self._max_chars) for text in batch])
        except TimeoutError as error:
            origin = self._connection.endpoint.origin
            raise EmbedderUnavailable(f"{origin} did not answer within {timeout:g} s") from error
        return vectors

    async def _give_way(self) -> None:
        """Wait until no question is under way, but not for ever: questions may come without end."""
        with anyio.move_on_after(_COURTESY_SECONDS):
            while self._questions:
                await self._quiet.wait()

    @abstractmethod
    async def _embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Embed one batch of prepared texts."""

    async def _ask(self, shape: Shape, texts: Sequence[str]) -> list[list[float]]:
        answer = await self._connection.post(
            shape.url(self._connection.endpoint),
            shape.question(self._model, texts, self._dimension if self._shorten else None),
            body_limit=body_limit(len(texts)),
        )
        return checked_vectors(shape.vectors(answer), count=len(texts), dimension=self._dimension)
