"""A block made ahead of its question shows nothing that another process, or another home, has taken away since."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import anyio.to_thread
import asyncpg
import pytest

from hermes_memory.adapters.embedding.local import LOCAL_DIMENSION, LOCAL_MODEL
from tests.acceptance.conftest import NewAgent
from tests.support.agents import Agent, eventually
from tests.support.embedding_server import EmbeddingServer, EmbeddingServerThread
from tests.support.postgres_store import Installation
from tests.support.remote_agent import RemoteAgent

CONTRACT: Final = "Where is the Periwinkle contract?"
FACT: Final = "The Periwinkle contract lies in safe 12"
OTHER: Final = "The Periwinkle contract was signed by Ms Saffron"
CORRECTED: Final = "The Periwinkle contract lies in safe 13"


@pytest.fixture
def embedder(configure: Callable[..., None]) -> Iterator[EmbeddingServer]:
    """What makes the vectors, and counts how often it is asked."""
    with EmbeddingServerThread(EmbeddingServer(dimension=LOCAL_DIMENSION)) as server:
        configure(embedder="openai", embed_url=server.url, embed_model=LOCAL_MODEL, embed_dim=LOCAL_DIMENSION)
        yield server


@pytest.fixture
def agent(served: Path, embedder: EmbeddingServer, new_agent: NewAgent, configure: Callable[..., None]) -> Agent:
    """An agent that knows two things, and has the time that a busy machine needs."""
    configure(prefetch_timeout=5, tool_timeout=30)
    agent = new_agent().start()
    for fact in (FACT, OTHER):
        assert agent.tool("memory_remember", content=fact, sync=True).get("stored")
    agent.settle()
    return agent


@pytest.fixture(params=["the same home", "another home"])
def elsewhere(request: pytest.FixtureRequest, served: Path, tmp_path: Path) -> Iterator[RemoteAgent]:
    """The same agent in another process: of this home, or of another one on the same database."""
    folder = served if request.param == "the same home" else tmp_path / "other"
    folder.mkdir(exist_ok=True)
    with RemoteAgent(folder) as remote:
        remote.call("start", "s9")
        yield remote


def queue(agent: Agent) -> str:
    """Make a block ahead of its question; return it."""
    ambient = agent.provider._share.ambient
    assert ambient is not None
    agent.provider.queue_prefetch(CONTRACT, session_id="s1")
    eventually(lambda: ambient._queued)
    ((queued),) = ambient._queued.values()
    assert FACT in queued.block
    assert OTHER in queued.block
    return queued.block


def searches(agent: Agent) -> int:
    """Return how many searches are remembered to explain them."""
    memory = agent.runtime.loop.memory
    assert memory is not None
    return len(memory.services.recall._traces)


def test_an_undisturbed_block_is_served_and_nothing_is_embedded_or_searched_for_again(
    agent: Agent, elsewhere: RemoteAgent, embedder: EmbeddingServer
) -> None:
    assert sorted(elsewhere.call("facts", CONTRACT)) == sorted([FACT, OTHER])
    queued = queue(agent)
    asked, searched = len(embedder.requests), searches(agent)
    block = agent.provider.prefetch(CONTRACT)

    assert block == queued
    assert (len(embedder.requests), searches(agent)) == (asked, searched)


def test_what_is_said_after_a_block_was_queued_leaves_it_in_place(agent: Agent, elsewhere: RemoteAgent) -> None:
    queued = queue(agent)
    agent.provider.sync_turn("And who keeps the key?", "Mr Teal keeps the key of the safe.", session_id="s1")
    elsewhere.call("sync_turn", "Is it raining in Turin?", "It is raining in Turin.", session_id="s9")
    elsewhere.call("settle")
    agent.settle()
    searched = searches(agent)

    assert agent.provider.prefetch(CONTRACT) == queued
    assert searches(agent) == searched


def test_what_was_forgotten_elsewhere_is_not_shown(agent: Agent, elsewhere: RemoteAgent) -> None:
    queue(agent)
    assert elsewhere.call("tool", "memory_forget", content=FACT)["forgotten"]
    block = agent.provider.prefetch(CONTRACT)

    assert FACT not in block
    assert OTHER in block


def test_what_was_replaced_elsewhere_is_shown_as_it_is_now(agent: Agent, elsewhere: RemoteAgent) -> None:
    queue(agent)
    elsewhere.call("on_memory_write", "replace", "memory", CORRECTED, {"old_text": "safe 12"})
    elsewhere.call("settle")
    block = agent.provider.prefetch(CONTRACT)

    assert FACT not in block
    assert CORRECTED in block


def test_a_correction_that_was_stored_elsewhere_beside_the_old_value_is_shown(
    agent: Agent, elsewhere: RemoteAgent
) -> None:
    queue(agent)
    assert elsewhere.call("tool", "memory_remember", content=f"Correction: {CORRECTED}", sync=True)["stored"]

    assert CORRECTED in agent.provider.prefetch(CONTRACT)


@asynccontextmanager
async def no_entry_can_be_changed(database: Installation) -> AsyncIterator[None]:
    """Let the database answer questions, and hold up whoever would change an entry."""
    connection = await asyncpg.connect(database.admin_dsn, timeout=30.0, command_timeout=60.0)
    try:
        async with connection.transaction():
            await connection.execute("lock table hermes_memory.memory_entries in exclusive mode")
            yield
    finally:
        await connection.close()


async def test_what_another_process_of_the_home_accepted_to_forget_is_withheld_before_it_is_delivered(
    agent: Agent, served: Path, database: Installation
) -> None:
    def in_time() -> tuple[str, str]:
        queued = queue(agent)
        assert agent.provider.prefetch(CONTRACT) == queued
        queue(agent)
        with RemoteAgent(served) as remote:
            remote.call("start", "s9")
            remote.call("on_memory_write", "remove", "memory", "", {"old_text": "safe 12"})
        return queued, agent.provider.prefetch(CONTRACT)

    async with no_entry_can_be_changed(database):
        queued, withheld = await anyio.to_thread.run_sync(in_time)
    await anyio.to_thread.run_sync(agent.settle)
    afterwards = await anyio.to_thread.run_sync(agent.provider.prefetch, CONTRACT)

    assert FACT in queued
    assert withheld == ""
    assert FACT not in afterwards
    assert OTHER in afterwards


async def test_a_block_is_not_shown_while_the_database_cannot_be_asked(agent: Agent, database: Installation) -> None:
    await anyio.to_thread.run_sync(queue, agent)
    await database.administer(f'alter role "{database.role}" nologin')
    try:
        await database.administer(
            "select count(pg_terminate_backend(pid, 30000)) from pg_stat_activity where usename = $1", database.role
        )
        away = await anyio.to_thread.run_sync(agent.provider.prefetch, CONTRACT)
    finally:
        await database.administer(f'alter role "{database.role}" login')

    assert away == ""
    assert FACT in await anyio.to_thread.run_sync(lambda: eventually(lambda: agent.provider.prefetch(CONTRACT)))
