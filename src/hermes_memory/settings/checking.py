"""Checks one file of settings by itself, whatever else is set."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from pydantic_settings import BaseSettings, PydanticBaseSettingsSource

from hermes_memory.domain.errors import InvalidInput
from hermes_memory.settings.files import read_host_config, read_native
from hermes_memory.settings.model import Settings, settings_from
from hermes_memory.settings.names import DOTENV_FILE, HOST_FILE, NATIVE_FILE
from hermes_memory.settings.origins import Source
from hermes_memory.settings.sources import FileKeys, read_dotenv

Opens = Callable[[type[BaseSettings], Path], PydanticBaseSettingsSource]
_KINDS: Final[Mapping[str, Opens]] = {
    ".json": lambda cls, path: FileKeys(cls, read_native(path), Source.NATIVE, path),
    ".yaml": lambda cls, path: FileKeys(cls, read_host_config(path), Source.HOST, path),
    ".yml": lambda cls, path: FileKeys(cls, read_host_config(path), Source.HOST, path),
    ".env": read_dotenv,
}


def check_file(path: Path) -> Settings:
    """Return the settings as they would be with nothing but this file.

    Args:
        path: Written like one of the files of a home; the end of its name tells which.

    Raises:
        UnusableSettings: Some of its settings are wrong. It tells of each.
        ConfigurationError: It cannot be read or understood.
        InvalidInput: There is no such file, or its name does not tell what it is.
    """
    opens = _KINDS.get(path.suffix.lower() or path.name.lower())
    if opens is None:
        raise InvalidInput(f"a file of settings is named like {NATIVE_FILE}, {HOST_FILE} or {DOTENV_FILE}: {path}")
    if not path.exists():
        raise InvalidInput(f"there is no {path}")
    return settings_from(lambda cls: opens(cls, path), home=path.parent)
