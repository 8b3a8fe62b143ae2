"""What is taken from the host, where it has it, and settings that are read no more often than they change."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from hermes_memory.domain.errors import ConfigurationError
from hermes_memory.hermes import host
from hermes_memory.hermes.host import read_settings, recall_status, secret_reader
from hermes_memory.settings import Settings

PlaceModule = Callable[..., None]


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> PlaceModule:
    """Puts a module of the host in place, with the names it has."""

    def placed(name: str, **members: Any) -> None:
        package, module = ModuleType("agent"), ModuleType(f"agent.{name}")
        vars(module).update(members)
        monkeypatch.setitem(sys.modules, "agent", package)
        monkeypatch.setitem(sys.modules, f"agent.{name}", module)

    return placed


def nothing(name: str) -> str | None:
    return None


def test_without_a_host_secrets_are_the_environments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_KEY", "from the environment")

    assert secret_reader()("SOME_KEY") == "from the environment"
    assert secret_reader()("NO_SUCH_KEY") is None


@pytest.mark.parametrize(
    "members",
    [
        {},
        {"get_secret": nothing},
        {"current_secret_scope": lambda: {"SOME_KEY": "from the scope"}},
        {"get_secret": nothing, "current_secret_scope": lambda: None},
    ],
    ids=["neither", "no scopes", "no reader", "outside a scope"],
)
def test_a_host_without_scopes_of_secrets_leaves_it_at_the_environment(
    place: PlaceModule, members: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_KEY", "from the environment")
    place("secret_scope", **members)

    assert secret_reader()("SOME_KEY") == "from the environment"


def test_inside_a_scope_only_its_own_secrets_are_read_from_any_thread_and_later_too(
    place: PlaceModule, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_KEY", "another profile's")
    scope = threading.local()
    scope.secrets = {"OTHER_KEY": "own"}
    place("secret_scope", get_secret=nothing, current_secret_scope=lambda: getattr(scope, "secrets", None))
    read = secret_reader()
    scope.secrets.clear()
    answers: list[str | None] = []
    thread = threading.Thread(target=lambda: answers.extend([read("OTHER_KEY"), read("SOME_KEY")]))
    thread.start()
    thread.join(60)

    assert answers == ["own", None]


def test_a_recall_is_told_only_to_a_host_that_knows_how(place: PlaceModule) -> None:
    without = recall_status("memory", 3)
    place("memory_provider", RecallStatus=dict)

    assert without is None
    assert recall_status("memory", 3) == {"provider_label": "memory", "count": 3, "glyph": "◇"}


def test_settings_are_read_of_the_home_with_the_agents_own_secrets(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "hermes-memory.json").write_text('{"pool_size": 7}')
    monkeypatch.setenv("HERMES_MEMORY_DSN", "postgresql://everyones@db/memory")
    secrets = {"HERMES_MEMORY_DSN": "postgresql://own@db/memory", "HERMES_MEMORY_SUBJECT_SECRET": "k" * 48}
    own, everyones = read_settings(other, secrets.get), read_settings(None, nothing)

    assert (own.home, own.pool_size, everyones.home) == (other, 7, home)
    assert own.dsn is not None
    assert own.dsn.get_secret_value() == "postgresql://own@db/memory"
    assert own.subject_secret is not None
    assert everyones.dsn is not None
    assert everyones.dsn.get_secret_value() == "postgresql://everyones@db/memory"


def test_settings_are_the_same_object_while_nothing_changes(home: Path) -> None:
    first = read_settings(home, nothing)

    assert all(read_settings(home, nothing) is first for _ in range(3))
    assert read_settings(None, nothing) is first


@pytest.mark.parametrize("change", ["native", "host", "dotenv", "variable", "secret"])
def test_any_change_of_what_they_come_from_is_noticed(home: Path, change: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before = read_settings(home, nothing)
    secrets: dict[str, str] = {}
    match change:
        case "native":
            (home / "hermes-memory.json").write_text('{"pool_size": 7}')
        case "host":
            (home / "config.yaml").write_text("plugins: {hermes-memory: {pool_size: 7}}")
        case "dotenv":
            (home / ".env").write_text("HERMES_MEMORY_POOL_SIZE=7")
        case "variable":
            monkeypatch.setenv("HERMES_MEMORY_POOL_SIZE", "7")
        case _:
            secrets["HERMES_MEMORY_DSN"] = "postgresql://own@db/memory"
    after = read_settings(home, secrets.get)

    assert after is not before
    assert after.pool_size == 7 or after.dsn is not None


def test_a_file_that_changes_within_its_size_is_noticed(home: Path) -> None:
    path = home / "hermes-memory.json"
    path.write_text('{"pool_size": 7}')
    first = read_settings(home, nothing).pool_size
    path.write_text('{"pool_size": 8}')
    os.utime(path, ns=(1, path.stat().st_mtime_ns + 1))

    assert (first, read_settings(home, nothing).pool_size) == (7, 8)


def test_a_mistake_is_told_each_time_until_it_is_mended(home: Path) -> None:
    path = home / "hermes-memory.json"
    path.write_text('{"pool": 7}')
    for _ in range(2):
        with pytest.raises(ConfigurationError):
            read_settings(home, nothing)
    path.unlink()

    assert read_settings(home, nothing).pool_size == 4


def test_only_so_many_homes_are_remembered(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host, "HOMES_KEPT", 3)
    homes = [home / str(number) for number in range(5)]
    read: list[Settings] = []
    for folder in homes:
        folder.mkdir()
        read.append(read_settings(folder, nothing))

    assert len(host._read) <= 3
    assert read_settings(homes[-1], nothing) is read[-1]
    assert read_settings(homes[0], nothing) is not read[0]
