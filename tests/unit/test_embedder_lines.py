"""What is said to be left to do once other vectors are in use."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest

from hermes_memory.adapters.embedding.local import LOCAL_DIMENSION, LOCAL_MODEL
from hermes_memory.application.reembed import Reembedded
from hermes_memory.cli import reembed
from hermes_memory.cli.embedder_lines import configuring, configuring_lines, configuring_model
from hermes_memory.ports.generations import GenerationStanding
from hermes_memory.settings import Settings

ENDPOINT: dict[str, Any] = {
    "embedder": "auto",
    "embed_url": "http://127.0.0.1:8080",
    "embed_model": "one",
    "embed_dim": 8,
}
STANDING = GenerationStanding(
    generation=2,
    model=LOCAL_MODEL,
    dimension=LOCAL_DIMENSION,
    part_tokens=96,
    active=True,
    fed=True,
    measured=True,
    embeddable=1,
    embedded=1,
    waiting=0,
    parked=0,
    bytes=0,
    activated_at=None,
)
SET_UP = "hermes-memory setup --yes"


@pytest.fixture
def local(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    monkeypatch.setenv("HERMES_HOME", str(tmp_path))
    return Settings(home=tmp_path, embedder="local")


def test_another_length_of_parts_is_configured_and_needs_no_restart(local: Settings, tmp_path: Path) -> None:
    longer = Settings(home=tmp_path, embedder="local", embed_part_tokens=96)
    command = configuring(local, longer)

    assert command == f"{SET_UP} --set embed_part_tokens=96"
    assert configuring_lines(command)[0] == "next: in this home, without a restart:"
    assert configuring_model(local, LOCAL_MODEL, LOCAL_DIMENSION, 96) == command
    assert configuring_model(longer, LOCAL_MODEL, LOCAL_DIMENSION, 64) == f"{SET_UP} --set embed_part_tokens=64"
    assert [configuring_model(longer, LOCAL_MODEL, LOCAL_DIMENSION, kept) for kept in (96, None)] == [None, None]


def test_no_length_is_configured_that_comes_with_the_embedder(local: Settings, tmp_path: Path) -> None:
    away = configuring(local, Settings(home=tmp_path, **ENDPOINT))
    back = configuring_model(Settings(home=tmp_path, **ENDPOINT), LOCAL_MODEL, LOCAL_DIMENSION, 64)

    assert away == f"{SET_UP} --embedder auto --embed-url http://127.0.0.1:8080 --embed-model one --embed-dim 8"
    assert back == f"{SET_UP} --embedder local"
    assert "restart its agents, which until then find by words" in configuring_lines(back)[0]


@pytest.mark.usefixtures("local")
def test_a_command_changes_the_home_it_is_said_of_and_the_others_are_named_without_a_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    named = Settings(home=Path("my home"), embedder="local")
    wanted = Settings(home=named.home, **ENDPOINT)
    commands = [configuring(named, wanted), configuring_model(wanted, LOCAL_MODEL, LOCAL_DIMENSION, None)]

    for command in commands:
        lines = configuring_lines(command)
        assert shlex.split(lines[1])[-2:] == ["--hermes-home", str(tmp_path / "my home")]
        assert lines[2] == "and alike in the home of every other agent"


@pytest.mark.parametrize("switched", [True, False])
def test_where_this_home_has_the_new_model_already_the_other_homes_are_named(tmp_path: Path, switched: bool) -> None:
    done = Reembedded(standing=STANDING, embedded=1, former=1, switched=switched, refused=None, seconds=1.0)
    said = "\n".join(reembed._lines(done, None, tmp_path))

    assert ("next: configure every other home alike, and restart the agents" in said) is switched
    assert (f"to go back: hermes-memory reembed --switch-back --hermes-home {tmp_path}" in said) is switched
