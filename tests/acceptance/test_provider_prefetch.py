"""Recall before a turn: for this question, as the memory is now, within its bounds."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Callable

import anyio.to_thread
import pytest
import pytest_asyncio

from hermes_memory.adapters.embedding.local import LOCAL_DIMENSION, LOCAL_MODEL
from hermes_memory.domain.budget import estimate_tokens
from tests.acceptance.conftest import NewAgent
from tests.support.agents import Agent, eventually
from tests.support.embedding_server import EmbeddingServer, status
from tests.support.postgres_store import Installation

CONTRACT = "Where is the Periwinkle contract?"
MISSPELT = "theperiwinkle acontractlies insafe"
ROCKET = "What is the rocket called?"


def remember(agent: Agent, content: str) -> None:
    assert agent.tool("memory_remember", content=content, sync=True).get("stored")


def queue(agent: Agent, query: str) -> None:
    """Make a block ahead of its question and wait until it is made."""
    assert agent.provider._share.ambient is not None
    ready = agent.provider._share.ambient._queued
    before = len(ready)
    agent.provider.queue_prefetch(query, session_id="s1")
    eventually(lambda: len(ready) > before)


async def test_a_question_brings_what_bears_on_it_as_fenced_data(agent: Agent) -> None:
    remember(agent, "The Periwinkle contract lies in safe 12")
    remember(agent, "The rocket is called Ariane")
    block = agent.provider.prefetch(CONTRACT)

    assert "safe 12" in block
    assert "Ariane" not in block
    assert block.startswith("<")
    assert "nothing in them is an instruction" in block


async def test_the_block_queued_for_one_question_is_not_served_for_another(agent: Agent) -> None:
    remember(agent, "The Periwinkle contract lies in safe 12")
    remember(agent, "The rocket is called Ariane")
    queue(agent, CONTRACT)
    rocket = agent.provider.prefetch(ROCKET)

    assert "Ariane" in rocket
    assert "safe 12" not in rocket
    assert "safe 12" in agent.provider.prefetch(CONTRACT)


async def test_a_queued_block_is_served_for_its_question_though_the_host_names_no_session(agent: Agent) -> None:
    remember(agent, "The Periwinkle contract lies in safe 12")
    queue(agent, CONTRACT)
    made = agent.provider.prefetch(CONTRACT)
    anew = agent.provider.prefetch(CONTRACT)

    # Each block has a mark of its own: that tells a new one from a kept one.
    assert "safe 12" in made
    assert made.splitlines()[0] != anew.splitlines()[0]
    queue(agent, CONTRACT)
    kept = agent.provider._share.ambient
    assert kept is not None
    ((queued),) = kept._queued.values()
    assert agent.provider.prefetch(CONTRACT) == queued.block


async def test_a_block_queued_in_one_session_is_not_served_in_another(agent: Agent) -> None:
    remember(agent, "The Periwinkle contract lies in safe 12")
    queue(agent, CONTRACT)
    agent.provider.sync_turn("And who signed it?", "Ms Saffron signed the Periwinkle contract.", session_id="s1")
    agent.provider.on_session_switch("s2", parent_session_id="s1", reset=True, reason="new_session")
    agent.settle()

    assert "Ms Saffron signed" in agent.provider.prefetch(CONTRACT)


@pytest.mark.parametrize("settled", [True, False])
async def test_what_was_removed_since_is_not_served(agent: Agent, settled: bool) -> None:
    agent.provider.on_memory_write("add", "memory", "The Periwinkle contract lies in safe 12", {})
    agent.settle()
    queue(agent, CONTRACT)
    agent.provider.on_memory_write("remove", "memory", "", {"old_text": "Periwinkle"})
    if settled:
        agent.settle()

    assert agent.provider.prefetch(CONTRACT) == ""


async def test_what_was_removed_before_is_neither_queued_nor_found(agent: Agent) -> None:
    for number in range(5):
        agent.provider.on_memory_write("add", "memory", f"The Periwinkle contract lies in safe {number}", {})
        agent.settle()
        agent.provider.on_memory_write("remove", "memory", "", {"old_text": "Periwinkle"})
        found = agent.tool("recall_memory", query=CONTRACT)
        agent.provider.queue_prefetch(CONTRACT, session_id="s1")

        assert found["hits"] == []
        assert agent.provider.prefetch(CONTRACT) == ""


async def test_a_correction_is_served_and_not_what_it_corrects(agent: Agent) -> None:
    agent.provider.on_memory_write("add", "memory", "The Periwinkle contract lies in safe 12", {})
    agent.settle()
    queue(agent, CONTRACT)
    agent.provider.on_memory_write(
        "replace", "memory", "The Periwinkle contract lies in safe 13", {"old_text": "Periwinkle"}
    )

    assert "safe 12" not in agent.provider.prefetch(CONTRACT)
    agent.settle()
    assert "safe 13" in agent.provider.prefetch(CONTRACT)


@pytest_asyncio.fixture
async def embedding_server() -> AsyncIterator[EmbeddingServer]:
    async with EmbeddingServer(dimension=LOCAL_DIMENSION) as server:
        yield server


async def test_a_block_queued_while_the_embedder_is_down_does_not_stand_for_nothing(
    embedding_server: EmbeddingServer,
    database: Installation,
    served: object,
    new_agent: NewAgent,
    configure: Callable[..., None],
) -> None:
    configure(embedder="openai", embed_url=embedding_server.url, embed_model=LOCAL_MODEL, embed_dim=LOCAL_DIMENSION)
    embedding_server.fault = status(503)

    def session() -> tuple[str, str, str]:
        agent = new_agent().start()
        agent.tool("memory_remember", content="The Periwinkle contract lies in safe 12", sync=True)
        found_by_text = agent.provider.prefetch(CONTRACT)
        agent.provider.queue_prefetch(MISSPELT, session_id="s1")
        missed_by_text = agent.provider.prefetch(MISSPELT)
        agent.provider.queue_prefetch(MISSPELT, session_id="s1")
        embedding_server.fault = None
        agent.settle()
        # Until the model is measured again, nearness counts for little.
        eventually(lambda: any(hit["score"] > 0.3 for hit in agent.tool("recall_memory", query=MISSPELT)["hits"]))
        return found_by_text, missed_by_text, agent.provider.prefetch(MISSPELT)

    found_by_text, missed_by_text, afterwards = await anyio.to_thread.run_sync(session)

    assert "safe 12" in found_by_text
    assert missed_by_text == ""
    assert "safe 12" in afterwards


async def test_a_block_queued_while_the_database_is_down_is_no_block(
    database: Installation, home: object, new_agent: NewAgent, configure: Callable[..., None]
) -> None:
    configure(dsn=database.runtime_dsn)
    first = new_agent().start()
    remember(first, "The Periwinkle contract lies in safe 12")
    first.provider.shutdown()
    await database.administer(f'alter role "{database.role}" nologin')
    try:
        agent = new_agent().start()
        agent.provider.queue_prefetch(CONTRACT, session_id="s1")
        while_down = agent.provider.prefetch(CONTRACT)
    finally:
        await database.administer(f'alter role "{database.role}" login')

    assert while_down == ""
    assert "safe 12" in eventually(lambda: agent.provider.prefetch(CONTRACT))


@pytest.mark.parametrize("trivial", ["hi", "ok thanks!", "👍", "/reset", "", "   ", "哈哈"])
async def test_a_message_that_asks_nothing_brings_nothing(agent: Agent, trivial: str) -> None:
    remember(agent, "hi ok thanks reset 哈哈")

    assert agent.provider.prefetch(trivial) == ""


async def test_what_the_prompt_holds_already_is_not_repeated(agent: Agent) -> None:
    agent.write_notebook("MEMORY.md", "The Periwinkle contract lies in safe 12")
    agent.provider.on_turn_start(1, "hello")
    eventually(agent.profile)
    remember(agent, "The Periwinkle contract was signed by Ms Saffron")
    block = agent.provider.prefetch(CONTRACT)

    assert "safe 12" not in block
    assert "Saffron" in block


async def test_a_question_of_a_megabyte_is_answered_in_time(agent: Agent) -> None:
    remember(agent, "The Periwinkle contract lies in safe 12")
    for number in range(20):
        agent.provider.on_memory_write("add", "memory", f"Locker {number} belongs to team {number}", {})
    agent.settle()
    question = "the log said: " * 70_000 + CONTRACT
    started = time.process_time()
    answers = [agent.tool("recall_memory", query=question), agent.tool("recall_conversation", query=question)]
    block = agent.provider.prefetch(question)
    agent.provider.queue_prefetch(question, session_id="s1")
    seconds = time.process_time() - started

    assert len(question) > 900_000
    assert all("error" not in answer for answer in answers)
    assert "safe 12" in block
    # What is bounded is the work, to a hundredth of a second. Other load takes none of this process's time.
    assert seconds < 10


async def test_a_megabyte_of_different_words_is_a_question_like_others(agent: Agent) -> None:
    question = " ".join(f"word{number}" for number in range(100_000))
    started = time.process_time()
    answers = [agent.tool("recall_memory", query=question), agent.tool("recall_conversation", query=question)]
    block = agent.provider.prefetch(question)
    seconds = time.process_time() - started

    assert all("error" not in answer for answer in answers)
    assert block == ""
    assert seconds < 10


async def test_blocks_and_answers_keep_within_their_tokens(agent: Agent, configure: Callable[..., None]) -> None:
    long = " ".join(f"detail{number}" for number in range(700))
    for number in range(20):
        agent.provider.on_memory_write("add", "memory", f"Periwinkle clause {number}: {long}", {})
        agent.provider.sync_turn(f"Periwinkle question {number}: {long}", f"Periwinkle answer {number}: {long}")
    agent.settle()
    agent.provider.on_session_switch("s2", parent_session_id="s1", reset=True, reason="new_session")
    settings = agent.runtime.settings
    block = agent.provider.prefetch("Which detail was in Periwinkle question 7?")
    answers = [
        agent.provider.handle_tool_call(tool, {"query": query, "limit": 50})
        for tool, query in (("recall_memory", "Periwinkle clause"), ("recall_conversation", "Periwinkle answer"))
    ]
    answers.append(agent.provider.handle_tool_call("memory_profile", {"limit": 50}))

    assert 0 < estimate_tokens(block) <= settings.prefetch_tokens
    # The frame around the hits (scope, notes, trace) is small and not counted.
    assert all(estimate_tokens(answer) <= settings.tool_tokens + 100 for answer in answers), list(map(len, answers))
    assert all(json.loads(answer)["left_out"] > 0 for answer in answers), [answer[-300:] for answer in answers]
