"""Where the value of a setting comes from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from hermes_memory.domain.errors import ConfigurationError
from hermes_memory.settings.files import text_of
from hermes_memory.settings.names import CONFIG_SECTION, DOTENV_FILE, HOST_FILE, NATIVE_FILE
from hermes_memory.settings.places import line_in_json, line_in_yaml, line_of_variable


class Source(StrEnum):
    """The kinds of places that settings are read from, the first that names a setting counts."""

    ARGUMENT = "argument"
    ENVIRONMENT = "environment"
    DOTENV = DOTENV_FILE
    NATIVE = NATIVE_FILE
    HOST = HOST_FILE
    DEFAULT = "default"


_LINES: Final[Mapping[Source, Callable[[str, str], int | None]]] = {
    Source.DOTENV: line_of_variable,
    Source.NATIVE: line_in_json,
    Source.HOST: line_in_yaml,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """One place that names a setting.

    Attributes:
        name: What it is called there: the key, or the variable.
        path: The file, of the sources that are one.
    """

    source: Source
    name: str
    path: Path | None = None

    def line(self) -> int | None:
        """Return the line of the file, counted from 1. The file is read anew."""
        look = _LINES.get(self.source)
        if look is None or self.path is None:
            return None
        try:
            return look(text_of(self.path), self.name)
        except ConfigurationError:
            return None

    def __str__(self) -> str:
        if self.source is Source.ENVIRONMENT:
            return f"{self.name} in the environment"
        if self.path is None:
            return f"the {self.source}"
        section = f"plugins.{CONFIG_SECTION}." if self.source is Source.HOST else ""
        line = self.line()
        return f"{section}{self.name} in {self.path}{f', line {line}' if line else ''}"


Origins = dict[str, list[Origin]]
"""The places of each setting that is named anywhere, the one that counts first."""

origins: ContextVar[Origins | None] = ContextVar("hermes_memory_settings_origins", default=None)
"""Takes down what is found while settings are read."""


def note(keys: Mapping[str, object], origin: Callable[[str], Origin]) -> None:
    """Take down that a source names these settings. Sources are read in their order."""
    found = origins.get()
    if found is not None:
        for key in keys:
            found.setdefault(key, []).append(origin(key))
