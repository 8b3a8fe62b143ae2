"""Fixtures of the acceptance tests: a real Postgres, a database a test, a clean home, and agents in it."""

from __future__ import annotations

import os
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final, TypeAlias

import pytest
import pytest_asyncio
from hypothesis import settings as hypothesis_settings

from hermes_memory.adapters.embedding.local import LOCAL_DIMENSION, LOCAL_MODEL
from hermes_memory.settings import ENV_PREFIX
from tests.support.agents import Agent, eventually, memory_threads
from tests.support.command import Ran, in_process
from tests.support.postgres import DSN_VARIABLE, TestServer
from tests.support.postgres_store import Installation, migrated

hypothesis_settings.register_profile("patient", deadline=None)
hypothesis_settings.load_profile("patient")

NewAgent: TypeAlias = Callable[[], Agent]
Command: TypeAlias = Callable[..., Ran]

PATIENT: Final = {
    "CONNECT_TIMEOUT": 30,
    "COMMAND_TIMEOUT": 60,
    "TOOL_TIMEOUT": 60,
    "PREFETCH_TIMEOUT": 7.5,
    "EMBED_READ_TIMEOUT": 20,
}
"""Deadlines that a busy machine keeps. A test of the deadlines themselves sets its own."""


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def template(server: TestServer) -> AsyncIterator[Installation]:
    """A migrated database to copy, ready for the local embedder's vectors."""
    async with migrated(server, (LOCAL_MODEL, LOCAL_DIMENSION)) as installation:
        yield installation


@pytest_asyncio.fixture
async def database(template: Installation) -> AsyncIterator[Installation]:
    """The test's own database."""
    async with template.copy() as copied:
        yield copied


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> pytest.MonkeyPatch:
    """An environment that says nothing of Hermes, Postgres or embedders; text alone is searched unless a test wants."""
    for name in list(os.environ):
        if name.upper().startswith(("HERMES", "PG")) and name != DSN_VARIABLE:
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv(f"{ENV_PREFIX}EMBEDDER", "none")
    monkeypatch.setenv(f"{ENV_PREFIX}SPOOL_SYNC", "NORMAL")
    for name, seconds in PATIENT.items():
        monkeypatch.setenv(f"{ENV_PREFIX}{name}", str(seconds))
    return monkeypatch


@pytest.fixture
def home(environment: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An empty Hermes home."""
    folder = tmp_path / "hermes"
    folder.mkdir()
    environment.setenv("HERMES_HOME", str(folder))
    return folder


@pytest.fixture
def configure(environment: pytest.MonkeyPatch) -> Callable[..., None]:
    """Sets settings, by name, for what is started from then on."""

    def configured(**values: object) -> None:
        for name, given in values.items():
            environment.setenv(f"{ENV_PREFIX}{name.upper()}", str(given))

    return configured


@pytest.fixture
def served(database: Installation, home: Path, configure: Callable[..., None]) -> Path:
    """A home whose memory is the test's database, as the unprivileged runtime role."""
    configure(dsn=database.runtime_dsn)
    return home


@pytest.fixture
def typed(capsys: pytest.CaptureFixture[str]) -> Command:
    """Runs the command in this process: what a process of its own costs is the same for every verb."""

    def run(*arguments: str) -> Ran:
        capsys.readouterr()
        # In a thread of its own, as a verb runs a loop and so may the test.
        with ThreadPoolExecutor(1) as apart:
            code = apart.submit(in_process, *arguments).result()
        out, err = capsys.readouterr()
        return Ran(code=code, out=out, err=err)

    return run


@pytest.fixture
def new_agent(home: Path) -> Iterator[NewAgent]:
    """Makes agents of the home, not started yet. All are shut down at the end, and no thread may be left then."""
    others = set(threading.enumerate())
    made: list[Agent] = []

    def make() -> Agent:
        made.append(Agent(home))
        return made[-1]

    yield make
    for agent in made:
        agent.provider.shutdown()
    eventually(lambda: not memory_threads(besides=others))


@pytest.fixture
def agent(served: Path, new_agent: NewAgent) -> Agent:
    """An agent that is started, in session `s1`."""
    return new_agent().start()
