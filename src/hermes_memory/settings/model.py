"""The settings: read once, from the environment, `hermes-memory.json`, `config.yaml` and defaults, in that order.

Every field has a unit and a range. An unknown key is an error that names the nearest known one. Secrets come from the
environment or from `$HERMES_HOME/.env` only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from hermes_memory.settings.declared import DeclaredSettings
from hermes_memory.settings.files import read_host_config, read_native
from hermes_memory.settings.homes import default_home, home_at
from hermes_memory.settings.names import DOTENV_FILE, ENV_PREFIX, HOST_FILE, NATIVE_FILE
from hermes_memory.settings.origins import Source, origins
from hermes_memory.settings.refusals import Problem, UnusableSettings, problems_of
from hermes_memory.settings.sources import Arguments, Environment, FileKeys, read_dotenv, refused

_home: ContextVar[Path | None] = ContextVar("hermes_memory_settings_home", default=None)
_native: ContextVar[Mapping[str, Any] | None] = ContextVar("hermes_memory_settings_native", default=None)
_only: ContextVar[Callable[[type[BaseSettings]], PydanticBaseSettingsSource] | None] = ContextVar(
    "hermes_memory_settings_only", default=None
)


def settings_with(native: Mapping[str, Any], **values: Any) -> Settings:
    """Read the settings as they would be if the native file held these keys. Nothing is written.

    Args:
        native: What to read in place of the native file.
        values: What `Settings` itself takes, such as `home`.

    Raises:
        ConfigurationError: They would not be settings.
    """
    token = _native.set(native)
    try:
        return Settings(**values)
    finally:
        _native.reset(token)


def settings_from(source: Callable[[type[BaseSettings]], PydanticBaseSettingsSource], **values: Any) -> Settings:
    """Read the settings as they would be if there were no source but this one.

    Args:
        source: Makes the source, for the class of the settings.
        values: What `Settings` itself takes, such as `home`.

    Raises:
        ConfigurationError: They would not be settings.
    """
    token = _only.set(source)
    try:
        return Settings(**values)
    finally:
        _only.reset(token)


class Settings(DeclaredSettings):
    """All settings of the memory.

    Reading them opens no connection. Keyword arguments come before every other source.

    Raises:
        ConfigurationError: A value is out of range, a key is unknown or a file cannot be read. The message names the
            key, the source and the remedy.
    """

    model_config = SettingsConfigDict(
        env_prefix=ENV_PREFIX,
        frozen=True,
        extra="forbid",
        hide_input_in_errors=True,
        allow_inf_nan=False,
        validate_default=True,
        env_ignore_empty=True,
    )

    def __init__(self, **values: Any) -> None:
        home, found = _home.set(home_at(values.get("home"))), origins.get()
        noted, strange = origins.set({} if found is None else found), list[Problem]()
        refusing = refused.set(strange)
        try:
            super().__init__(**values)
        except ValidationError as error:
            strange += problems_of(error, Settings.model_fields, origins.get() or {})
        except UnusableSettings as error:
            strange += error.problems
        finally:
            refused.reset(refusing)
            origins.reset(noted)
            _home.reset(home)
        if strange:
            raise UnusableSettings(strange)

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Order the sources: arguments, environment, `.env`, native file, the host's `config.yaml`."""
        home = _home.get() or default_home()
        if only := _only.get():
            return Arguments(settings_cls, init_settings), only(settings_cls)
        native = _native.get()
        return (
            Arguments(settings_cls, init_settings),
            Environment(settings_cls),
            read_dotenv(settings_cls, home / DOTENV_FILE),
            FileKeys(
                settings_cls,
                read_native(home / NATIVE_FILE) if native is None else native,
                Source.NATIVE if native is None else Source.ARGUMENT,
                home / NATIVE_FILE,
            ),
            FileKeys(settings_cls, read_host_config(home / HOST_FILE), Source.HOST, home / HOST_FILE),
        )
