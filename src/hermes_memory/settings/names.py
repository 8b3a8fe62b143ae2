"""What the settings are called, in files and in the environment."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable
from typing import Final

ENV_PREFIX: Final = "HERMES_MEMORY_"
NATIVE_FILE: Final = "hermes-memory.json"
HOST_FILE: Final = "config.yaml"
DOTENV_FILE: Final = ".env"
CONFIG_SECTION: Final = "hermes-memory"
SCHEMA_KEY: Final = "$schema"
"""Names the schema to editors. No setting."""
HOME_VARIABLE: Final = f"{ENV_PREFIX}HOME"
ROLE_PASSWORD: Final = f"{ENV_PREFIX}RUNTIME_PASSWORD"
"""Read by migrate alone: the password to give the runtime role."""
SECRETS: Final = frozenset({"dsn", "subject_secret"})
"""Settings that are, or may hold, a secret."""
NEVER_QUOTED: Final = SECRETS | {"embed_api_key_env", "embed_url"}
"""Settings in whose place people write a secret by mistake."""

OWN_EMBEDDERS: Final = frozenset({"local", "quality"})
"""Embedders that run on this machine, with a model of their own."""
ENDPOINT_EMBEDDERS: Final = frozenset({"openai", "ollama", "auto"})
"""Embedders that need an endpoint's address, and its model's name and dimension. `none` is in neither."""
ENDPOINT_SETTINGS: Final = ("embed_url", "embed_model", "embed_dim", "embed_api_key_env")
"""What is said of an endpoint, in order; other embedders do not ask for it."""


def variable_of(key: str) -> str:
    """Return the environment variable of a setting.

    >>> variable_of("pool_size")
    'HERMES_MEMORY_POOL_SIZE'
    """
    return f"{ENV_PREFIX}{key.upper()}"


def nearest(key: str, known: Iterable[str], spell: Callable[[str], str] = str) -> str:
    """Return the end of a sentence about an unknown name: the known one that is most like it, or where they stand.

    >>> nearest("pool_sise", ["pool_size"])
    ": did you mean 'pool_size'?"
    >>> nearest("colour", ["pool_size"])
    '; `hermes-memory config schema` names the known ones'
    """
    close = difflib.get_close_matches(key, list(known), n=1, cutoff=0.5)
    return f": did you mean '{spell(close[0])}'?" if close else "; `hermes-memory config schema` names the known ones"
