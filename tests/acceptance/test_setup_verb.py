"""`hermes-memory setup` as a process: asked or told, it keeps the settings, prepares the database and checks it."""

from __future__ import annotations

import json
import socket
import stat
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
import pytest_asyncio

from hermes_memory.cli.main import main
from tests.acceptance.test_cli_verbs import DONE, DOWN, USAGE, require
from tests.support.command import command
from tests.support.inspection import value
from tests.support.postgres import TestServer

NONSENSE = {
    "embedder: 'opena' cannot be used: expected one of local,": ("--embedder", "opena"),
    "embedder 'openai' also needs embed_url": ("--embedder", "openai"),
    "postgresql://role:password@host/database": ("--dsn", "mysql://app:hunter2@db/memory"),
    "'prefetch_limt' is not a setting": ("--set", "prefetch_limt=3"),
    "expected a whole number from 1 to 50": ("--set", "prefetch_limit=51"),
    "'prefetch_limit' has no value": ("--set", "prefetch_limit"),
    "choose one": ("--embedded", "--dsn", "postgresql://app@db/memory"),
    "'subject_secret' may hold a secret": ("--set", "subject_secret=hunter2hunter2hunter2"),
    "name that with --dsn": ("--set", "prefetch_limit=9", "--admin-dsn", "postgresql://postgres@db/memory"),
}
"""Options of `setup`, by what it says of them."""


@pytest_asyncio.fixture
async def empty(server: TestServer) -> AsyncIterator[str]:
    """The name of a database without a schema."""
    name = server.unique_name("setup")
    await server.create_database(name)
    yield name
    await server.drop_database(name)


async def test_told_everything_it_makes_a_database_of_ones_own_ready(
    empty: str, server: TestServer, home: Path, configure: Callable[..., None]
) -> None:
    configure(embedder="local")
    role = server.unique_name("app")
    url = server.dsn(empty, user=f"{role}:hunter2")
    done = require(
        command(
            *("setup", "--yes", "--dsn", url, "--admin-dsn", server.dsn(empty), "--set", "prefetch_limit=9", "--json")
        ),
        DONE,
    )
    login = await value(server.dsn(empty), "select rolpassword is not null from pg_authid where rolname = $1", role)

    assert done.document["healthy"] is True
    assert done.document["settings"] == ["prefetch_limit"]
    assert done.document["variables"] == ["HERMES_MEMORY_DSN"]
    assert done.document["migration"]["runtime_role"] == role
    assert "hunter2" not in done.out + done.err
    assert json.loads((home / "hermes-memory.json").read_text()) == {"prefetch_limit": 9}
    assert (home / ".env").read_text() == f"HERMES_MEMORY_DSN='{url}'\n"
    assert stat.S_IMODE((home / ".env").stat().st_mode) == 0o600
    assert login is True


async def test_asked_it_takes_answers_line_by_line_and_needs_no_embedder(
    empty: str, server: TestServer, home: Path
) -> None:
    url = server.dsn(empty, user=server.unique_name("app"))
    # The environment has no embedder, so no endpoint is asked for.
    answers = [url, "", "grants", "perhaps", "no", server.dsn(empty)]

    done = require(command("setup", typed="\n".join(answers) + "\n"), DONE)

    assert "cannot be used: expected true or false" in done.out
    assert "the schema is up to date" in done.out
    assert "read grants" in done.out
    assert "ERROR" not in done.out
    assert json.loads((home / "hermes-memory.json").read_text()) == {"prefetch": False, "read_policy": "grants"}


@pytest.mark.parametrize("sentence", NONSENSE)
def test_nonsense_is_refused_in_the_settings_own_words_and_nothing_is_written(
    home: Path, environment: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], sentence: str
) -> None:
    environment.delenv("HERMES_MEMORY_EMBEDDER")

    code = main(["setup", "--yes", "--no-verify", *NONSENSE[sentence]])

    said = capsys.readouterr().err
    assert code == USAGE
    assert sentence in said
    assert "hunter2" not in said
    assert list(home.iterdir()) == []


def test_a_database_that_does_not_answer_is_told_apart_from_a_mistake(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    url = f"postgresql://app@127.0.0.1:{port}/memory"

    down = require(command("setup", "--yes", "--dsn", "-", "--wait", "1", "--json", typed=f"{url}\n"), DOWN)

    assert down.document["exit"] == DOWN
    assert url in (home / ".env").read_text()
    failing = ["setup", "--yes", "--no-verify", "--set", "prefetch_limit=9", "--admin-dsn", url]
    assert main(failing) == DOWN
    assert "kept prefetch_limit in" in capsys.readouterr().out
    assert main([*failing, "--json"]) == DOWN
    assert capsys.readouterr().out == ""


def test_what_the_environment_outranks_and_what_is_of_no_use_is_said(home: Path) -> None:
    answers = ("--embedder", "local", "--embed-model", "nomic-embed-text", "--embed-url", "")
    kept = require(command("setup", "--yes", "--no-verify", *answers, "--embedded"), DONE)

    assert f"kept embedder, embed_url, embed_model in {home / 'hermes-memory.json'}" in kept.out
    assert "HERMES_MEMORY_EMBEDDER in the environment outranks" in kept.out
    assert "does without embed_model" in kept.out
    assert "does without embed_url" not in kept.out
