"""What is taken from the host, name by name: a host that lacks one of them still gives the others."""

from __future__ import annotations

import hashlib
import importlib
import logging
import os
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from hermes_memory.settings import ENV_PREFIX, NATIVE_FILE, Settings, default_home

logger = logging.getLogger(__name__)

HOMES_KEPT: Final = 64
_reading = threading.Lock()
_read: Final[dict[str, Settings]] = {}


def _taken(module: str, name: str) -> Any:
    try:
        return getattr(importlib.import_module(module), name, None)
    except ImportError:
        return None


def _loaded(module: str, name: str) -> Any:
    """Return what the host has loaded already, None otherwise.

    What it has not loaded it does not use either. Importing would look for it again at every start of an agent, and a
    child that is forked meanwhile would wait for the import lock for ever.
    """
    return getattr(sys.modules.get(module), name, None)


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
    get_secret = _loaded("agent.secret_scope", "get_secret")
    current_scope = _loaded("agent.secret_scope", "current_secret_scope")
    if get_secret is None or current_scope is None or current_scope() is None:
        return os.environ.get
    scope = dict(current_scope())
    return scope.get


def recall_status(label: str, count: int) -> Any:
    """Return the host's note on what a recall brought, None where the host knows no such note."""
    kind = _loaded("agent.memory_provider", "RecallStatus")
    return kind(provider_label=label, count=count, glyph="◇") if kind is not None else None


def read_settings(home: Path | None, secret: Callable[[str], str | None]) -> Settings:
    """Read the settings of a home, secrets from the agent's own scope.

    The same settings are returned while no file and no variable they come from has changed: a gateway starts agents
    often, and reading takes longer than an agent's start should.

    Raises:
        ConfigurationError: A setting is wrong. The message names it and the remedy.
    """
    values: dict[str, Any] = {"home": home or default_home()}
    for key in ("dsn", "subject_secret"):
        if given := secret(f"{ENV_PREFIX}{key.upper()}"):
            values[key] = given
    mark = _mark_of(values)
    with _reading:
        if mark not in _read:
            _read[mark] = Settings(**values)
            while len(_read) > HOMES_KEPT:
                del _read[next(iter(_read))]
        return _read[mark]


def _mark_of(values: Mapping[str, Any]) -> str:
    """Return what changes whenever the settings would: the files' states, the variables, the secrets."""
    parts = [f"{key}={value}" for key, value in sorted(values.items())]
    parts += sorted(f"{name}={value}" for name, value in os.environ.items() if name.upper().startswith(ENV_PREFIX))
    for name in (NATIVE_FILE, "config.yaml", ".env"):
        try:
            state = (values["home"] / name).stat()
        except (OSError, ValueError):
            parts.append("-")
        else:
            parts.append(f"{state.st_mtime_ns}:{state.st_size}:{state.st_ino}")
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()


def _unlock_in_child() -> None:
    global _reading  # noqa: PLW0603 - the thread that may hold it does not exist in the child
    _reading = threading.Lock()


os.register_at_fork(after_in_child=_unlock_in_child)
