"""A consumer's own embedder: it satisfies the port by its shape alone. Checked, not run."""

from __future__ import annotations

from collections.abc import Sequence

from hermes_memory.ports.embedding import Embedder


class LengthEmbedder:
    @property
    def model(self) -> str:
        return "length"

    @property
    def dimension(self) -> int:
        return 2

    async def embed_query(self, text: str, *, timeout: float) -> Sequence[float]:
        return [1.0, float(len(text))]

    async def embed_documents(self, texts: Sequence[str], *, timeout: float) -> Sequence[Sequence[float]]:
        return [await self.embed_query(text, timeout=timeout) for text in texts]

    async def aclose(self) -> None:
        return


embedder: Embedder = LengthEmbedder()
