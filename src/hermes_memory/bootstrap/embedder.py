"""Choosing the embedder that the settings name."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial

from hermes_memory.adapters.embedding.local import LocalEmbedder
from hermes_memory.adapters.embedding.quality import QualityEmbedder
from hermes_memory.adapters.loading import LOADING
from hermes_memory.domain.errors import ConfigurationError
from hermes_memory.ports.embedding import Embedder
from hermes_memory.settings import Settings
from hermes_memory.settings.masking import masked


def make_embedder(settings: Settings, secret: Callable[[str], str | None] = os.environ.get) -> Embedder | None:
    """Return the embedder, None when none is wanted. Nothing is connected or loaded yet.

    Args:
        secret: Reads the endpoint's key by the name of its variable.

    Raises:
        ConfigurationError: The embedder is not installed, or its endpoint is not acceptable.
    """
    if settings.embedder == "none":
        return None
    if settings.embedder == "local":
        return LocalEmbedder()
    if settings.embedder == "quality":
        return QualityEmbedder()
    if settings.embed_url is None or settings.embed_model is None or settings.embed_dim is None:
        raise ConfigurationError(f"embedder '{settings.embedder}' needs embed_url, embed_model and embed_dim")
    variable = settings.embed_api_key_env
    return _over_http(settings.embedder)(
        settings.embed_url,
        model=settings.embed_model,
        dimension=settings.embed_dim,
        key=partial(secret, variable) if variable else None,
        # A key that was put in the place of its variable's name is told to nobody.
        key_variable=variable if variable and masked("embed_api_key_env", variable) == variable else "",
        max_batch=settings.embed_batch,
        connections=settings.embed_parallel + 1,
    )


def _over_http(kind: str) -> Callable[..., Embedder]:
    """Return the class of an embedder at an endpoint. The client that it needs takes a sixth of a second to load."""
    with LOADING:
        from hermes_memory.adapters.embedding.auto import AutoEmbedder  # noqa: PLC0415
        from hermes_memory.adapters.embedding.ollama import OllamaEmbedder  # noqa: PLC0415
        from hermes_memory.adapters.embedding.openai import OpenAIEmbedder  # noqa: PLC0415
    classes: dict[str, Callable[..., Embedder]] = {
        "openai": OpenAIEmbedder,
        "ollama": OllamaEmbedder,
        "auto": AutoEmbedder,
    }
    return classes[kind]
