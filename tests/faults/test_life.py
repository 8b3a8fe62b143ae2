"""However a process ends, and whenever the database is away: everything accepted is stored and embedded, once."""

from __future__ import annotations

import json
import signal
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Final

import pytest
import pytest_asyncio

from tests.support import trials
from tests.support.embedding_server import EmbeddingServer
from tests.support.postgres_store import Installation
from tests.support.pythons import Interpreter, interpreters
from tests.support.trial import Trial, trial_of_a_copy

FEWEST: Final = 40

# Building the environment of another Python takes its time, and so do a dozen processes on a busy machine.
pytestmark = pytest.mark.timeout(900)
ENDINGS: Final[Mapping[str, int]] = {
    "falls_off_the_end": 0,
    "raises": 1,
    "ends_by_os_exit": 0,
    "is_killed": -signal.SIGKILL,
    "is_terminated": -signal.SIGTERM,
    "is_terminated_and_leaves_in_order": 0,
    "is_interrupted": -signal.SIGINT,
    "shuts_down_and_writes_on": 0,
}
"""How a process ends, and its status then."""
FORKS: Final[Mapping[str, int]] = {"forks": 0, "forks_a_pool": 0, "forks_and_dies_first": -signal.SIGKILL}


template, embeddings = trials.template, trials.embeddings


@pytest.fixture(params=interpreters(), ids=str)
def python(request: pytest.FixtureRequest) -> Path:
    chosen = request.param
    assert isinstance(chosen, Interpreter)
    return chosen.ready()


@pytest_asyncio.fixture
async def life(
    tmp_path: Path, template: Installation, embeddings: EmbeddingServer, python: Path
) -> AsyncIterator[Trial]:
    async with trial_of_a_copy(template, embeddings, tmp_path, {}, python=python) as begun:
        yield begun


async def test_what_processes_accept_is_stored_and_embedded_once_however_they_end(life: Trial) -> None:
    """One process of the home after the other: each begins with what those before have left."""
    for ending, status in ENDINGS.items():
        life.run(ending, status=status)
    verdict = await life.verdict()

    assert verdict.valid, str(verdict)
    assert verdict.accepted >= FEWEST * len(ENDINGS)


@pytest.mark.parametrize("way", FORKS)
async def test_parent_and_children_go_on_after_a_fork_and_all_they_accept_is_stored_once(life: Trial, way: str) -> None:
    life.run(way, status=FORKS[way])
    verdict = await life.verdict()

    assert verdict.valid, str(verdict)
    assert verdict.accepted >= FEWEST


async def test_a_provider_that_is_started_again_and_again_for_many_sessions_loses_and_doubles_nothing(
    life: Trial,
) -> None:
    life.run("rotates_sessions", status=0)
    verdict = await life.verdict()
    sessions = await life.database.administer("select count(*) from hermes_memory.sessions where turns > 0")

    assert verdict.valid, str(verdict)
    assert sessions == 16


async def test_a_session_without_its_database_loses_nothing(life: Trial) -> None:
    life.proxy.refuse()
    life.run("is_without_database_throughout", status=0)
    stored = await life.database.administer("select count(*) from hermes_memory.inbox")
    verdict = await life.verdict()

    assert stored == 0
    assert verdict.valid, str(verdict)
    assert verdict.accepted >= FEWEST


async def test_a_database_that_is_silent_throughout_a_session_loses_nothing(life: Trial) -> None:
    life.proxy.swallow()
    life.run("is_without_database_throughout", status=0)
    verdict = await life.verdict()

    assert verdict.valid, str(verdict)
    assert verdict.accepted >= FEWEST


@pytest.mark.parametrize("way", ["is_without_database_at_first", "is_without_database_for_a_while"])
async def test_a_session_delivers_by_itself_once_its_database_is_back(life: Trial, way: str) -> None:
    if way == "is_without_database_at_first":
        life.proxy.refuse()
    with life.process(way) as process:
        assert process.stdin
        assert process.stdout
        if way == "is_without_database_for_a_while":
            assert json.loads(process.stdout.readline()) == "settled"
            life.proxy.refuse()
            process.stdin.write("it is gone\n")
            process.stdin.flush()
        assert json.loads(process.stdout.readline()) == "written"
        life.proxy.heal()
        process.stdin.write("it is back\n")
        process.stdin.flush()
        said = process.stdout.readline()
    verdict = await life.verdict()

    assert json.loads(said) == "settled"
    assert verdict.valid, str(verdict)
    assert verdict.accepted >= FEWEST
