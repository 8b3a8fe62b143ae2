"""The composition root: every provider can be resolved, whatever the settings."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from dependency_injector import providers

from hermes_memory import Settings
from hermes_memory.bootstrap.container import Container
from hermes_memory.bootstrap.home import open_local_half

HTTP = {"embed_url": "http://127.0.0.1:1", "embed_model": "m", "embed_dim": 8}


@pytest.mark.parametrize(
    "choice",
    [
        {"embedder": "none"},
        {"embedder": "local"},
        {"embedder": "openai", **HTTP},
        {"embedder": "ollama", **HTTP},
        {"embedder": "auto", **HTTP},
        {"embedder": "none", "dsn": "postgresql://app@127.0.0.1:1/nowhere"},
        {"embedder": "local", "strategy": "rrf", "half_life_days": 30},
    ],
    ids=lambda choice: "-".join(str(part) for part in choice.values())[:24],
)
async def test_every_provider_of_the_container_resolves(home: Path, choice: dict[str, Any]) -> None:
    settings = Settings(**choice)
    local = open_local_half(settings)
    container = Container(settings=settings, local=local, secret=os.environ.get)
    try:
        graph = {name: part for name, part in vars(container).items() if isinstance(part, providers.Provider)}
        made = {name: provider() for name, provider in graph.items()}
        again = {name: provider() for name, provider in graph.items()}
    finally:
        local.spool.close()

    missing = {name for name, part in made.items() if part is None}
    assert missing == ({"embedder", "stage"} if choice["embedder"] == "none" else set())
    # One of each: what two parts share is the same thing.
    assert all(made[name] is again[name] for name in made)
    assert not any(isinstance(provider, providers.Resource) for provider in graph.values())
    if (embedder := made["embedder"]) is not None:
        await embedder.aclose()
