"""The settings: one typed model, its sources, and what can be told of both."""

from __future__ import annotations

from hermes_memory.settings.homes import default_home
from hermes_memory.settings.model import Settings, settings_from, settings_with
from hermes_memory.settings.names import (
    CONFIG_SECTION,
    ENV_PREFIX,
    HOME_VARIABLE,
    NATIVE_FILE,
    ROLE_PASSWORD,
)

__all__ = [
    "CONFIG_SECTION",
    "ENV_PREFIX",
    "HOME_VARIABLE",
    "NATIVE_FILE",
    "ROLE_PASSWORD",
    "Settings",
    "default_home",
    "settings_from",
    "settings_with",
]
