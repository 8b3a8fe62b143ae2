"""What the settings of hermes-memory-pgvector are called here, as `import pgvector --config` tells it."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from hermes_memory.application.importing.pgvector_settings import (
    DROPPED,
    ENDPOINT,
    PARTS,
    RENAMED,
    ConvertedSettings,
    converted,
)
from hermes_memory.cli.common import print_json
from hermes_memory.cli.exits import DONE, ERROR
from hermes_memory.domain.errors import ConfigurationError, InvalidInput
from hermes_memory.domain.neutralising import neutralise
from hermes_memory.settings.files import text_of
from hermes_memory.settings.model import settings_from
from hermes_memory.settings.names import NATIVE_FILE
from hermes_memory.settings.origins import Source
from hermes_memory.settings.refusals import UnusableSettings, shown_of
from hermes_memory.settings.sources import FileKeys

_OLD_NAMES: Final[Mapping[str, str]] = {name: key for key, (name, _) in RENAMED.items()}


def print_settings(config: Path, *, as_json: bool) -> int:
    """Print the settings to put into hermes-memory.json, and beside them, on standard error, what was left out and why.

    1: some values cannot be taken over, or only in part.

    Raises:
        InvalidInput: The file cannot be read, or holds no such settings.
    """
    found = usable_settings(_section(config))
    if as_json:
        print_json(found)
        return ERROR if found.refused else DONE
    print_json(found.settings)
    for key, why in found.dropped.items():
        print(f"# {neutralise(key)}: {neutralise(why)}", file=sys.stderr)
    for key, why in found.refused.items():
        print(f"# {neutralise(key)} could not be converted: {neutralise(why)}", file=sys.stderr)
    return ERROR if found.refused else DONE


def usable_settings(given: Mapping[str, Any]) -> ConvertedSettings:
    """Convert a section of settings into what a home takes. What is refused is told with its value and the remedy."""
    found = converted(given)
    refused = {key: _refusal(key, given[key], why, found.settings) for key, why in found.refused.items()}
    settings = dict(found.settings)
    while settings:
        try:
            _require_usable(settings)
            break
        except UnusableSettings as error:
            # Whatever the rules of the conversion did not foresee: what is printed is what a home takes.
            told = {problem.key: problem.message for problem in error.problems}
            wrong = settings.keys() & told.keys() or settings.keys()
            refused |= {_OLD_NAMES.get(name, name): told.get(name, str(error)) for name in wrong}
            settings = {name: value for name, value in settings.items() if name not in wrong}
    return ConvertedSettings(settings=settings, dropped=found.dropped, refused=refused)


def _require_usable(settings: Mapping[str, Any]) -> None:
    settings_from(lambda cls: FileKeys(cls, settings, Source.ARGUMENT, Path(NATIVE_FILE)))


def _refusal(key: str, value: object, why: str, settings: Mapping[str, Any]) -> str:
    if key not in RENAMED and key not in DROPPED:
        return why
    name = RENAMED[key][0] if key in RENAMED else "embedder"
    in_part = name in PARTS and name in settings
    shown = shown_of(key, value)
    cannot = f"{shown} {'is taken over in part' if in_part else 'cannot be taken over'}: " if shown else ""
    return f"{cannot}{why}. Set {name} in {NATIVE_FILE} to what is meant"


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
