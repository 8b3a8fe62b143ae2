"""The shape of Ollama's `/api/embed`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from hermes_memory.adapters.embedding.http import HttpEmbedder
from hermes_memory.domain.endpoint import Endpoint
from hermes_memory.domain.errors import EmbeddingRejected


class OllamaShape:
    """Asks `{"model", "input"}`, is answered `{"embeddings": [[…]]}` in the order of the texts."""

    name: ClassVar[str] = "ollama"

    def url(self, endpoint: Endpoint) -> str:
        """Return where this shape is served."""
        return endpoint.ollama_url

    def question(self, model: str, texts: Sequence[str], dimension: int | None) -> Mapping[str, object]:
        """Return the JSON to send. Texts longer than the model's window are cut by the server."""
        question: dict[str, object] = {"model": model, "input": list(texts), "truncate": True}
        if dimension is not None:
            question["dimensions"] = dimension
        return question

    def vectors(self, answer: object) -> object:
        """Return the vectors.

        Raises:
            EmbeddingRejected: There is no such list.
        """
        if not isinstance(answer, dict) or "embeddings" not in answer:
            raise EmbeddingRejected("the embedder's answer does not have the Ollama shape")
        return answer["embeddings"]


class OllamaEmbedder(HttpEmbedder):
    """An embedder that speaks the Ollama shape only. Arguments and errors are those of `HttpEmbedder`."""

    async def _embed(self, texts: Sequence[str]) -> list[list[float]]:
        return await self._ask(OllamaShape(), texts)
