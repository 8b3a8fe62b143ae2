"""The settings that hold, each with where it comes from and without its secrets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hermes_memory.settings.masking import masked
from hermes_memory.settings.model import Settings
from hermes_memory.settings.origins import Origin, Origins, origins


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectiveSetting:
    """One setting as it holds.

    Attributes:
        value: As JSON has it; a secret is masked.
        origins: Where it was read, () for a default. A mapping may have parts from several places, the one that
            outranks the others first.
    """

    key: str
    value: Any
    origins: tuple[Origin, ...]

    @property
    def place(self) -> str:
        """Where it comes from, in words."""
        return " and ".join(map(str, self.origins)) or "default"


def settings_at(home: Path | None, **named: Any) -> Settings:
    """Read the settings of a home, None for the environment's, some of them named in place of what stands there.

    Raises:
        ConfigurationError: They cannot be used.
    """
    return Settings(**({"home": home} if home else {}), **named)


def effective_settings(home: Path | None = None) -> tuple[Settings, Sequence[EffectiveSetting]]:
    """Read the settings of a home; return them, and each of them as it may be shown.

    Args:
        home: The Hermes home; the environment's by default.

    Raises:
        ConfigurationError: They cannot be used.
    """
    found: Origins = {}
    token = origins.set(found)
    try:
        settings = settings_at(home)
    finally:
        origins.reset(token)
    return settings, tuple(_each(settings, found))


def _each(settings: Settings, found: Origins) -> Iterator[EffectiveSetting]:
    plain = settings.model_dump(mode="json")
    for key in Settings.model_fields:
        if key == "home":
            continue
        secret = getattr(getattr(settings, key), "get_secret_value", None)
        places = found.get(key, [])
        yield EffectiveSetting(
            key=key,
            value=masked(key, secret() if secret else plain[key]),
            origins=tuple(places if isinstance(plain[key], dict) else places[:1]),
        )
