"""The package the host loads: what it registers when all is well and when the library is missing."""

from __future__ import annotations

import abc
import argparse
import json
import logging
import sys
from types import ModuleType
from typing import Any

import pytest

import hermes_memory.hermes.plugin as plugin
from hermes_memory.hermes.plugin import cli


class Context:
    """The host's collector, which knows nothing but the one registration."""

    def __init__(self) -> None:
        self.provider: Any = None

    def register_memory_provider(self, provider: Any) -> None:
        """Keep the instance."""
        self.provider = provider


class HostProvider(abc.ABC):
    """Has abstract methods and a default, as the host's base class does."""

    @property
    @abc.abstractmethod
    def name(self) -> str: ...

    @abc.abstractmethod
    def is_available(self) -> bool: ...

    @abc.abstractmethod
    def initialize(self, session_id: str, **facts: Any) -> None: ...

    @abc.abstractmethod
    def get_tool_schemas(self) -> list[Any]: ...

    def on_turn_start(self, number: int, message: str) -> str:
        return "the host's own default"


@pytest.fixture
def without_library(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the import of the provider fail, as a missing or shadowed library does."""
    monkeypatch.setitem(sys.modules, "hermes_memory.hermes.provider", None)


def _registered() -> Any:
    context = Context()
    plugin.register(context)
    return context.provider


@pytest.mark.usefixtures("without_library")
def test_without_its_library_a_provider_is_registered_that_is_not_available_and_says_why() -> None:
    provider = _registered()

    assert provider.name == "hermes-memory"
    assert provider.is_available() is False
    assert sys.executable in provider.unavailable_reason()
    assert "pip install hermes-memory-postgres" in provider.unavailable_reason()
    assert provider.get_status_config({}) == {"problem": provider.unavailable_reason()}
    assert (provider.get_tool_schemas(), provider.get_config_schema()) == ([], [])
    assert (provider.initialize("s", hermes_home="/"), provider.shutdown()) == (None, None)


@pytest.mark.usefixtures("without_library")
def test_the_stand_in_has_the_hosts_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    agent, module = ModuleType("agent"), ModuleType("agent.memory_provider")
    vars(module)["MemoryProvider"] = HostProvider
    monkeypatch.setitem(sys.modules, "agent", agent)
    monkeypatch.setitem(sys.modules, "agent.memory_provider", module)

    provider = _registered()

    assert isinstance(provider, HostProvider)
    assert provider.on_turn_start(1, "hello") == "the host's own default"


@pytest.mark.usefixtures("without_library")
def test_a_missing_library_is_logged_with_its_cause(caplog: pytest.LogCaptureFixture) -> None:
    _registered()

    (record,) = [record for record in caplog.records if record.name == "hermes_memory.hermes.plugin"]
    assert record.levelno == logging.WARNING
    assert record.exc_info


@pytest.mark.parametrize("error", [AttributeError("x"), TypeError("x"), SyntaxError("x"), OSError("x"), NameError("x")])
def test_a_library_that_breaks_in_any_way_on_import_is_not_available(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def broken() -> None:
        raise error

    module = ModuleType("hermes_memory.hermes.provider")
    vars(module)["HermesMemoryProvider"] = broken
    monkeypatch.setitem(sys.modules, "hermes_memory.hermes.provider", module)

    assert type(error).__name__ in _registered().unavailable_reason()


def test_every_registration_makes_a_new_instance() -> None:
    first, second = _registered(), _registered()

    assert first is not second
    assert type(first).__module__ == "hermes_memory.hermes.provider"
    assert json.dumps(first.get_tool_schemas()) == json.dumps(second.get_tool_schemas())


def test_the_command_line_offers_the_verbs_and_passes_the_exit_code_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    parser = argparse.ArgumentParser(prog="hermes hermes-memory")
    cli.register_cli(parser)
    monkeypatch.setattr("hermes_memory.cli.main.run", lambda given: 7)
    given = parser.parse_args(["doctor"])

    with pytest.raises(SystemExit) as left:
        given.func(given)

    assert left.value.code == 7
    assert "doctor" in parser.format_help()
    assert capsys.readouterr().out == ""


def test_the_hosts_own_command_tells_a_shell_how_to_complete_the_librarys(capsys: pytest.CaptureFixture[str]) -> None:
    parser = argparse.ArgumentParser(prog="hermes hermes-memory")
    cli.register_cli(parser)
    given = parser.parse_args(["completion", "bash"])
    with pytest.raises(SystemExit) as left:
        given.func(given)

    assert left.value.code == 0
    assert "hermes-memory" in capsys.readouterr().out


def test_the_command_line_without_its_library_says_so_and_leaves_other_plugins_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "hermes_memory.cli.main", None)
    parser = argparse.ArgumentParser(prog="hermes hermes-memory")

    cli.register_cli(parser)

    given = parser.parse_args([])
    with pytest.raises(SystemExit, match="cannot be imported by this Python"):
        given.func(given)
