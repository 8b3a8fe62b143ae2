"""Sessions in health and in trouble: the database away or silent, the embedder silent, both. What the memory promises
its host holds in all of them, and it recovers by itself."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import asyncpg
import pytest
import pytest_asyncio

from hermes_memory.adapters.inmemory.embedder import hashed_vector
from tests.support.embedding_server import EmbeddingServer, EmbeddingServerThread, Vectors, hang
from tests.support.gate import Gate
from tests.support.hermes_host import HermesHost
from tests.support.hermes_host_promises import TOOL_SECONDS, require_in_time, require_prompt_exit
from tests.support.postgres import TestServer

ROUNDS = 5
DIMENSION = 64
PASSWORD = "s3cr3t-Pw"
PARAPHRASE = "Unterschrift von wem?"
"""A question that shares no word with its answer: only its vector finds it."""


class _Understanding(EmbeddingServer):
    """Knows one question and its answer to mean the same."""

    def vectors(self, texts: tuple[str, ...]) -> Vectors:
        return [hashed_vector(PARAPHRASE if "Saffron" in text else text, self.dimension) for text in texts]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def template(server: TestServer, interpreter: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A database that is migrated for the model of the tests' embedder: its name."""
    host = HermesHost(python=interpreter, home=tmp_path_factory.mktemp("migrating") / "hermes")
    _configure(host, "http://127.0.0.1:9")
    name = server.unique_name()
    migrated = host.memory("migrate", "--admin-dsn", await server.create_database(name), "--partitions", "4")
    assert migrated.returncode == 0, migrated.stdout
    return name


@pytest.fixture
async def database(server: TestServer, template: str) -> AsyncIterator[str]:
    """A fresh copy of the migrated database: its name."""
    name = server.unique_name()
    await server.create_database(name, template)
    yield name
    await server.drop_database(name)


@pytest.fixture
def embedder(hermes: HermesHost) -> Iterator[EmbeddingServer]:
    """The embedding endpoint of the home. It is well at first."""
    with EmbeddingServerThread(_Understanding(dimension=DIMENSION)) as server:
        _configure(hermes, server.url)
        yield server


def _configure(host: HermesHost, embedder_url: str) -> None:
    host.configure(
        embedder="openai",
        embed_url=f"{embedder_url}/v1",
        embed_model="understanding",
        embed_dim=DIMENSION,
        embed_write_timeout=3,
    )


@pytest.fixture
def postgres_gate(server: TestServer, database: str, embedder: EmbeddingServer, hermes: HermesHost) -> Iterator[Gate]:
    """The only way for the host to the database, closed at first. The home has an embedder too."""
    parts = urlsplit(server.superuser_dsn)
    place = parse_qs(parts.query)
    port = parts.port or int(place.get("port", ["5432"])[0])
    directory = parts.hostname or place["host"][0]
    destination = Path(directory) / f".s.PGSQL.{port}" if directory.startswith("/") else (directory, port)
    with Gate(destination) as gate:
        login = f"hermes_memory_app:{PASSWORD}"
        hermes.environment["HERMES_MEMORY_DSN"] = f"postgresql://{login}@127.0.0.1:{gate.port}/{database}"
        hermes.environment["HERMES_MEMORY_TOOL_TIMEOUT"] = str(TOOL_SECONDS)
        yield gate


def _measured(hermes: HermesHost, mend: Callable[[], None] | None = None) -> Mapping[str, Any]:
    """Run sessions, hold them to what is promised and return their facts.

    Args:
        mend: Ends the trouble once the last session has met it; that session then expects memory to work again.
    """
    mended = hermes.home.parent / "mended"

    def meanwhile() -> None:
        _wait_for(mended.with_suffix(".wanted"))
        assert mend is not None
        mend()
        mended.touch()

    run = hermes.run(
        "trouble:measured",
        home=str(hermes.home),
        rounds=ROUNDS,
        mended=str(mended) if mend else None,
        paraphrase=PARAPHRASE,
        meanwhile=meanwhile if mend else None,
    )
    facts = run.require_clean()
    require_in_time(facts["seconds"])
    assert len(facts["threads"]) <= 3, facts["threads"]
    assert facts["left"] == []
    require_prompt_exit(run, again=lambda: hermes.run("trouble:measured", home=str(hermes.home), rounds=1))
    assert PASSWORD not in json.dumps(run.facts) + run.output
    logs = [path for path in (hermes.home / "logs").rglob("*") if path.is_file()]
    assert not any(PASSWORD in path.read_text(errors="replace") for path in logs)
    return facts


