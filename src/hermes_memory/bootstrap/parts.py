"""How long the texts are cut that the configured embedder gets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from hermes_memory.domain.chunks import ChunkPolicy
from hermes_memory.domain.embedded_text import CONTEXT_TOKENS
from hermes_memory.settings import Settings
from hermes_memory.settings.names import OWN_EMBEDDERS

LOCAL_PARTS: Final = ChunkPolicy(tokens=64, overlap=8, most=300, context=CONTEXT_TOKENS)
"""The local model averages over a text. A sentence late in a long one ranks first among 500 notes in four of five cases
with parts of 64 tokens, in half with 96, hardly ever with 256 (benchmarks/embedding/part_sizes.py)."""
ON_THIS_MACHINE: Final[Mapping[str, ChunkPolicy]] = dict.fromkeys(OWN_EMBEDDERS, LOCAL_PARTS)
"""How texts are cut for the embedders of this machine, by name."""


def part_policy(settings: Settings) -> ChunkPolicy:
    """Return the policy that is configured, or the one that fits the embedder. A stored generation keeps to its own."""
    if settings.embed_part_tokens is not None:
        return ChunkPolicy(tokens=settings.embed_part_tokens, overlap=settings.embed_part_tokens // 8)
    return ON_THIS_MACHINE.get(settings.embedder, ChunkPolicy())
