"""Sessions in trouble: the database away, the embedder silent, both; and what they leave behind."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.support.gate import Gate
from tests.support.hermes_host import HermesHost, ScenarioRun
from tests.support.postgres import TestServer

MOST_SECONDS = {"initialize": 0.5, "prefetch": 2.0, "remember": 1.0, "tool": 7.0, "shutdown": 4.0}
"""Hang guards: what the settings allow is 0.05, 0.8, 0.05, 5 and 2 seconds; a busy machine adds its share."""


@pytest.fixture(scope="module")
def server() -> Iterator[TestServer]:
    with TestServer() as server:
        yield server


@pytest.fixture
async def database(server: TestServer, hermes: HermesHost) -> AsyncIterator[str]:
    """A migrated database of the server: its name."""
    name = server.unique_name()
    dsn = await server.create_database(name)
    migrated = hermes.memory("migrate", "--admin-dsn", dsn, "--partitions", "4")
    assert migrated.returncode == 0, migrated.stdout
    yield name
    await server.drop_database(name)


@pytest.fixture
def postgres_gate(server: TestServer, database: str, hermes: HermesHost) -> Iterator[Gate]:
    """The only way for the host to the database, closed at first."""
    parts = urlsplit(server.superuser_dsn)
    place = parse_qs(parts.query)
    port = parts.port or int(place.get("port", ["5432"])[0])
    directory = parts.hostname or place["host"][0]
    destination = Path(directory) / f".s.PGSQL.{port}" if directory.startswith("/") else (directory, port)
    with Gate(destination) as gate:
        hermes.environment["HERMES_MEMORY_DSN"] = f"postgresql://hermes_memory_app@127.0.0.1:{gate.port}/{database}"
        yield gate


@pytest.fixture
def silent_embedder(hermes: HermesHost) -> Iterator[Gate]:
    """An embedding endpoint that takes connections and never answers."""
    with Gate() as gate:
        gate.hang()
        url = f"http://127.0.0.1:{gate.port}/v1"
        hermes.configure(embedder="openai", embed_url=url, embed_model="silent", embed_dim=8)
        yield gate


def _wait_for(path: Path) -> None:
    deadline = time.monotonic() + 120
    while not path.exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def _require_in_time(run: ScenarioRun) -> None:
    facts = run.require_clean()
    late = {name: taken for name, taken in facts["seconds"].items() if taken > MOST_SECONDS[name]}
    assert late == {}
    assert run.exit_seconds < 5


def test_a_session_without_its_database_works_by_itself_once_that_is_back(
    hermes: HermesHost, postgres_gate: Gate, tmp_path: Path
) -> None:
    mended = tmp_path / "mended"

    def mend() -> None:
        _wait_for(mended.with_suffix(".wanted"))
        postgres_gate.open()
        mended.touch()

    run = hermes.run("trouble:measured", home=str(hermes.home), session="s1", mended=str(mended), meanwhile=mend)

    _require_in_time(run)
    assert run.facts["recalled"] == [""] * 3
    assert "error" not in run.facts["accepted"]
    assert all("error" in answer for answer in run.facts["answers"])
    assert "Saffron" in json.dumps(run.facts["afterwards"])


def test_what_a_session_without_database_accepted_is_delivered_by_a_later_process(
    hermes: HermesHost, postgres_gate: Gate
) -> None:
    run = hermes.run("trouble:measured", home=str(hermes.home), session="s1")
    _require_in_time(run)
    postgres_gate.open()
    later = hermes.run("trouble:found_after_all", home=str(hermes.home), query="Periwinkle contract", wanted="safe 12")

    assert later.require_clean()["answer"]["hits"]


def test_a_database_that_takes_connections_and_says_nothing_holds_nobody_up(
    hermes: HermesHost, postgres_gate: Gate
) -> None:
    postgres_gate.hang()

    run = hermes.run("trouble:measured", home=str(hermes.home), session="s1")

    _require_in_time(run)


@pytest.mark.usefixtures("silent_embedder")
def test_a_silent_embedder_degrades_recall_to_text(hermes: HermesHost, postgres_gate: Gate, tmp_path: Path) -> None:
    postgres_gate.open()
    mended = tmp_path / "mended"
    mended.touch()

    run = hermes.run("trouble:measured", home=str(hermes.home), session="s1", mended=str(mended))

    _require_in_time(run)
    assert "safe 12" in json.dumps(run.facts["afterwards"])


@pytest.mark.usefixtures("silent_embedder", "postgres_gate")
def test_both_away_at_once_hold_nobody_up(hermes: HermesHost) -> None:
    run = hermes.run("trouble:measured", home=str(hermes.home), session="s1")

    _require_in_time(run)


def test_keys_and_passwords_never_reach_the_model_or_the_log(hermes: HermesHost) -> None:
    with Gate() as gate:
        hermes.environment["HERMES_MEMORY_DSN"] = f"postgresql://u:s3cr3t-Pw@127.0.0.1:{gate.port}/nowhere"
        run = hermes.run("trouble:measured", home=str(hermes.home), session="s1")
        status = hermes.hermes("memory", "status")

    assert "s3cr3t-Pw" not in json.dumps(run.facts) + run.output + "".join(run.failures)
    assert "s3cr3t-Pw" not in status.stdout
    logs = [path for path in (hermes.home / "logs").rglob("*") if path.is_file()]
    assert all("s3cr3t-Pw" not in path.read_text(errors="replace") for path in logs)
