"""Keeps secrets in the `.env` of a Hermes home, where the host and the settings read them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import dotenv

from hermes_memory.hermes.config_schema import RefusedValue

ENV_FILE: Final = ".env"
_UNSAFE: Final = re.compile(r"['\\\x00-\x1f\x7f]|\$\{")
"""What the host and the settings read differently, or expand."""


def require_keepable(variable: str, value: str) -> None:
    """Make sure that whoever reads the file gets the value as it was given.

    Raises:
        RefusedValue: It holds a character that readers take differently. The message does not quote it.
    """
    if _UNSAFE.search(value):
        raise RefusedValue(
            f"{variable} cannot hold a quote, a backslash, a control character or '${{' in {ENV_FILE}: "
            "write it as its percent code, such as %27"
        )


def keep_secrets(home: Path, secrets: Mapping[str, str | None]) -> None:
    """Write variables into the home's `.env`, readable by its owner alone; other lines stay as they are.

    Args:
        home: The Hermes home.
        secrets: Values by the name of the variable. None takes a variable out.

    Raises:
        RefusedValue: A value cannot be kept there. Nothing was written.
        OSError: The file cannot be written.
    """
    for variable, value in secrets.items():
        if value is not None:
            require_keepable(variable, value)
    home.mkdir(parents=True, exist_ok=True)
    # A link into somebody's versioned settings is written through, not replaced.
    path = (home / ENV_FILE).resolve()
    if path.exists():
        path.chmod(0o600)
    present = dotenv.dotenv_values(path, interpolate=False)
    for variable, value in secrets.items():
        if value is not None:
            dotenv.set_key(path, variable, value, quote_mode="auto")
        elif variable in present:
            dotenv.unset_key(path, variable)
