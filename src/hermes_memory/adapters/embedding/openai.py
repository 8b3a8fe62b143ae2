"""The shape of OpenAI's `/v1/embeddings`, which most servers and hosted services speak."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from hermes_memory.adapters.embedding.http import HttpEmbedder
from hermes_memory.domain.endpoint import Endpoint
from hermes_memory.domain.errors import EmbeddingRejected


class OpenAIShape:
    """Asks `{"model", "input"}`, is answered `{"data": [{"index", "embedding"}]}` in any order."""

    name: ClassVar[str] = "openai"

    def url(self, endpoint: Endpoint) -> str:
        """Return where this shape is served."""
        return endpoint.openai_url

    def question(self, model: str, texts: Sequence[str], dimension: int | None) -> Mapping[str, object]:
        """Return the JSON to send."""
        question: dict[str, object] = {"model": model, "input": list(texts), "encoding_format": "float"}
        if dimension is not None:
            question["dimensions"] = dimension
        return question

    def vectors(self, answer: object) -> object:
        """Return the vectors, put in order by their `index`.

        Raises:
            EmbeddingRejected: No list of objects, or their indexes are not 0 to n-1, each once.
        """
        items = answer.get("data") if isinstance(answer, dict) else None
        if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
            raise EmbeddingRejected("the embedder's answer does not have the OpenAI shape")
        places = [item.get("index") for item in items]
        by_place = {place: item.get("embedding") for place, item in zip(places, items, strict=True) if _is_int(place)}
        if sorted(by_place) != list(range(len(items))):
            raise EmbeddingRejected("the embedder's answer does not say which vector belongs to which text")
        return [by_place[place] for place in range(len(items))]


def _is_int(value: object) -> bool:
    return type(value) is int


class OpenAIEmbedder(HttpEmbedder):
    """An embedder that speaks the OpenAI shape only. Arguments and errors are those of `HttpEmbedder`."""

    async def _embed(self, texts: Sequence[str]) -> list[list[float]]:
        return await self._ask(OpenAIShape(), texts)
