"""Many threads, processes and hosts at the same memories: what is stored is what the order of acceptance leads to."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import pytest
import pytest_asyncio

from tests.support.agents import Agent
from tests.support.embedding_server import EmbeddingServer, EmbeddingServerThread
from tests.support.fault_proxy import FaultProxy, place_of
from tests.support.inspection import rows
from tests.support.postgres import TestServer
from tests.support.postgres_store import Installation
from tests.support.trial import DIMENSION, SECONDS, Trial, migrated_for_trials

HOMES: Final = ("north", "south")
PROCESSES: Final = 4
THREADS: Final = 32
WRITES: Final = 6
"""Writes of one thread."""
ROUNDS: Final = 12

CHANGES: Final = "select new_content from hermes_memory.history where change <> 'removed'"
ENTRIES: Final = "select content from hermes_memory.memory_entries"


@pytest_asyncio.fixture
async def database(server: TestServer) -> AsyncIterator[Installation]:
    async with migrated_for_trials(server) as installation:
        yield installation


@pytest.mark.timeout(300)
async def test_threads_processes_and_homes_at_the_same_memories_leave_what_each_homes_order_leads_to(
    tmp_path: Path, server: TestServer, database: Installation
) -> None:
    with (
        EmbeddingServerThread(EmbeddingServer(dimension=DIMENSION)) as embeddings,
        FaultProxy(place_of(server.superuser_dsn)) as proxy,
        ExitStack() as running,
    ):
        trial = Trial(folder=tmp_path, proxy=proxy, database=database, embedder_url=embeddings.url, settings={})
        processes = [
            running.enter_context(
                trial.start("writers", trial.journals, trial.home(home), THREADS, WRITES, f"{home} {number}", 0.0)
            )
            for number in range(PROCESSES)
            for home in HOMES
        ]
        for process in processes:
            running.callback(process.kill)
        ends = [(process.communicate(timeout=SECONDS)[1], process.returncode) for process in processes]
        verdict = await trial.verdict(*HOMES)

    assert [status for _, status in ends] == [0] * len(ends), [said for said, status in ends if status]
    assert verdict.valid, str(verdict)
    assert verdict.accepted == len(HOMES) * PROCESSES * THREADS * WRITES


async def test_two_hosts_that_replace_the_same_memory_leave_the_last_one_and_history_has_the_others(
    tmp_path: Path, database: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"dsn": database.runtime_dsn, "embedder": "none", "spool_sync": "NORMAL"}.items():
        monkeypatch.setenv(f"HERMES_MEMORY_{name.upper()}", value)
    agents = []
    for home in HOMES:
        (tmp_path / home).mkdir()
        agents.append(Agent(tmp_path / home).start())
    try:
        for number in range(ROUNDS):
            for agent in agents:
                count(agent, number)
                agent.settle()
                (stored,) = await rows(database.admin_dsn, ENTRIES)

                assert stored == (said(agent, number),)
        for number in range(ROUNDS, 2 * ROUNDS):
            for agent in agents:
                count(agent, number)
        for agent in agents:
            agent.settle()
        kept = await rows(database.admin_dsn, ENTRIES)
        history = {text for (text,) in await rows(database.admin_dsn, CHANGES)}
        dead = [agent.dead_letters() for agent in agents]
    finally:
        for agent in agents:
            agent.provider.shutdown()

    assert kept in ([(said(agent, 2 * ROUNDS - 1),)] for agent in agents)
    assert history == {said(agent, number) for agent in agents for number in range(2 * ROUNDS)}
    assert dead == [[], []]


def said(agent: Agent, number: int) -> str:
    return f"The counter is {agent.home.name} {number}"


def count(agent: Agent, number: int) -> None:
    """Replace the counter as the host tells of it, whoever wrote the present one."""
    agent.provider.on_memory_write(
        "replace", "memory", said(agent, number), {"old_text": "The counter is", "session_id": "s1"}
    )
