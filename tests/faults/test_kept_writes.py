"""Bursts, full spools, embedders that hang, and many sessions: nothing is lost, nobody waits, all heals by itself."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Final, TypeAlias

import anyio
import pytest
import pytest_asyncio

from hermes_memory.adapters.postgres.pool import Pool
from hermes_memory.testing.making import DESK
from tests.support import trials
from tests.support.agents import Agent, eventually, memory_threads
from tests.support.checker import Verdict, judge
from tests.support.embedding_server import EmbeddingServer, delayed, hang
from tests.support.evidence import gather
from tests.support.journal import Journal, journalling, read_journals
from tests.support.postgres_store import Installation
from tests.support.trial import RELEASE, Trial, trial_of_a_copy

GUARD: Final = 60.0
PROMPTLY: Final = 15.0
"""Seconds that are few beside what the fault of the test would cost if it were waited for."""
BURST: Final = 2_000
BOUND: Final = 100
NewAgent: TypeAlias = Callable[..., Agent]

ROWS: Final = "select count(*) from hermes_memory.conversations"
VECTORS: Final = "select count(*) from hermes_memory.turn_vectors_g1"
CONNECTIONS: Final = "select count(*) from pg_stat_activity where datname = current_database() and usename = $1"


template, embeddings = trials.template, trials.embeddings


@pytest_asyncio.fixture
async def trial(tmp_path: Path, template: Installation, embeddings: EmbeddingServer) -> AsyncIterator[Trial]:
    settings = {"connect_timeout": 2, "embed_write_timeout": 30, "prefetch": False}
    async with trial_of_a_copy(template, embeddings, tmp_path, settings) as begun:
        yield begun


@pytest.fixture
def new_agent(trial: Trial, monkeypatch: pytest.MonkeyPatch) -> Iterator[NewAgent]:
    """Starts agents of a home whose accepted writes are noted, with settings of their own."""
    for name, value in trial.variables().items():
        monkeypatch.setenv(name, value)
    home = trial.home("coder")
    home.mkdir()
    others = set(threading.enumerate())
    made: list[Agent] = []

    def make(session: str = "s1", **settings: object) -> Agent:
        for name, value in settings.items():
            monkeypatch.setenv(f"HERMES_MEMORY_{name.upper()}", str(value))
        made.append(Agent(home).start(session))
        return made[-1]

    with journalling(Journal(trial.journals, str(home))):
        yield make
        for agent in made:
            agent.provider.shutdown()
    eventually(lambda: not memory_threads(besides=others))


def exchange(agent: Agent, number: int, session: str = "s1") -> tuple[str, str]:
    said = f"Who has key {number}?", f"Key {number} is with Ms Saffron."
    agent.provider.sync_turn(*said, session_id=session)
    return said


async def verdict(trial: Trial, *, embedded: bool = True) -> Verdict:
    return await judge(read_journals(trial.journals), await gather(trial.database.admin_dsn, embedded=embedded))


def promptly(work: Callable[[], object]) -> bool:
    started = time.monotonic()
    work()
    return time.monotonic() - started < PROMPTLY


async def until(trial: Trial, statement: str, wanted: int) -> None:
    with anyio.fail_after(GUARD):
        while await trial.database.administer(statement) != wanted:
            await anyio.sleep(0.05)


async def test_of_a_burst_everything_is_stored_once_though_the_session_tells_it_again_at_its_end(
    trial: Trial, new_agent: NewAgent
) -> None:
    agent = new_agent(embedder="none")
    messages = []
    for number in range(BURST):
        question, answer = exchange(agent, number)
        messages += [{"role": "user", "content": question}, {"role": "assistant", "content": answer}]
    agent.provider.on_session_end(messages)
    agent.provider.shutdown()
    resumed = new_agent()
    resumed.provider.on_session_end(messages)
    resumed.settle()
    found = await verdict(trial, embedded=False)

    assert found.valid, str(found)
    assert await trial.database.administer(ROWS) == 2 * BURST


async def test_a_full_spool_refuses_and_counts_and_keeps_what_it_has(trial: Trial, new_agent: NewAgent) -> None:
    trial.proxy.refuse()
    agent = new_agent(embedder="none", spool_max_rows=BOUND)
    for number in range(2 * BOUND):
        exchange(agent, number)
    full = agent.runtime.local.spool.status()
    trial.proxy.heal()
    agent.settle()
    exchange(agent, 2 * BOUND)
    agent.settle()
    found = await verdict(trial, embedded=False)

    assert (full.depth, full.refused) == (BOUND, BOUND)
    assert found.valid, str(found)
    assert found.accepted == BOUND + 1


async def test_while_the_embedder_hangs_all_is_stored_a_shutdown_is_prompt_and_the_vectors_come_by_themselves(
    trial: Trial, new_agent: NewAgent, embeddings: EmbeddingServer
) -> None:
    embeddings.fault = hang()
    agent = new_agent()
    for number in range(150):
        exchange(agent, number)
    await until(trial, ROWS, 300)
    exchange(agent, 150)
    ended_promptly = promptly(agent.provider.shutdown)
    without = await trial.database.administer(VECTORS)
    embeddings.fault = None
    await trial.database.administer(RELEASE)
    new_agent().settle()
    found = await verdict(trial)

    assert without == 0
    assert ended_promptly
    assert found.valid, str(found)
    assert await trial.database.administer(VECTORS) == 302


async def test_two_embed_stages_at_once_embed_each_row_once(
    trial: Trial, new_agent: NewAgent, embeddings: EmbeddingServer
) -> None:
    agent = new_agent(embedder="none")
    for number in range(100):
        exchange(agent, number)
    agent.settle()
    embeddings.fault = delayed(0.1)
    first, second = new_agent(embedder="openai", embed_batch=8), new_agent(embed_batch=16)
    first.settle()
    second.settle()
    found = await verdict(trial)
    asked = Counter(text for text in embeddings.texts if "key" in text.casefold())

    assert first.runtime is not second.runtime
    assert found.valid, str(found)
    assert len(asked) == 200
    assert set(asked.values()) == {1}


def test_many_idle_sessions_end_promptly_one_after_the_other(new_agent: NewAgent) -> None:
    agents = [new_agent(f"s{number}", embedder="none") for number in range(50)]
    agents[0].settle()

    assert promptly(lambda: [agent.provider.shutdown() for agent in agents])


async def test_connections_that_nobody_uses_are_closed_soon(trial: Trial) -> None:
    database = trial.database
    pool = Pool(lambda: database.runtime_dsn, max_size=4, idle_seconds=0.2)

    async def use() -> None:
        async with pool.transaction(DESK, timeout=GUARD) as transaction:
            await transaction.fetch_value("select pg_sleep(0.2)")

    try:
        async with anyio.create_task_group() as users:
            for _ in range(4):
                users.start_soon(use)
            with anyio.fail_after(GUARD):
                while await database.administer(CONNECTIONS, database.role) < 2:
                    await anyio.sleep(0.01)
        with anyio.fail_after(GUARD):
            while await database.administer(CONNECTIONS, database.role):
                await anyio.sleep(0.05)
    finally:
        await pool.close()
