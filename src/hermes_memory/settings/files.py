"""Reads the files that hold settings. None has to be there; what cannot be understood is refused with its place."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import yaml
from dotenv.parser import parse_stream

from hermes_memory.domain.errors import ConfigurationError
from hermes_memory.settings.names import CONFIG_SECTION, ENV_PREFIX
from hermes_memory.settings.places import line_of

MOST_BYTES: Final = 1_048_576
"""Many times what all settings of a host take. Parsing more would hold up its start, or take its memory."""


def text_of(path: Path) -> str:
    """Read a file of settings, "" when there is none. What is no plain file is refused: reading a pipe never ends.

    Raises:
        ConfigurationError: It cannot be read, or is larger than `MOST_BYTES`.
    """
    try:
        if not path.exists():
            return ""
        if not path.is_file():
            raise ConfigurationError(f"{path} is no plain file: remove it")
        with path.open("rb") as file:
            found = file.read(MOST_BYTES + 1)
        if len(found) > MOST_BYTES:
            raise ConfigurationError(
                f"{path} is larger than {MOST_BYTES:,} bytes and holds more than settings: mend it"
            )
        return found.decode("utf-8")
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"cannot read {path}: {type(error).__name__}") from error


def read_native(path: Path) -> Mapping[str, Any]:
    """Return the settings of a native file.

    Raises:
        ConfigurationError: It is no JSON object.
    """
    try:
        values = json.loads(text_of(path) or "{}")
    except json.JSONDecodeError as error:
        raise ConfigurationError(f"{path} is not valid JSON (line {error.lineno}): mend or remove it") from None
    except RecursionError:
        raise ConfigurationError(f"{path} is nested too deeply: mend or remove it") from None
    except ValueError:
        raise ConfigurationError(f"{path} holds a number of too many digits: mend or remove it") from None
    if not isinstance(values, dict):
        raise ConfigurationError(f"{path} must hold one JSON object of settings")
    return values


def read_host_config(path: Path) -> Mapping[str, Any]:
    """Return the settings in the host's configuration.

    Raises:
        ConfigurationError: It is no YAML, or our section no mapping.
    """
    document = _yaml_of(path)
    plugins = document.get("plugins") if isinstance(document, dict) else None
    section = plugins.get(CONFIG_SECTION) if isinstance(plugins, dict) else None
    if section is None:
        return {}
    if not isinstance(section, dict):
        raise ConfigurationError(f"plugins.{CONFIG_SECTION} in {path} must be a mapping of settings")
    return {str(key): value for key, value in section.items()}


def require_readable_variables(path: Path) -> None:
    """Make sure that no line of a file of variables that seems to be ours is passed over.

    Raises:
        ConfigurationError: A line cannot be understood.
    """
    text = text_of(path)
    if ENV_PREFIX not in text:
        return
    for each in parse_stream(io.StringIO(text)):
        if each.error and ENV_PREFIX in each.original.string:
            raise ConfigurationError(f"{path}, line {line_of(each)}: a variable is written NAME=value")


def _yaml_of(path: Path) -> Any:
    try:
        return yaml.safe_load(text_of(path))
    except yaml.MarkedYAMLError as error:
        line = f" (line {error.problem_mark.line + 1})" if error.problem_mark else ""
        raise ConfigurationError(f"{path} is not valid YAML{line}: mend it") from None
    except yaml.YAMLError:
        raise ConfigurationError(f"{path} is not valid YAML: mend it") from None
    except RecursionError:
        raise ConfigurationError(f"{path} is nested too deeply: mend it") from None
    except ValueError:
        raise ConfigurationError(f"{path} holds a date or a number that there is not: mend it") from None
