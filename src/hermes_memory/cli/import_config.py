"""`import pgvector-config`: what the settings of hermes-memory-pgvector are called here."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import yaml

from hermes_memory.application.importing.pgvector_settings import converted
from hermes_memory.cli.common import home_option, json_option, print_json
from hermes_memory.cli.exits import DONE, ERROR
from hermes_memory.domain.errors import InvalidInput


def register(sources: Any) -> None:
    """Add the converter."""
    parser = sources.add_parser(
        "pgvector-config", help="convert the settings of hermes-memory-pgvector; changes nothing"
    )
    parser.add_argument("config", metavar="FILE", type=Path, help="the host's config.yaml, or its section alone")
    home_option(parser)
    json_option(parser)
    parser.set_defaults(carry_out=carry_out)


def carry_out(given: argparse.Namespace) -> int:
    """Print the settings to put into hermes-memory.json. 1: some values cannot be converted."""
    found = converted(_section(given.config))
    if given.as_json:
        print_json(found)
        return ERROR if found.refused else DONE
    print_json(found.settings)
    for name, value in found.environment.items():
        print(f"# into .env: {name}={value}")
    for key, why in found.dropped.items():
        print(f"# {key}: {why}")
    for key, why in found.refused.items():
        print(f"# {key} could not be converted: {why}")
    return ERROR if found.refused else DONE


def _section(path: Path) -> dict[str, Any]:
    try:
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{path} cannot be read ({type(error).__name__})") from None
    except (yaml.YAMLError, RecursionError):
        raise InvalidInput(f"{path} is no YAML") from None
    if isinstance(document, dict) and isinstance(plugins := document.get("plugins"), dict):
        document = plugins.get("pgvector")
    if not isinstance(document, dict):
        raise InvalidInput(f"{path} has no section plugins.pgvector")
    return {str(key): value for key, value in document.items()}
