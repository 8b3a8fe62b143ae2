"""The command that configures the embedder of the vectors that are stored."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from hermes_memory.settings import Settings, default_home
from hermes_memory.settings.masking import masked
from hermes_memory.settings.names import ENDPOINT_EMBEDDERS, ENDPOINT_SETTINGS, OWN_EMBEDDERS

UNKNOWN_URL: Final = "URL"
"""Stands for the address of an endpoint that nobody has named here."""
_ALWAYS: Final = frozenset({"embedder", "embed_model", "embed_dim"})
_EMBEDDER: Final = "--embedder"


def own_embedder(model: str | None) -> str | None:
    """Return the embedder of this machine whose model it is, None when it is none's."""
    from hermes_memory.adapters.embedding.local import LOCAL_MODEL  # noqa: PLC0415 - the host imports this at its start
    from hermes_memory.adapters.embedding.quality import QUALITY_MODEL  # noqa: PLC0415

    return {LOCAL_MODEL: "local", QUALITY_MODEL: "quality"}.get(model or "")


def configuring(configured: Settings, wanted: Settings) -> str | None:
    """Return the command by which a home uses another's embedder and length of parts, None where it does.

    It names the home where that is not the default one, as that of `configuring_model` does.
    """
    keys = () if wanted.embedder in OWN_EMBEDDERS else ENDPOINT_SETTINGS
    named = {key: getattr(wanted, key) for key in ("embedder", *keys)}
    return _command(configured, named, _part_tokens(wanted, wanted.embedder))


def configuring_model(configured: Settings, model: str, dimension: int, part_tokens: int | None) -> str | None:
    """Return the command by which a home uses what made the stored vectors, None where it does."""
    if own := own_embedder(model):
        return _command(configured, {"embedder": own}, part_tokens)
    return _command(
        configured,
        {
            "embedder": configured.embedder if configured.embedder in ENDPOINT_EMBEDDERS else "auto",
            "embed_url": configured.embed_url or UNKNOWN_URL,
            "embed_model": model,
            "embed_dim": dimension,
        },
        part_tokens,
    )


def in_home(command: str, home: Path) -> str:
    """Return a command that goes with the default home as one for this home."""
    absolute = home.absolute()
    return command if absolute == default_home().absolute() else f"{command} --hermes-home {shlex.quote(str(absolute))}"


def configuring_lines(command: str | None) -> Sequence[str]:
    """Return what is left to do once other vectors are in use."""
    if command is None:
        return ["next: configure every other home alike, and restart the agents that have another model"]
    restart = _EMBEDDER in shlex.split(command)
    then = "and then restart its agents, which until then find by words alone" if restart else "without a restart"
    return [f"next: in this home, {then}:", f"  {command}", "and alike in the home of every other agent"]


def _command(configured: Settings, wanted: Mapping[str, object], part_tokens: int | None) -> str | None:
    """Return the command for settings. Those that say which embedder it is stand together, whichever of them change."""
    changed = {key for key, value in wanted.items() if getattr(configured, key) != value}
    words: list[str] = []
    for key, value in wanted.items():
        if changed and key in changed | _ALWAYS:
            words += [f"--{key.replace('_', '-')}", "" if value is None else str(_shown(key, value))]
    if part_tokens not in {None, _part_tokens(configured, wanted["embedder"])}:
        words += ["--set", f"embed_part_tokens={part_tokens}"]
    return in_home(shlex.join(["hermes-memory", "setup", "--yes", *words]), configured.home) if words else None


def _part_tokens(configured: Settings, embedder: object) -> int:
    """Return how long the parts of texts are in a home once it uses an embedder."""
    from hermes_memory.bootstrap.parts import part_policy  # noqa: PLC0415 - the host imports this at its start

    return part_policy(configured.model_copy(update={"embedder": embedder})).tokens


def _shown(key: str, value: object) -> object:
    return masked(key, value) if key == "embed_api_key_env" else value
