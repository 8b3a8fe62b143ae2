"""What the settings of hermes-memory-pgvector are called here, as `import pgvector --config` tells it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import yaml

from hermes_memory.application.importing.pgvector_settings import ENDPOINT, converted
from hermes_memory.cli.common import print_json
from hermes_memory.cli.exits import DONE, ERROR
from hermes_memory.domain.errors import ConfigurationError, InvalidInput
from hermes_memory.domain.neutralising import neutralise
from hermes_memory.settings.files import text_of


def print_settings(config: Path, *, as_json: bool) -> int:
    """Print the settings to put into hermes-memory.json, and beside them, on standard error, what was left out and why.

    1: some values cannot be converted.

    Raises:
        InvalidInput: The file cannot be read, or holds no such settings.
    """
    found = converted(_section(config))
    if as_json:
        print_json(found)
        return ERROR if found.refused else DONE
    print_json(found.settings)
    for key, why in found.dropped.items():
        print(f"# {neutralise(key)}: {why}", file=sys.stderr)
    for key, why in found.refused.items():
        print(f"# {neutralise(key)} could not be converted: {why}", file=sys.stderr)
    return ERROR if found.refused else DONE


def model_named_in(config: Path) -> str:
    """Return the model that made the vectors under these settings.

    Raises:
        InvalidInput: The file cannot be read, or holds no such settings.
    """
    return str(_section(config).get("embed_model") or ENDPOINT["embed_model"])


def _section(path: Path) -> dict[str, Any]:
    if not path.exists():
        raise InvalidInput(f"{path} cannot be read: there is no such file")
    try:
        document = yaml.safe_load(text_of(path))
    except ConfigurationError as error:
        raise InvalidInput(str(error)) from None
    except (yaml.YAMLError, ValueError, RecursionError):
        raise InvalidInput(f"{path} is no YAML") from None
    if isinstance(document, dict) and isinstance(plugins := document.get("plugins"), dict):
        document = plugins.get("pgvector")
    if not isinstance(document, dict):
        raise InvalidInput(f"{path} has no section plugins.pgvector")
    return {str(key): value for key, value in document.items()}
