"""Finding out which shape an endpoint speaks."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Final

from hermes_memory.adapters.embedding.connection import UnknownPath
from hermes_memory.adapters.embedding.http import HttpEmbedder, Shape
from hermes_memory.adapters.embedding.ollama import OllamaShape
from hermes_memory.adapters.embedding.openai import OpenAIShape

logger = logging.getLogger(__name__)

_SHAPES: Final[tuple[Shape, ...]] = (OpenAIShape(), OllamaShape())


class AutoEmbedder(HttpEmbedder):
    """Asks in the OpenAI shape, then in Ollama's, and keeps to the one that worked.

    Only an endpoint that does not know the path leads on to the next shape: a refused key, an unknown model or a
    busy server is an answer, and the 404 of the other shape would hide it. Arguments and errors are those of
    `HttpEmbedder`.
    """

    _found: Shape | None = None

    async def _embed(self, texts: Sequence[str]) -> list[list[float]]:
        if self._found is not None:
            try:
                return await self._ask(self._found, texts)
            except UnknownPath:  # another server took over the address
                self._found = None
        return await self._find(texts)

    async def _find(self, texts: Sequence[str]) -> list[list[float]]:
        for shape in _SHAPES:
            try:
                vectors = await self._ask(shape, texts)
            except UnknownPath:
                continue
            self._found = shape
            logger.info("The embedder's protocol is known", extra={"action": "embedding.found", "protocol": shape.name})
            return vectors
        origin = self._connection.endpoint.origin
        raise UnknownPath(f"{origin} knows neither /v1/embeddings nor /api/embed: check embed_url")
