"""What is taken from the host, name by name: a host that lacks one of them still gives the others."""

from __future__ import annotations

import importlib
import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hermes_memory.settings import ENV_PREFIX, Settings

logger = logging.getLogger(__name__)


def _taken(module: str, name: str) -> Any:
    try:
        return getattr(importlib.import_module(module), name, None)
    except ImportError:
        return None


if TYPE_CHECKING:

    class HostProvider:
        """Stands for the host's abstract `MemoryProvider` while types are checked."""

else:
    HostProvider = _taken("agent.memory_provider", "MemoryProvider") or object


def secret_reader() -> Callable[[str], str | None]:
    """Return how secrets are read for the agent that is being started, bound to its context now.

    A gateway that serves several profiles keeps their secrets apart in a context that other threads do not see;
    reading there happens here, on the thread that starts the agent.
    """
    get_secret = _taken("agent.secret_scope", "get_secret")
    current_scope = _taken("agent.secret_scope", "current_secret_scope")
    if get_secret is None or current_scope is None or current_scope() is None:
        return os.environ.get
    scope = dict(current_scope())
    return scope.get


def read_settings(home: Path | None, secret: Callable[[str], str | None]) -> Settings:
    """Read the settings of a home, secrets from the agent's own scope.

    Raises:
        ConfigurationError: A setting is wrong. The message names it and the remedy.
    """
    values: dict[str, Any] = {"home": home} if home else {}
    for key in ("dsn", "subject_secret"):
        if given := secret(f"{ENV_PREFIX}{key.upper()}"):
            values[key] = given
    return Settings(**values)
