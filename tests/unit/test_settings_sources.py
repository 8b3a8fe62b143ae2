"""Sources of the settings: which comes first, what is refused, and what a refusal says and keeps to itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from hermes_memory.bootstrap.home import identity_policy
from hermes_memory.domain.errors import ConfigurationError
from hermes_memory.domain.model import ReadPolicy
from hermes_memory.settings import Settings, default_home
from hermes_memory.settings.files import MOST_BYTES

URL = "postgresql://someone:s3cret@db.example/memory"


class Home:
    """The files and variables that settings are read from, all of them for one setting at a time."""

    def __init__(self, folder: Path, environment: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.environment = environment

    def variables(self, **values: object) -> None:
        for key, value in values.items():
            self.environment.setenv(f"HERMES_MEMORY_{key.upper()}", str(value))

    def dotenv(self, **values: object) -> None:
        lines = [f"HERMES_MEMORY_{key.upper()}={value}" for key, value in values.items()]
        (self.folder / ".env").write_text("\n".join([*lines, "OPENAI_API_KEY=sk-other", "PATH=/nowhere"]))

    def native(self, **values: Any) -> None:
        (self.folder / "hermes-memory.json").write_text(json.dumps(values))

    def host(self, **values: Any) -> None:
        document = {"model": "some", "plugins": {"other": {"x": 1}, "hermes-memory": values}}
        (self.folder / "config.yaml").write_text(yaml.safe_dump(document))


@pytest.fixture
def sources(home: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    return Home(home, monkeypatch)


def test_without_any_source_the_defaults_of_the_home_hold(sources: Home) -> None:
    settings = Settings()

    assert settings.home == sources.folder
    assert (settings.dsn, settings.embedder, settings.pool_size) == (None, "local", 4)
    assert settings.read_policy is ReadPolicy.OPEN
    assert settings.write_contexts == ("primary", "cron")


def test_the_home_is_that_of_the_user_unless_the_variable_names_another(
    home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    named = default_home()
    monkeypatch.setenv("HERMES_HOME", "~/other")
    expanded = default_home()
    monkeypatch.setenv("HERMES_HOME", "  ")

    assert (named, expanded, default_home()) == (home, tmp_path / "other", tmp_path / ".hermes")


def test_each_source_comes_before_the_next(sources: Home) -> None:
    found = [Settings().pool_size]
    sources.host(pool_size=5)
    found.append(Settings().pool_size)
    sources.native(pool_size=6)
    found.append(Settings().pool_size)
    sources.dotenv(pool_size=7)
    found.append(Settings().pool_size)
    sources.variables(pool_size=8)
    found.append(Settings().pool_size)
    found.append(Settings(pool_size=9).pool_size)

    assert found == [4, 5, 6, 7, 8, 9]


def test_sources_complete_each_other(sources: Home) -> None:
    sources.host(pool_size=5, prefetch=False)
    sources.native(prefetch_limit=9)
    sources.dotenv(dsn=URL)
    sources.variables(tool_timeout=1.5)
    settings = Settings()

    assert (settings.pool_size, settings.prefetch, settings.prefetch_limit) == (5, False, 9)
    assert settings.tool_timeout == 1.5
    assert settings.dsn is not None
    assert settings.dsn.get_secret_value() == URL


def test_the_files_are_those_of_the_home_that_is_given(sources: Home, tmp_path: Path) -> None:
    sources.native(pool_size=6)
    other = tmp_path / "other"
    other.mkdir()
    (other / "hermes-memory.json").write_text('{"pool_size": 11}')

    assert (Settings().pool_size, Settings(home=other).pool_size, Settings().pool_size) == (6, 11, 6)


def test_an_empty_variable_says_nothing(sources: Home) -> None:
    sources.native(pool_size=6)
    sources.variables(pool_size="", dsn="")

    assert (Settings().pool_size, Settings().dsn) == (6, None)


@pytest.mark.parametrize("case", ["HERMES_MEMORY_POOL_SIZE", "hermes_memory_pool_size"])
def test_case_does_not_matter_in_the_name_of_a_variable(sources: Home, case: str) -> None:
    sources.environment.setenv(case, "8")

    assert Settings().pool_size == 8


@pytest.mark.parametrize("text", ["", "{}"])
def test_an_empty_native_file_says_nothing(sources: Home, text: str) -> None:
    (sources.folder / "hermes-memory.json").write_text(text)

    assert Settings().pool_size == 4


@pytest.mark.parametrize("text", ["", "- a\n- b", "plugins:\n", "plugins: 7", "plugins: {hermes-memory: }", "x: 1"])
def test_a_host_without_a_section_of_ours_says_nothing(sources: Home, text: str) -> None:
    (sources.folder / "config.yaml").write_text(text)

    assert Settings().pool_size == 4


@pytest.mark.parametrize("given", ["a, b,,c ,", ["a", "b", "c"], ("a", "b", "c"), ' ["a", "b", "c"]'])
def test_names_are_a_list_or_one_string_with_commas_or_as_json(sources: Home, given: Any) -> None:
    for key in ("allowed_themes", "bench_patterns", "write_contexts"):
        assert getattr(Settings(**{key: given}), key) == ("a", "b", "c")


def test_names_may_come_from_every_source(sources: Home) -> None:
    sources.host(allowed_themes=["a", "b"])
    sources.native(bench_patterns="x,y")
    sources.variables(write_contexts="primary,flush")
    settings = Settings()

    assert (settings.allowed_themes, settings.bench_patterns) == (("a", "b"), ("x", "y"))
    assert settings.write_contexts == ("primary", "flush")


def test_a_mapping_may_be_written_as_json_in_a_variable(sources: Home) -> None:
    sources.variables(identity_aliases='{"old": "new", "OLD ": "New"}')

    assert identity_policy(Settings()).aliases == {"old": "new"}


@pytest.mark.parametrize("source", ["native", "host"])
def test_an_unknown_key_of_a_file_is_named_with_its_file_and_the_nearest_known_one(sources: Home, source: str) -> None:
    getattr(sources, source)(pool_sise=5)
    with pytest.raises(ConfigurationError) as caught:
        Settings()

    name = {"native": "hermes-memory.json", "host": "config.yaml"}[source]
    assert "'pool_sise'" in str(caught.value)
    assert "did you mean 'pool_size'?" in str(caught.value)
    assert str(sources.folder / name) in str(caught.value)


def test_an_unknown_argument_is_named_with_the_nearest_known_one(sources: Home) -> None:
    with pytest.raises(ConfigurationError, match=r"'recal_floor'.*did you mean 'recall_floor'"):
        Settings(recal_floor=0.1)


def test_a_name_like_no_other_is_answered_with_where_the_known_ones_stand(sources: Home) -> None:
    sources.variables(zzzzzzzz="1")
    with pytest.raises(ConfigurationError, match=r"HERMES_MEMORY_ZZZZZZZZ.*config schema"):
        Settings()


@pytest.mark.parametrize("variable", ["HERMES_MEMORY_RUNTIME_PASSWORD", "HERMES_MEMORY_TEST_ANYTHING", "HERMES_OTHER"])
def test_variables_that_others_read_are_left_alone(sources: Home, variable: str) -> None:
    sources.environment.setenv(variable, "x")

    assert Settings().pool_size == 4


@pytest.mark.parametrize("source", ["native", "host"])
@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("dsn", URL),
        ("dsn", "host=db user=someone password=s3cret"),
        ("dsn", "host=db PASSWORD = s3cret"),
        ("subject_secret", "s3cret" * 8),
    ],
)
def test_a_secret_in_a_file_is_refused_without_showing_it(sources: Home, source: str, key: str, value: str) -> None:
    getattr(sources, source)(**{key: value})
    with pytest.raises(ConfigurationError) as caught:
        Settings()

    assert f"HERMES_MEMORY_{key.upper()}" in str(caught.value)
    assert "s3cret" not in str(caught.value)


def test_an_address_without_a_password_may_stand_in_a_file(sources: Home) -> None:
    sources.native(dsn="postgresql://someone@db.example/memory")

    assert Settings().dsn is not None


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("pool_size", 0, "'0' cannot be used: expected a whole number from 1 to 64"),
        ("pool_size", "many", "'many' cannot be used"),
        ("prefetch_timeout", 7.6, "above 0, at most 7.5"),
        ("recall_floor", -0.1, "a number from 0 to 1"),
        ("embedder", "magic", "one of local, quality, openai, ollama, auto, none"),
        ("read_policy", "everyone", "one of open, grants, own"),
        ("runtime_role", "no role", "text like ^[a-z_]"),
        ("embed_api_key_env", "sk-not a name", "expected text like"),
        ("partitions", 257, "a whole number from 1 to 256"),
    ],
)
def test_a_wrong_value_names_its_key_and_the_range(sources: Home, key: str, value: object, told: str) -> None:
    sources.variables(**{key: value})
    with pytest.raises(ConfigurationError) as caught:
        Settings()

    assert str(caught.value).startswith(f"{key}: ")
    assert told in str(caught.value)
    assert f"(HERMES_MEMORY_{key.upper()} in the environment)" in str(caught.value)
    assert "sk-not" not in str(caught.value)


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("dsn", "http://x", "'http://x' cannot be used: must be a URL such as postgresql://"),
        ("dsn", "justaname", "dsn: must be a URL such as postgresql://"),
        (
            "dsn",
            f"{URL}?sslmode=foo",
            "'postgresql://someone:********@db.example/memory?sslmode=foo' cannot be used: its sslmode must be one of",
        ),
        ("embed_url", "ftp://x", "'ftp://x' cannot be used: the embedder's URL must begin with http:// or https://"),
    ],
)
def test_an_address_that_cannot_be_one_is_refused_when_it_is_read(
    sources: Home, key: str, value: str, told: str
) -> None:
    sources.dotenv(**{key: value})
    with pytest.raises(ConfigurationError) as caught:
        Settings()

    assert told in str(caught.value)
    assert f"(HERMES_MEMORY_{key.upper()} in {sources.folder}/.env, line 1)" in str(caught.value)
    assert "s3cret" not in str(caught.value)


KEY = "sk-proj-Zk3vQ9wLr8TnXy2BcDf5Gh7Jm4Np6Qs1Tu0VwXyZ"


@pytest.mark.parametrize("secret", [KEY, URL, f"token={KEY}", "-----BEGIN PRIVATE KEY-----", [KEY], {"a": KEY}])
def test_all_wrong_values_are_named_at_once_and_none_that_may_be_a_secret_is_shown(sources: Home, secret: Any) -> None:
    keys = ("pool_size", "embedder", "dsn", "embed_api_key_env", "ranking_weights")
    with pytest.raises(ConfigurationError) as caught:
        Settings(**dict.fromkeys(keys, secret), tool_timeout=0)

    assert all(f"{key}: " in str(caught.value) for key in ("pool_size", "embedder", "tool_timeout"))
    assert "tool_timeout: 0 cannot be used" in str(caught.value)
    assert not any(part in f"{caught.value}{caught.value.__cause__}" for part in (KEY, "s3cret", "PRIVATE"))


@pytest.mark.parametrize(
    ("source", "text", "place"),
    [
        (".env", "OTHER=1\n\n\nHERMES_MEMORY_POOL_SIZE=99\n", "HERMES_MEMORY_POOL_SIZE in {}/.env, line 4"),
        (".env", "export hermes_memory_pool_size='99'", "HERMES_MEMORY_POOL_SIZE in {}/.env, line 1"),
        (
            "hermes-memory.json",
            '{\n\t"prefetch": true,\n\t"pool_size": 99}',
            "pool_size in {}/hermes-memory.json, line 3",
        ),
        (
            "hermes-memory.json",
            '{"identity_aliases": {"pool_size": "x"},\n "pool_size": 2,\n "pool_size" : 99}',
            "pool_size in {}/hermes-memory.json, line 3",
        ),
        (
            "config.yaml",
            "pool_size: 3\nplugins:\n  hermes-memory:\n    prefetch: true\n    pool_size: 99\n",
            "plugins.hermes-memory.pool_size in {}/config.yaml, line 5",
        ),
        ("config.yaml", "plugins: {hermes-memory: {pool_size: 99}}", "pool_size in {}/config.yaml, line 1"),
        (
            "config.yaml",
            "shared: &s {pool_size: 99}\nplugins: {hermes-memory: {<<: *s}}",
            "plugins.hermes-memory.pool_size in {}/config.yaml)",
        ),
    ],
)
def test_a_wrong_value_of_a_file_names_file_and_line(sources: Home, source: str, text: str, place: str) -> None:
    (sources.folder / source).write_text(text)
    with pytest.raises(ConfigurationError) as caught:
        Settings()

    assert str(caught.value).startswith("pool_size: ")
    assert place.format(sources.folder) in str(caught.value)


def test_all_unknown_keys_of_a_file_are_named_at_once_each_with_its_line(sources: Home) -> None:
    (sources.folder / "hermes-memory.json").write_text('{"pool_sise": 1,\n"prefetchh": true,\n"$schema": "x"}')
    with pytest.raises(ConfigurationError) as caught:
        Settings()

    assert "'pool_sise': did you mean 'pool_size'?" in str(caught.value)
    assert "line 1)" in str(caught.value)
    assert "'prefetchh': did you mean 'prefetch'?" in str(caught.value)
    assert "line 2)" in str(caught.value)
    assert "schema" not in str(caught.value)


def test_names_that_no_setting_has_are_told_of_all_sources_and_with_wrong_values(sources: Home) -> None:
    (sources.folder / ".env").write_text("HERMES_MEMORY_POOL_SISE=1\nHERMES_MEMORY_TOOL_TIMEOUT=never\n")
    sources.native(prefetchh=True, pool_size=99)
    with pytest.raises(ConfigurationError) as caught:
        Settings()

    told = str(caught.value).split("; ")
    assert [line.partition(": ")[0] for line in told] == [
        "unknown key 'prefetchh'",
        "unknown variable HERMES_MEMORY_POOL_SISE",
        "pool_size",
        "tool_timeout",
    ]


def test_a_rule_about_several_settings_names_where_the_first_comes_from(sources: Home) -> None:
    sources.native(ranking_weights={"nonsense": 1})
    with pytest.raises(ConfigurationError, match=r"ranking_weights: .*\(ranking_weights in .*json, line 1\)"):
        Settings()


@pytest.mark.parametrize("line", ["HERMES_MEMORY_POOL_SIZE: 3", "HERMES_MEMORY_DSN='never closed"])
def test_a_line_of_the_variables_file_that_would_be_passed_over_is_refused(sources: Home, line: str) -> None:
    (sources.folder / ".env").write_text(f"OTHER=1\n{line}\n")
    with pytest.raises(ConfigurationError, match=r"\.env, line 2: a variable is written NAME=value"):
        Settings()


def test_lines_of_others_that_cannot_be_understood_do_not_matter(sources: Home) -> None:
    (sources.folder / ".env").write_text("what is this\nHERMES_MEMORY_POOL_SIZE=3\n")

    assert Settings().pool_size == 3


@pytest.mark.parametrize("embedder", ["openai", "ollama", "auto"])
def test_an_embedder_behind_an_address_needs_all_three_facts_of_it(sources: Home, embedder: str) -> None:
    with pytest.raises(ConfigurationError, match=f"'{embedder}' also needs embed_url, embed_dim"):
        Settings(embedder=embedder, embed_model="m")

    settings = Settings(embedder=embedder, embed_model="m", embed_url="http://localhost:1", embed_dim=3)
    assert settings.embedder == embedder


@pytest.mark.parametrize(("characters", "needed"), [(200_000, "1,600,000"), (1_000_000, "8,000,000")])
def test_a_write_must_have_room_for_an_exchange_of_the_longest_turns(
    sources: Home, characters: int, needed: str
) -> None:
    with pytest.raises(ConfigurationError, match=f"item_max_bytes must be at least {needed}"):
        Settings(turn_max_chars=characters)

    assert Settings(turn_max_chars=characters, item_max_bytes=8 * characters).turn_max_chars == characters


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("hermes-memory.json", b"{", "not valid JSON"),
        ("hermes-memory.json", b"[]", "one JSON object"),
        ("hermes-memory.json", b"\xff\xfe", "cannot read"),
        ("config.yaml", b"a: [", "not valid YAML (line 1)"),
        ("config.yaml", b"a: 2026-13-45", "there is not"),
        ("config.yaml", b"a: " + b"9" * 5000, "there is not"),
        ("hermes-memory.json", b'{"pool_size": ' + b"9" * 5000 + b"}", "too many digits"),
        ("config.yaml", b"plugins: {hermes-memory: 7}", "must be a mapping"),
        ("config.yaml", b"\xff\xfe\xfa", "cannot read"),
        (".env", b"\xff\xfe\xfa", "cannot read"),
        ("hermes-memory.json", b" " * (MOST_BYTES + 1), "larger than 1,048,576 bytes"),
        ("config.yaml", b"#" * (MOST_BYTES + 1), "larger than 1,048,576 bytes"),
        (".env", b"#" * (MOST_BYTES + 1), "larger than 1,048,576 bytes"),
    ],
)
def test_a_file_that_cannot_be_understood_is_named_with_the_remedy(
    sources: Home, name: str, content: bytes, told: str
) -> None:
    (sources.folder / name).write_bytes(content)
    with pytest.raises(ConfigurationError) as caught:
        Settings()

    assert str(sources.folder / name) in str(caught.value)
    assert told in str(caught.value)


@pytest.mark.parametrize("name", ["hermes-memory.json", "config.yaml"])
def test_a_directory_in_the_place_of_a_file_is_told(sources: Home, name: str) -> None:
    (sources.folder / name).mkdir()
    with pytest.raises(ConfigurationError, match=name):
        Settings()


def test_settings_show_no_secret(sources: Home) -> None:
    settings = Settings(dsn=URL, subject_secret="s3cret" * 8)

    assert "s3cret" not in f"{settings!r}{settings}{settings.model_dump_json()}"


def test_settings_do_not_change_once_read(sources: Home) -> None:
    settings = Settings()
    with pytest.raises(ValueError, match="frozen"):
        settings.pool_size = 5
