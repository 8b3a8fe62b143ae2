"""The command that configures the embedder of the vectors that are stored."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Final

from hermes_memory.settings import Settings, default_home
from hermes_memory.settings.masking import masked
from hermes_memory.settings.names import ENDPOINT_EMBEDDERS, ENDPOINT_SETTINGS, OWN_EMBEDDERS

UNKNOWN_URL: Final = "URL"
"""Stands for the address of an endpoint that nobody has named here."""
_ALWAYS: Final = frozenset({"embedder", "embed_model", "embed_dim"})


def own_embedder(model: str | None) -> str | None:
    """Return the embedder of this machine whose model it is, None when it is none's."""
    from hermes_memory.adapters.embedding.local import LOCAL_MODEL  # noqa: PLC0415 - the host imports this at its start
    from hermes_memory.adapters.embedding.quality import QUALITY_MODEL  # noqa: PLC0415

    return {LOCAL_MODEL: "local", QUALITY_MODEL: "quality"}.get(model or "")


def configuring(configured: Settings, wanted: Settings) -> str | None:
    """Return the command by which a home uses another's embedder, None where it does."""
    if wanted.embedder in OWN_EMBEDDERS:
        return _command(configured, {"embedder": wanted.embedder})
    return _command(configured, {key: getattr(wanted, key) for key in ("embedder", *ENDPOINT_SETTINGS)})


def configuring_model(configured: Settings, model: str, dimension: int) -> str | None:
    """Return the command by which a home uses the embedder of stored vectors, None where it does."""
    if own := own_embedder(model):
        return _command(configured, {"embedder": own})
    return _command(
        configured,
        {
            "embedder": configured.embedder if configured.embedder in ENDPOINT_EMBEDDERS else "auto",
            "embed_url": configured.embed_url or UNKNOWN_URL,
            "embed_model": model,
            "embed_dim": dimension,
        },
    )


def configuring_lines(command: str | None) -> Sequence[str]:
    """Return what is left to do once other vectors are in use, none where nothing is."""
    if command is None:
        return []
    return [
        "next: in the home of every agent, and then restart the agent, which until then finds by words alone:",
        f"  {command}",
    ]


def _command(configured: Settings, wanted: Mapping[str, object]) -> str | None:
    """Return the command for settings. Those that say which embedder it is stand together, whichever of them change."""
    changed = {key for key, value in wanted.items() if getattr(configured, key) != value}
    if not changed:
        return None
    words = ["hermes-memory", "setup", "--yes"]
    if configured.home != default_home():
        words += ["--hermes-home", str(configured.home)]
    for key, value in wanted.items():
        if key in changed | _ALWAYS:
            words += [f"--{key.replace('_', '-')}", "" if value is None else str(_shown(key, value))]
    return shlex.join(words)


def _shown(key: str, value: object) -> object:
    return masked(key, value) if key == "embed_api_key_env" else value
