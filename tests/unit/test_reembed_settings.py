"""Which embedder `reembed` means by its options."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from hermes_memory.adapters.embedding.local import LOCAL_MODEL
from hermes_memory.cli import reembed
from hermes_memory.domain.errors import ConfigurationError
from hermes_memory.settings import ENV_PREFIX, Settings

ENDPOINT = {"embed_url": "http://127.0.0.1:11434", "embed_model": "one", "embed_dim": "8"}


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HERMES_HOME", str(tmp_path))


def named(*options: str) -> tuple[str, str | None, str | None, int | None]:
    parser = argparse.ArgumentParser()
    reembed.register(parser.add_subparsers())
    settings: Settings = reembed.settings_named(parser.parse_args(["reembed", *options]))
    return settings.embedder, settings.embed_url, settings.embed_model, settings.embed_dim


def configure(monkeypatch: pytest.MonkeyPatch, **values: str) -> None:
    for name, value in values.items():
        monkeypatch.setenv(f"{ENV_PREFIX}{name.upper()}", value)


def test_nothing_named_is_the_configured_embedder(monkeypatch: pytest.MonkeyPatch) -> None:
    configure(monkeypatch, embedder="ollama", **ENDPOINT)

    assert named() == ("ollama", "http://127.0.0.1:11434", "one", 8)


def test_another_model_is_asked_for_where_the_configured_one_is(monkeypatch: pytest.MonkeyPatch) -> None:
    configure(monkeypatch, embedder="ollama", **ENDPOINT)

    assert named("--model", "two", "--dim", "9") == ("ollama", "http://127.0.0.1:11434", "two", 9)


@pytest.mark.parametrize("configured", ["local", "none"])
def test_what_an_endpoint_speaks_is_found_out_where_none_was_configured(
    monkeypatch: pytest.MonkeyPatch, configured: str
) -> None:
    configure(monkeypatch, embedder=configured)
    endpoint = ("--model", "two", "--dim", "9", "--url", "http://127.0.0.1:8080")

    assert named(*endpoint) == ("auto", "http://127.0.0.1:8080", "two", 9)
    assert named(*endpoint, "--protocol", "openai")[0] == "openai"


def test_the_embedded_model_is_named_like_any_other(monkeypatch: pytest.MonkeyPatch) -> None:
    configure(monkeypatch, embedder="ollama", **ENDPOINT)

    assert named("--model", LOCAL_MODEL)[0] == "local"


def test_a_model_without_an_endpoint_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    configure(monkeypatch, embedder="local")

    with pytest.raises(ConfigurationError, match="embed_url"):
        named("--model", "two", "--dim", "9")


def test_the_key_of_the_configured_endpoint_is_sent_to_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    configure(monkeypatch, embedder="openai", embed_api_key_env="THEIR_KEY", **ENDPOINT)
    parser = argparse.ArgumentParser()
    reembed.register(parser.add_subparsers())

    def key(*options: str) -> str | None:
        return reembed.settings_named(parser.parse_args(["reembed", *options])).embed_api_key_env

    assert key() == key("--model", "two", "--dim", "9") == "THEIR_KEY"
    assert key("--url", f"{ENDPOINT['embed_url']}/") == "THEIR_KEY"
    assert key("--url", "http://127.0.0.1:8080") is None
    assert key("--url", "http://127.0.0.1:8080", "--api-key-env", "OTHER_KEY") == "OTHER_KEY"
