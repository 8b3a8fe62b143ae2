"""What the host's set-up asks, and how its answers become settings."""

from __future__ import annotations

import json
import stat
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from hermes_memory.domain.errors import ConfigurationError
from hermes_memory.hermes import config_schema
from hermes_memory.hermes.config_schema import RefusedValue, get_config_schema, save_config
from hermes_memory.settings import ENV_PREFIX, Settings


def _stored(home: Path) -> dict[str, Any]:
    stored: dict[str, Any] = json.loads((home / "hermes-memory.json").read_text())
    return stored


@pytest.fixture
def host_config(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """The host's own module for its configuration; what is saved through it."""
    saved: list[dict[str, Any]] = []
    package, module = ModuleType("hermes_cli"), ModuleType("hermes_cli.config")
    vars(module)["save_config"] = saved.append
    monkeypatch.setitem(sys.modules, "hermes_cli", package)
    monkeypatch.setitem(sys.modules, "hermes_cli.config", module)
    return saved


def test_every_field_is_a_setting_and_described() -> None:
    for field in get_config_schema():
        assert field["key"] in Settings.model_fields
        assert field["description"]
        assert field["required"] is False


def test_what_may_hold_a_password_is_a_secret_with_its_variable() -> None:
    secrets = [field for field in get_config_schema() if field.get("secret")]

    assert [(field["key"], field["env_var"]) for field in secrets] == [("dsn", "HERMES_MEMORY_DSN")]
    assert "default" not in secrets[0]


def test_every_other_field_shows_the_settings_own_default() -> None:
    for field in get_config_schema():
        if not field.get("secret"):
            default = Settings.model_fields[field["key"]].default
            assert field["default"] in (default, "")
            assert not field.get("choices") or field["default"] in field["choices"]


def test_a_field_that_takes_a_number_says_so_with_its_range() -> None:
    (vectors,) = [field for field in get_config_schema() if field["key"] == "embed_dim"]

    assert (vectors["type"], vectors["minimum"], vectors["maximum"]) == ("integer", 1, 4000)
    assert not any("type" in field for field in get_config_schema() if field["key"] != "embed_dim")


def test_a_condition_names_a_field_before_it_and_one_of_its_choices() -> None:
    seen: dict[str, dict[str, Any]] = {}
    for field in get_config_schema():
        for key, value in field.get("when", {}).items():
            assert value in seen[key]["choices"]
        seen[field["key"]] = field


def test_a_form_that_is_saved_unchanged_leaves_the_defaults(tmp_path: Path) -> None:
    save_config({field["key"]: field["default"] for field in get_config_schema() if not field.get("secret")}, tmp_path)

    assert _stored(tmp_path) == {"embedder": "local", "read_policy": "open", "prefetch": True}
    assert Settings(home=tmp_path).embedder == "local"


def test_text_from_a_form_becomes_what_the_settings_hold(tmp_path: Path) -> None:
    form = {
        "embedder": "ollama",
        "embed_url": " http://localhost:11434 ",
        "embed_model": "nomic-embed-text",
        "embed_dim": "768",
        "prefetch": "false",
        "allowed_themes": "sales, support",
        "write_contexts": ' ["primary", "cron"]',
        "identity_aliases": {"ops": "operations"},
    }
    save_config(form, tmp_path)

    settings = Settings(home=tmp_path)
    assert settings.embed_url == "http://localhost:11434"
    assert settings.embed_dim == 768
    assert settings.prefetch is False
    assert settings.allowed_themes == ("sales", "support")
    assert settings.write_contexts == ("primary", "cron")


def test_keys_that_the_form_does_not_name_stay(tmp_path: Path) -> None:
    (tmp_path / "hermes-memory.json").write_text('{"pool_size": 9, "of_a_newer_version": [1]}')

    save_config({"embedder": "none"}, tmp_path)

    assert _stored(tmp_path) == {"pool_size": 9, "of_a_newer_version": [1], "embedder": "none"}


@pytest.mark.parametrize("empty", ["", "  ", None])
def test_an_emptied_field_takes_the_setting_out(tmp_path: Path, empty: object) -> None:
    save_config({"embed_model": "x"}, tmp_path)
    save_config({"embed_model": empty}, tmp_path)

    assert _stored(tmp_path) == {}


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"embed_dim": "many"}, "embed_dim: "),
        ({"embed_dim": "99999"}, "embed_dim: "),
        ({"embedder": "magic"}, "embedder: "),
        ({"embed_api_key_env": "sk-123 456"}, "embed_api_key_env: "),
        ({"embed_model": "m\udcff"}, "embed_model: a part of it is no text"),
        ({"allowed_themes": ["sales", "\ud800"]}, "allowed_themes: a part of it is no text"),
        ({"no_such_setting": "1"}, "'no_such_setting' is not a setting"),
        ({"home": "/tmp"}, "'home' is not a setting"),
        ({"dsn": "postgresql://u:secret@h/d"}, "put HERMES_MEMORY_DSN into"),
        ({"subject_secret": "secret"}, "put HERMES_MEMORY_SUBJECT_SECRET into"),
    ],
)
def test_a_value_that_cannot_be_used_is_refused_by_name_and_nothing_is_written(
    tmp_path: Path, values: dict[str, object], message: str
) -> None:
    with pytest.raises(RefusedValue, match=message) as refusal:
        save_config({"embedder": "none", **values}, tmp_path)

    assert not (tmp_path / "hermes-memory.json").exists()
    assert "secret@" not in str(refusal.value)
    assert "sk-123" not in str(refusal.value)


