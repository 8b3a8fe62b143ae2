"""The sources of the settings, each of which refuses the names that it does not know and notes where it found what."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import Any, Final

from pydantic.fields import FieldInfo
from pydantic_settings import (
    BaseSettings,
    DotEnvSettingsSource,
    EnvSettingsSource,
    PydanticBaseSettingsSource,
    SettingsError,
)

from hermes_memory.domain.errors import ConfigurationError
from hermes_memory.settings.files import require_readable_variables
from hermes_memory.settings.names import (
    ENV_PREFIX,
    HOME_VARIABLE,
    ROLE_PASSWORD,
    SCHEMA_KEY,
    nearest,
    variable_of,
)
from hermes_memory.settings.origins import Origin, Source, note
from hermes_memory.settings.refusals import Problem, UnusableSettings

refused: ContextVar[list[Problem]] = ContextVar("hermes_memory_settings_refused")
"""Takes down what no source may name while settings are read, to be told with all else that is wrong with them."""
_UNREADABLE: Final = re.compile(r'field "(\w+)"')
_PASSWORD: Final = re.compile(r"//[^/@\s]{0,256}:[^/@\s]{1,256}@|\bpassword\s{0,8}=\s{0,8}\S", re.IGNORECASE)


class Arguments(PydanticBaseSettingsSource):
    """What a program hands in, checked with everything else."""

    def __init__(self, settings_cls: type[BaseSettings], given: PydanticBaseSettingsSource) -> None:
        super().__init__(settings_cls)
        self._given = given

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:
        """Return the value of one field."""
        return self._given.get_field_value(field, field_name)

    def __call__(self) -> dict[str, Any]:
        """Return the values."""
        values = self._given()
        note(values, lambda key: Origin(source=Source.ARGUMENT, name=key))
        return values


class Environment(EnvSettingsSource):
    """The variables of this process."""

    def __call__(self) -> dict[str, Any]:
        """Return the values of the variables that are set."""
        written = {name.upper(): name for name in os.environ}

        def origin(name: str) -> Origin:
            variable = variable_of(name) if name in self.settings_cls.model_fields else name
            return Origin(source=Source.ENVIRONMENT, name=written.get(variable, variable))

        refuse_unknown_variables(os.environ, origin, self.settings_cls)
        values = _read(super().__call__, origin)
        note(values, origin)
        return values


class HomeDotEnv(DotEnvSettingsSource):
    """The home's `.env`, of which only our variables concern us."""

    def __call__(self) -> dict[str, Any]:
        """Return the values of the variables that are settings."""
        path = Path(str(self.env_file))
        known = self.settings_cls.model_fields

        def origin(name: str) -> Origin:
            return Origin(source=Source.DOTENV, name=variable_of(name) if name in known else name, path=path)

        refuse_unknown_variables(self.env_vars, origin, self.settings_cls)
        values = {key: value for key, value in _read(super().__call__, origin).items() if key in known}
        note(values, origin)
        return values


class FileKeys(PydanticBaseSettingsSource):
    """A file's keys, checked by name so that a misspelt one is told, not ignored."""

    def __init__(self, settings_cls: type[BaseSettings], values: Mapping[str, Any], source: Source, path: Path) -> None:
        super().__init__(settings_cls)
        self._source, self._path = source, path
        named = {key: value for key, value in values.items() if key != SCHEMA_KEY}
        objections = {key: self._objection(key, value) for key, value in named.items()}
        refused.get().extend(_problems(objections, self._origin))
        self._values = {key: value for key, value in named.items() if objections[key] is None}

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:
        """Return the file's value of one field."""
        return self._values.get(field_name), field_name, False

    def __call__(self) -> dict[str, Any]:
        """Return the values of the file."""
        note(self._values, self._origin)
        return dict(self._values)

    def _origin(self, key: str) -> Origin:
        return Origin(source=self._source, name=key, path=self._path)

    def _objection(self, key: str, value: object) -> str | None:
        known = self.settings_cls.model_fields
        if key == "home":
            return "'home' would lead elsewhere than to where the file lies: take it out"
        if key not in known:
            return f"unknown key '{key}'{nearest(key, known)}"
        if key == "subject_secret" or (key == "dsn" and _PASSWORD.search(str(value))):
            return f"'{key}' holds a secret: put {variable_of(key)} into the environment or .env"
        return None


def read_dotenv(settings_cls: type[BaseSettings], path: Path) -> HomeDotEnv:
    """Return the variables of a file; there need not be one.

    Raises:
        ConfigurationError: It cannot be read.
    """
    require_readable_variables(path)
    try:
        return HomeDotEnv(settings_cls, env_file=path)
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"cannot read {path}: {type(error).__name__}") from error


def refuse_unknown_variables(
    variables: Iterable[str], origin: Callable[[str], Origin], settings_cls: type[BaseSettings]
) -> None:
    """Take down which variables of our prefix are no settings, each with the nearest that is."""
    fields = list(settings_cls.model_fields)
    refused.get().extend(
        _problems({name.upper(): _variable_objection(name.upper(), fields) for name in variables}, origin)
    )


def _problems(objections: Mapping[str, str | None], origin: Callable[[str], Origin]) -> Iterator[Problem]:
    for name, message in objections.items():
        if message is not None:
            yield Problem(key="", message=message, origin=origin(name))


def _variable_objection(name: str, fields: Sequence[str]) -> str | None:
    if name == HOME_VARIABLE:
        return f"{name} means nothing: the home is what HERMES_HOME names"
    known = {*map(variable_of, fields), ROLE_PASSWORD}
    if not name.startswith(ENV_PREFIX) or name in known or name.startswith(f"{ENV_PREFIX}TEST_"):
        return None
    return f"unknown variable {name}{nearest(name.removeprefix(ENV_PREFIX).lower(), fields, variable_of)}"


def _read(read: Callable[[], dict[str, Any]], origin: Callable[[str], Origin]) -> dict[str, Any]:
    """Read a source of texts, some of which must be JSON."""
    try:
        return read()
    except SettingsError as error:
        # What the library says names its own classes; what caused it holds the value.
        field = _UNREADABLE.search(str(error))
        key = field[1] if field else ""
        raise UnusableSettings(
            [Problem(key=key, message="must be written as JSON", origin=origin(key) if key else None)]
        ) from None
