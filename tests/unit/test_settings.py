"""The settings: where they come from, and what is refused with a sentence that helps."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.support.tables import for_each

from hermes_memory import ConfigurationError, Settings
from hermes_memory.bootstrap.home import open_local_half
from hermes_memory.domain.identity import IdentityPolicy
from hermes_memory.settings.ranges import described
from hermes_memory.settings.refusals import UnusableSettings


@pytest.mark.parametrize("origin", ["environment", ".env"])
def test_a_misspelt_variable_is_refused_with_the_nearest_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, origin: str
) -> None:
    if origin == ".env":
        (tmp_path / ".env").write_text("OTHERS_KEY=x\nHERMES_MEMORY_POOLSIZE=2\n", encoding="utf-8")
    else:
        monkeypatch.setenv("HERMES_MEMORY_POOLSIZE", "2")

    with pytest.raises(ConfigurationError, match=r"HERMES_MEMORY_POOLSIZE.*did you mean 'HERMES_MEMORY_POOL_SIZE'"):
        Settings(home=tmp_path)


def test_the_variables_of_others_in_the_homes_own_file_do_not_matter(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text(
        "OPENAI_API_KEY=x\nHERMES_MEMORY_POOL_SIZE=2\nHERMES_MEMORY_RUNTIME_PASSWORD=y\n", encoding="utf-8"
    )

    assert Settings(home=tmp_path).pool_size == 2


@pytest.mark.parametrize("origin", ["environment", ".env", "hermes-memory.json", "config.yaml"])
def test_no_source_inside_a_home_may_name_another_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, origin: str
) -> None:
    texts = {
        ".env": "HERMES_MEMORY_HOME=/elsewhere\n",
        "hermes-memory.json": '{"home": "/elsewhere"}',
        "config.yaml": "plugins: {hermes-memory: {home: /elsewhere}}",
    }
    if origin == "environment":
        monkeypatch.setenv("HERMES_MEMORY_HOME", "/elsewhere")
    else:
        (tmp_path / origin).write_text(texts[origin], encoding="utf-8")

    with pytest.raises(ConfigurationError, match=r"(?i)home"):
        Settings(home=tmp_path)


def test_a_home_may_be_written_with_a_tilde(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "agents").mkdir()
    (tmp_path / "agents" / "hermes-memory.json").write_text('{"pool_size": 7}', encoding="utf-8")

    settings = Settings(home=Path("~/agents"))

    assert (settings.home, settings.pool_size) == (tmp_path / "agents", 7)


def test_benchmarks_are_recognised_by_default_as_the_identity_rules_say(tmp_path: Path) -> None:
    assert Settings(home=tmp_path).bench_patterns == IdentityPolicy().bench_patterns


@pytest.mark.parametrize(
    ("key", "value", "told", "shown"),
    [
        ("allowed_themes", ["sales", "all"], "name 2: the name 'all' is reserved", '["sales", "all"]'),
        ("allowed_themes", "x, whatsapp-dm", "name 2: the name 'whatsapp-dm' is reserved", '["x", "whatsapp-dm"]'),
        ("allowed_themes", ["x" * 200], "name 1: the theme's name is too long: use at most 128", None),
        ("allowed_themes", ["a", "sales, emea"], "name 2: it has a comma in it: make it an", '["a", "sales, emea"]'),
        ("write_contexts", '["primary","cron"', 'must be a JSON list of texts, such as ["sales", "marketing"]', None),
        ("bench_patterns", '["bench-*", 7]', "must be a JSON list of texts", None),
        ("bench_patterns", "[bench]*, other", "must be a JSON list of texts", None),
        pytest.param("bench_patterns", "[" * 100_000, "must be a JSON list of texts", None, id="a deep nest"),
        (
            "identity_aliases",
            {"a": "b", "A ": "c"},
            "two spellings of one alias stand for 'b' and for 'c'",
            '{"a": "b", "A ": "c"}',
        ),
        (
            "identity_aliases",
            {"sms:+15551234567": "b", "SMS:+15551234567 ": "c"},
            "two spellings of one",
            '{"[contact 1]": "b", "[contact 2]": "c"}',
        ),
        ("identity_aliases", {"mkt": "ALL"}, "alias 1: the name 'all' is reserved", '{"mkt": "ALL"}'),
        ("identity_aliases", {"a": "b", "": "c"}, "alias 2: the theme's name is empty", '{"a": "b", "": "c"}'),
        ("identity_aliases", {"a": "sms:+15551234567"}, "alias 1: an alias stands for the key", '{"a": "[contact 1]"}'),
        ("embed_url", "models.example", "must begin with http:// or https://", None),
        ("embedder", "openai", "embedder 'openai' also needs embed_url, embed_model, embed_dim", "'openai'"),
        ("item_max_bytes", 100_000, "item_max_bytes 100000 must be at least 524,288", "100000"),
        ("ranking_weights", {"mood": 1}, "ranking_weights: ", '{"mood": 1}'),
        ("metrics_listen", "0.0.0.0:1", "metrics_listen '0.0.0.0:1' is reached from elsewhere", "'0.0.0.0:1'"),
        ("metrics_listen", "here", "metrics_listen 'here' must be an address and a port", "'here'"),
    ],
)
def test_a_rule_that_is_broken_is_told_with_its_key_its_value_what_is_expected_and_its_place(
    home: Path, key: str, value: object, told: str, shown: str | None
) -> None:
    (home / "hermes-memory.json").write_text(json.dumps({"prefetch": True, key: value}, indent=0))
    with pytest.raises(UnusableSettings) as refused:
        Settings()
    (problem,) = refused.value.problems

    assert told in problem.message
    assert (problem.key, problem.shown) == (key, shown)
    assert problem.expected == described(Settings.model_fields[key])
    assert problem.origin is not None
    assert problem.origin.line() == 3
    assert str(problem).startswith(key)
    assert not str(problem).startswith(f"{key}: {key}")
    assert "15551234567" not in f"{problem}{problem.shown}"


@pytest.mark.parametrize("unusable", ["x" * 300, "file/home"], ids=["too long a name", "below a file"])
def test_a_home_that_cannot_be_used_is_told_in_a_sentence(tmp_path: Path, unusable: str) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(ConfigurationError, match=r"cannot be made|cannot read"):
        open_local_half(Settings(home=tmp_path / unusable))


def test_a_file_of_variables_in_another_encoding_is_told_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / ".env").write_bytes(b"NAME=\xff\xfe\n")

    with pytest.raises(ConfigurationError, match=r"cannot read .*\.env: UnicodeDecodeError"):
        Settings(home=tmp_path)


@pytest.mark.parametrize("origin", ["environment", ".env"])
def test_a_variable_that_should_be_json_and_is_not_is_named_without_its_value(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, origin: str
) -> None:
    if origin == ".env":
        (tmp_path / ".env").write_text("HERMES_MEMORY_IDENTITY_ALIASES=s3cret\n", encoding="utf-8")
    else:
        monkeypatch.setenv("HERMES_MEMORY_IDENTITY_ALIASES", "s3cret")
    with pytest.raises(ConfigurationError, match="identity_aliases: must be written as JSON") as refusal:
        Settings(home=tmp_path)

    assert "s3cret" not in f"{refusal.value}{refusal.value.__cause__}"


@for_each("home", [True, 7, ["x"], object(), "~nobody-of-this-name/x"])
def test_what_cannot_be_the_path_of_a_home_is_refused(home: Any) -> None:
    with pytest.raises(ConfigurationError, match="home: "):
        Settings(home=home)
