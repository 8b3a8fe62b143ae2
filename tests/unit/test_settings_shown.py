"""What is told of the settings: their schema, their values without secrets, their ranges in words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from tests.support.tables import for_each

from hermes_memory.application.importing.pgvector_settings import RENAMED
from hermes_memory.domain.errors import ConfigurationError, InvalidInput
from hermes_memory.settings import Settings
from hermes_memory.settings.checking import check_file
from hermes_memory.settings.effective import effective_settings
from hermes_memory.settings.masking import MASK, masked, masked_address
from hermes_memory.settings.origins import Source
from hermes_memory.settings.places import line_in_json, line_in_yaml, line_of_variable
from hermes_memory.settings.ranges import bounds_of, described
from hermes_memory.settings.schema import settings_schema

SECRET = "s3cr3t"


def fits(document: Any) -> bool:
    return jsonschema.Draft202012Validator(settings_schema()).is_valid(document)


def test_the_schema_is_one_and_takes_what_the_settings_are_by_default(home: Path) -> None:
    jsonschema.Draft202012Validator.check_schema(settings_schema())
    plain = Settings().model_dump(mode="json")
    document = {key: value for key, value in plain.items() if key not in {"home", "subject_secret"}}

    assert fits({**document, "$schema": "settings.schema.json"})
    assert set(settings_schema()["properties"]) == {*document, "$schema"}


@pytest.mark.parametrize(
    "wrong",
    [
        {"pool_size": 0},
        {"pool_size": "many"},
        {"pool_sise": 3},
        {"embedder": "magic"},
        {"read_policy": "everyone"},
        {"recall_floor": 1.5},
        {"prefetch_timeout": 0},
        {"runtime_role": "No Role"},
        {"ranking_weights": {"own": "much"}},
        {"write_contexts": 3},
        {"subject_secret": "x"},
        {"home": "/elsewhere"},
    ],
)
def test_schema_and_settings_refuse_the_same(home: Path, wrong: dict[str, Any]) -> None:
    (home / "hermes-memory.json").write_text(json.dumps(wrong))
    with pytest.raises(ConfigurationError):
        Settings()

    assert not fits(wrong)


@pytest.mark.parametrize(
    "right",
    [
        {"pool_size": 3, "dsn": "postgresql://app@db/memory", "partitions": None},
        {"write_contexts": "primary,cron", "allowed_themes": ["a"], "identity_aliases": {"a": "b"}},
        {"embedder": "ollama", "embed_url": "http://localhost:1", "embed_model": "m", "embed_dim": 3},
        {"$schema": "x", "half_life_days": 2.5, "state_directory": "/srv/state"},
    ],
)
def test_schema_and_settings_take_the_same(home: Path, right: dict[str, Any]) -> None:
    path = home / "hermes-memory.json"
    path.write_text(json.dumps(right))

    assert fits(right)
    assert check_file(path).model_dump(mode="json")["home"] == str(home)
    assert Settings().home == home


@for_each(
    ("address", "shown"),
    [
        ("postgresql://app:s3cr3t@db:5432/memory", f"postgresql://app:{MASK}@db:5432/memory"),
        ("postgresql://app@db/memory?sslmode=require", "postgresql://app@db/memory?sslmode=require"),
        ("postgresql:///memory?host=/run/pg&password=s3cr3t", f"postgresql:///memory?host=/run/pg&password={MASK}"),
        ("http://s3cr3t@models:80/v1", f"http://{MASK}@models:80/v1"),
        ("http://localhost:11434", "http://localhost:11434"),
        ("postgresql://app:s3cr3t/more@db/memory", MASK),
        ("postgresql://app:12#s3cr3t@db/memory", MASK),
        ("postgresql://app:12?s3cr3t@db/memory", MASK),
        ("postgresql://app:s3cr3t@[db/memory", MASK),
        ("host=db user=app password=s3cr3t", MASK),
        ("postgresql://app@db/m password=s3cr3t", MASK),
        ("postgresql://app@db password=s3cr3t", MASK),
        ("postgresql://app@db;password=s3cr3t/m", MASK),
        ("postgresql://app@db/m;password=s3cr3t", MASK),
        ("postgresql://app@db/m%20password%3Ds3cr3t", MASK),
        ("postgresql://app@db/m?sslrootcert=a;password=s3cr3t", MASK),
        ("postgresql://app@db/m?dbname=host%3Da%20password%3Ds3cr3t", MASK),
        ("postgresql://app@db/m?user=a%3Bpassword%3As3cr3t", MASK),
        ("postgresql://app@db/m?sslmode;s3cr3t=1", MASK),
        (f"https://h/v1/sk-proj-s3cr3t{'abc0' * 10}", "https://h/v1/[redacted:api-key]"),
        (f"https://hf_{'s3cr3tAB' * 5}.h/v1", "https://[redacted:huggingface-token].h/v1"),
        ("s3cr3t", MASK),
    ],
)
def test_an_address_is_shown_without_what_is_secret_in_it(address: str, shown: str) -> None:
    assert masked_address(address) == shown
    assert SECRET not in shown


@for_each("name", ["EMBED_KEY", "openai_api_key", "_KEY2", "OLLAMA", "MY_TEAM_2_KEY"])
def test_the_name_of_a_variable_is_shown(name: str) -> None:
    assert masked("embed_api_key_env", name) == name


@for_each("key", [f"hf_{'s3cr3tAB' * 5}", "AKIAIOSFODNN7EXAMPLE", "a1b2c3d4e5f60718", "x" * 40])
def test_a_key_in_the_place_of_a_variables_name_is_not_shown(key: str) -> None:
    assert masked("embed_api_key_env", key) == MASK


def test_neither_people_nor_secrets_in_names_are_shown(home: Path) -> None:
    aliases = {"sms:+15550101": "chores", "bob@example.org": "work", "password": "hunter2"}
    (home / "hermes-memory.json").write_text(
        json.dumps({"identity_aliases": aliases, "bench_patterns": ["chores", "+15550102030"], "embed_model": "m"})
    )
    (home / ".env").write_text("HERMES_MEMORY_EMBED_MODEL=password:hunter2\n")
    shown = {each.key: each.value for each in effective_settings()[1]}

    assert shown["identity_aliases"] == {
        "[contact 1]": "chores",
        "[contact 2]": "work",
        "password": "[redacted:password]",
    }
    assert shown["bench_patterns"] == ["chores", "[contact 2]"]
    assert shown["embed_model"] == "password:[redacted:password]"
    assert shown["allowed_themes"] == []


def test_each_setting_is_shown_with_the_place_that_counts(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "hermes-memory.json").write_text('{"pool_size": 3, "prefetch": false}')
    (home / ".env").write_text("HERMES_MEMORY_POOL_SIZE=5\n")
    monkeypatch.setenv("hermes_memory_tool_timeout", "7")
    settings, found = effective_settings()
    by_key = {each.key: each for each in found}

    assert (settings.pool_size, by_key["pool_size"].value) == (5, 5)
    assert [origin.source for origin in by_key["pool_size"].origins] == [Source.DOTENV]
    assert by_key["pool_size"].place == f"HERMES_MEMORY_POOL_SIZE in {home / '.env'}, line 1"
    assert by_key["tool_timeout"].place == "hermes_memory_tool_timeout in the environment"
    assert by_key["prefetch"].place == f"prefetch in {home / 'hermes-memory.json'}, line 1"
    assert by_key["strategy"].place == "default"
    assert list(by_key) == [key for key in Settings.model_fields if key != "home"]


def test_every_setting_says_which_values_it_takes() -> None:
    told = {key: described(field) for key, field in Settings.model_fields.items()}

    assert told["prefetch_timeout"] == "a number above 0, at most 7.5"
    assert told["strategy"] == "one of score, rrf"
    assert told["spool_max_bytes"] == "a whole number of at least 1,048,576"
    assert all(told.values())


def test_what_the_conversion_of_old_settings_takes_the_settings_take() -> None:
    edges = [
        (old, name, edge)
        for old, (name, _) in RENAMED.items()
        for edge in (bounds_of(Settings.model_fields[name]).get(side) for side in ("ge", "le"))
        if edge is not None
    ]

    assert edges
    for old, _, edge in edges:
        assert RENAMED[old][1](edge) == edge
    for old, name, _ in edges:
        beyond = bounds_of(Settings.model_fields[name])["le"] + 1
        with pytest.raises(ValueError, match="expected"):
            RENAMED[old][1](beyond)


@for_each("text", ["", "[]", "{", '{"a"', '{"a": 1', "nonsense", '{"a": {"b": 1}}', "{,,,}"])
def test_a_key_that_stands_nowhere_has_no_line(text: str) -> None:
    assert line_in_json(text, "b") is None
    assert line_in_yaml(text, "b") is None
    assert line_of_variable(text, "B") is None


def test_a_file_that_is_no_kind_of_settings_is_refused(tmp_path: Path) -> None:
    for name in ("settings.toml", "settings", "none.json"):
        with pytest.raises(InvalidInput, match=name):
            check_file(tmp_path / name)