def _wait_for(path: Path) -> None:
    deadline = time.monotonic() + 150
    while not path.exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def _require_no_recall(facts: Mapping[str, Any]) -> None:
    assert facts["recalled"] == [""] * len(facts["recalled"])
    assert all("error" in answer for answer in facts["answers"])


async def _turns_with_a_vector(dsn: str) -> list[str]:
    connection = await asyncpg.connect(dsn, timeout=30.0, command_timeout=60.0)
    try:
        rows = await connection.fetch(
            "select turn.content from hermes_memory.conversations turn"
            " join hermes_memory.turn_vectors_g1 near"
            " on (near.agent_identity, near.row_id) = (turn.agent_identity, turn.id)"
        )
    finally:
        await connection.close()
    return [row["content"] for row in rows]


def test_in_health_every_call_keeps_its_time(hermes: HermesHost, postgres_gate: Gate) -> None:
    postgres_gate.open()

    facts = _measured(hermes)

    assert "safe 12" in json.dumps(facts["answers"])


def test_a_session_without_its_database_works_by_itself_once_that_is_back(
    hermes: HermesHost, postgres_gate: Gate
) -> None:
    facts = _measured(hermes, postgres_gate.open)

    _require_no_recall(facts)


def test_a_database_that_takes_connections_and_says_nothing_holds_nobody_up(
    hermes: HermesHost, postgres_gate: Gate
) -> None:
    postgres_gate.hang()

    facts = _measured(hermes, postgres_gate.open)

    _require_no_recall(facts)


async def test_a_silent_embedder_degrades_recall_to_text_until_it_speaks(
    hermes: HermesHost, embedder: EmbeddingServer, server: TestServer, database: str, postgres_gate: Gate
) -> None:
    embedder.fault = hang()
    postgres_gate.open()
    asked = []

    def mend() -> None:
        asked.extend(embedder.texts)
        embedder.fault = None

    facts = _measured(hermes, mend)

    assert any("Periwinkle" in text for text in asked)
    assert "safe 12" in json.dumps(facts["answers"])
    assert any("Saffron" in turn for turn in await _turns_with_a_vector(server.dsn(database)))


async def test_a_silent_embedder_and_no_database_hold_nobody_up_and_both_come_back(
    hermes: HermesHost, embedder: EmbeddingServer, server: TestServer, database: str, postgres_gate: Gate
) -> None:
    embedder.fault = hang()

    def mend() -> None:
        postgres_gate.open()
        # Not before it was asked: now that rows can be stored, it is the embedder that they wait for.
        deadline = time.monotonic() + 60
        while not embedder.requests:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        embedder.fault = None

    facts = _measured(hermes, mend)

    _require_no_recall(facts)
    assert any("Saffron" in turn for turn in await _turns_with_a_vector(server.dsn(database)))


def test_what_a_session_without_database_accepted_is_delivered_by_a_later_process(
    hermes: HermesHost, postgres_gate: Gate
) -> None:
    hermes.run("trouble:measured", home=str(hermes.home), rounds=1).require_clean()
    status = hermes.hermes("memory", "status")
    postgres_gate.open()
    later = hermes.run("trouble:found_after_all", home=str(hermes.home), query="Periwinkle contract", wanted="safe 12")

    assert later.require_clean()["answer"]["hits"]
    assert PASSWORD not in status.stdout