def test_a_refusal_is_shown_by_the_hosts_dashboard() -> None:
    # It passes on the message of a ValueError alone.
    assert issubclass(RefusedValue, ValueError)
    assert issubclass(RefusedValue, ConfigurationError)


@pytest.mark.parametrize("text", ["{", "[1]", '"x"'])
def test_a_file_that_holds_something_else_is_not_overwritten(tmp_path: Path, text: str) -> None:
    (tmp_path / "hermes-memory.json").write_text(text)

    with pytest.raises(RefusedValue, match="mend or remove it"):
        save_config({"embedder": "none"}, tmp_path)

    assert (tmp_path / "hermes-memory.json").read_text() == text


def test_the_file_is_the_owners_alone_and_no_leftover_lies_beside_it(tmp_path: Path) -> None:
    (tmp_path / "hermes-memory.json").write_text("{}")
    (tmp_path / "hermes-memory.json").chmod(0o644)

    save_config({"embedder": "none"}, tmp_path)

    assert stat.S_IMODE((tmp_path / "hermes-memory.json").stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["hermes-memory.json"]


def test_a_link_to_the_file_is_written_through(tmp_path: Path) -> None:
    (tmp_path / "dotfiles").mkdir()
    (tmp_path / "dotfiles" / "memory.json").write_text("{}")
    (tmp_path / "hermes-memory.json").symlink_to(tmp_path / "dotfiles" / "memory.json")

    save_config({"embedder": "none"}, tmp_path)

    assert (tmp_path / "hermes-memory.json").is_symlink()
    assert json.loads((tmp_path / "dotfiles" / "memory.json").read_text()) == {"embedder": "none"}


def test_set_up_makes_this_the_provider_and_keeps_the_rest(tmp_path: Path, host_config: list[dict[str, Any]]) -> None:
    config: dict[str, Any] = {"memory": {"memory_enabled": True, "provider": "other"}, "model": {"default": "m"}}

    told = config_schema.post_setup(tmp_path, config)

    assert host_config == [config]
    assert config == {"memory": {"memory_enabled": True, "provider": "hermes-memory"}, "model": {"default": "m"}}
    assert "embedded Postgres" in told
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("memory", [None, "off", []])
def test_set_up_mends_a_memory_section_that_is_none(
    tmp_path: Path, host_config: list[dict[str, Any]], memory: object
) -> None:
    config_schema.post_setup(tmp_path, {"memory": memory})

    assert host_config == [{"memory": {"provider": "hermes-memory"}}]


def test_set_up_without_the_host_tells_what_to_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "hermes_cli.config", None)

    with pytest.raises(ConfigurationError, match=r"provider: hermes-memory.*config\.yaml"):
        config_schema.post_setup(tmp_path, {})


def test_the_status_shows_where_memories_go_but_no_password(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(f"{ENV_PREFIX}DSN", "postgresql://hermes:hunter2@db.example:5433/memory")

    status = config_schema.get_status_config(tmp_path)

    assert status["store"] == "Postgres at db.example"
    assert "hunter2" not in str(status)


@pytest.mark.parametrize("dsn", ["host=db password=hunter2", "postgresql://[broken:hunter2@"])
def test_the_status_tells_of_a_connection_string_of_another_shape_without_its_password(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dsn: str
) -> None:
    monkeypatch.setenv(f"{ENV_PREFIX}DSN", dsn)

    problem = config_schema.get_status_config(tmp_path)["problem"]

    assert problem.startswith("dsn: ")
    assert "hunter2" not in problem


def test_the_status_shows_a_database_whose_host_is_left_to_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(f"{ENV_PREFIX}DSN", "postgresql:///memory")

    assert config_schema.get_status_config(tmp_path)["store"] == "Postgres"


def test_the_status_names_the_model_of_an_endpoint_and_of_no_other_embedder(tmp_path: Path) -> None:
    endpoint = {"embed_url": "http://127.0.0.1:11434", "embed_model": "nomic-embed-text", "embed_dim": "768"}
    save_config({"embedder": "ollama", **endpoint}, tmp_path)
    before = config_schema.get_status_config(tmp_path)["embedder"]
    save_config({"embedder": "local"}, tmp_path)

    assert (before, config_schema.get_status_config(tmp_path)["embedder"]) == ("ollama nomic-embed-text", "local")


def test_the_status_names_a_wrong_setting(tmp_path: Path) -> None:
    (tmp_path / "hermes-memory.json").write_text('{"embeder": "none"}')

    assert "did you mean 'embedder'" in config_schema.get_status_config(tmp_path)["problem"]


def test_nothing_else_lies_outside_the_home_for_a_backup_to_fetch(tmp_path: Path) -> None:
    assert config_schema.backup_paths(tmp_path) == []


def test_a_database_that_root_keeps_outside_of_the_home_belongs_into_its_backup(tmp_path: Path) -> None:
    folder = tmp_path / "hermes-memory" / "postgres"
    folder.mkdir(parents=True)
    (folder / "moved-to").write_text("/var/lib/hermes-memory/0123", encoding="utf-8")

    assert config_schema.backup_paths(tmp_path) == ["/var/lib/hermes-memory/0123"]
