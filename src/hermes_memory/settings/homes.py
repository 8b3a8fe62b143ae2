"""Which directory is the home of a memory."""

from __future__ import annotations

import os
from pathlib import Path

from hermes_memory.domain.errors import ConfigurationError


def default_home() -> Path:
    """Return the Hermes home: `HERMES_HOME`, or `.hermes` in the user's home directory."""
    given = os.environ.get("HERMES_HOME", "").strip()
    return Path(given).expanduser() if given else Path.home() / ".hermes"


def home_at(home: object) -> Path:
    """Return the directory of a home that was named, or the default one.

    Raises:
        ConfigurationError: No directory can have this name.
    """
    named = home or default_home()
    if not isinstance(named, str | os.PathLike):
        raise ConfigurationError("home: must be the path of a directory")
    if "\0" in os.fspath(named):
        raise ConfigurationError("the home's path holds a NUL character: no directory has such a name")
    try:
        return Path(named).expanduser()
    except RuntimeError as error:
        raise ConfigurationError("home: there is no such user, so no such directory") from error


def require_home(home: Path) -> None:
    """Make sure that a home is there: whoever only looks makes none where a name was mistyped.

    Raises:
        ConfigurationError: There is no such directory.
    """
    if not home.is_dir():
        raise ConfigurationError(
            f"there is no Hermes home at {home}: name it with --hermes-home, or make the directory for a new one"
        )
