"""What was said in a conversation can be forgotten, and comes back by no way."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final
from uuid import UUID

import anyio.to_thread
import asyncpg
import pytest

from hermes_memory import open_memory
from hermes_memory.application.answers import Fate
from hermes_memory.application.memory import Memory
from hermes_memory.cli.exits import DONE, ERROR, WORK_REMAINS
from hermes_memory.domain.errors import NotVisible
from hermes_memory.domain.history import ChangeKind
from hermes_memory.domain.model import Kind
from hermes_memory.settings import Settings
from tests.acceptance.conftest import NewAgent
from tests.support.agents import Agent
from tests.support.command import Ran
from tests.support.loaded_command import loaded_command
from tests.support.postgres_store import Installation
from tests.support.remote_agent import RemoteAgent

pytestmark = pytest.mark.usefixtures("served")

CODE: Final = "The Xenolith code for the alarm is 8841"
REPLY: Final = "Good, I know the Xenolith code now"
QUESTION: Final = "What is the Xenolith code?"
TALK: Final = [{"role": "user", "content": CODE}, {"role": "assistant", "content": REPLY}]


def told(agent: Agent) -> dict[str, Any]:
    """Let the code be said, and return it as the tool finds it."""
    agent.provider.sync_turn(CODE, REPLY, session_id="s1", messages=TALK)
    agent.settle()
    (hit,) = (hit for hit in agent.tool("recall_conversation", query=QUESTION)["hits"] if hit["content"] == CODE)
    assert hit["own"] is True
    return dict(hit)


def test_what_a_user_asks_to_forget_comes_up_again_from_no_conversation(new_agent: NewAgent) -> None:
    agent = new_agent().start("s1")
    hit = told(agent)

    assert agent.tool("memory_forget", id=hit["id"]) == {"forgotten": True, "id": hit["id"]}

    agent.provider.on_session_end(TALK)
    agent.settle()
    resumed = new_agent().start("s1")
    resumed.provider.sync_turn(CODE, REPLY, session_id="s1", messages=TALK)
    resumed.settle()
    for each in (agent, resumed):
        assert each.said(QUESTION) == [REPLY]
        assert CODE not in each.provider.prefetch(QUESTION)
    assert "no such memory" in agent.tool("memory_forget", id=hit["id"])["error"]


def test_what_another_theme_said_may_be_read_and_is_not_forgotten(new_agent: NewAgent) -> None:
    owner = new_agent().start("s1", agent_identity="sales")
    told(owner)
    reader = new_agent().start("s2", agent_identity="marketing")
    shown = reader.tool("recall_conversation", query=QUESTION, scope="sales")["hits"]

    refused = [reader.tool("memory_forget", id=hit["id"])["error"] for hit in shown]
    unknown = reader.tool("memory_forget", id=str(UUID(int=7)))["error"]

    assert [hit["own"] for hit in shown] == [False] * len(shown)
    assert set(refused) == {unknown}
    assert CODE in owner.said(QUESTION)


async def test_it_is_withheld_before_the_database_has_forgotten_it(
    served: Path, new_agent: NewAgent, database: Installation, configure: Callable[..., None]
) -> None:
    configure(prefetch_timeout=2, tool_timeout=8)
    agent = new_agent().start("s1")
    hit = await anyio.to_thread.run_sync(told, agent)

    def forgotten_elsewhere() -> tuple[dict[str, Any], dict[str, Any], str]:
        with RemoteAgent(served) as remote:
            remote.call("start", "s9")
            late = remote.call("tool", "memory_forget", id=hit["id"])
        return late, agent.tool("recall_conversation", query=QUESTION), agent.provider.prefetch(QUESTION)

    connection = await asyncpg.connect(database.admin_dsn, timeout=30.0, command_timeout=60.0)
    try:
        async with connection.transaction():
            await connection.execute("lock table hermes_memory.conversations in exclusive mode")
            late, withheld, block = await anyio.to_thread.run_sync(forgotten_elsewhere)
    finally:
        await connection.close()
    await anyio.to_thread.run_sync(agent.settle)

    assert "error" in late
    assert "hits" not in withheld
    assert block == ""
    assert await anyio.to_thread.run_sync(agent.said, QUESTION) == [REPLY]


async def test_the_library_forgets_a_turn_tells_that_it_did_and_does_not_undo_it(database: Installation) -> None:
    async with open_memory(Settings()) as memory:
        desk = memory.view("marketing", session="s1")
        await desk.capture(user=CODE, assistant=REPLY)
        row, trace = await _found(memory)
        (saying,) = await desk.history(row)
        for other in (memory.view("sales"), memory.view("marketing", subject=memory.subject_for("telegram", "4711"))):
            assert (await other.get(row)).content == CODE
        for attempt in (memory.view("sales").history, memory.view("sales").forget, desk.undo):
            with pytest.raises(NotVisible):
                await attempt(row)

        await desk.forget(row)

        (forgetting,) = await desk.history(row)
        verdict = await desk.why(trace, row)
        for gone in (desk.get, desk.forget, desk.undo, memory.view("sales").history):
            with pytest.raises(NotVisible):
                await gone(row)
        with pytest.raises(NotVisible):
            await desk.undo(forgetting.operation)
        past = await desk.recall(QUESTION, as_of=forgetting.recorded_at)

    assert (saying.kind, saying.after, saying.target) == (ChangeKind.ADDED, CODE, None)
    assert (forgetting.kind, forgetting.before, forgetting.said_at) == (ChangeKind.REMOVED, None, saying.said_at)
    assert verdict.fate is Fate.GONE
    assert CODE not in [hit.row.content for hit in past.hits]
    held = "select count(*) from hermes_memory.{} t where strpos(t::text, '8841') > 0"
    assert await database.administer(held.format("conversations")) == 0
    assert await database.administer(held.format("history")) == 0
    assert await database.administer("select count(*) from hermes_memory.conversations") == 1


async def test_the_command_shows_a_turn_first_and_says_that_it_is_gone_for_good() -> None:
    async with open_memory(Settings()) as memory:
        await memory.view("marketing", session="s1").capture(user=CODE, assistant=REPLY)
        row, _ = await _found(memory)
    name = (str(row), "--theme", "marketing")

    def run() -> list[Ran]:
        return [
            loaded_command("forget", *name),
            loaded_command("forget", *name, "--execute"),
            loaded_command("history", *name),
            loaded_command("undo", *name),
        ]

    shown, gone, past, undone = ran = await anyio.to_thread.run_sync(run)
    assert [each.code for each in ran] == [WORK_REMAINS, DONE, DONE, ERROR]
    assert f"would forget {row}" in shown.out
    assert "does not bring it back" in shown.out
    assert f"forgot {row}" in gone.out
    assert "removed by operator" in past.out
    assert "8841" not in past.out
    assert "conversation" in undone.err


async def _found(memory: Memory) -> tuple[Any, Any]:
    """Return the id of the turn, once it is stored, and the answer that has it."""
    assert await memory.settled(timeout=90)
    result = await memory.view("marketing").recall(QUESTION, kinds=frozenset({Kind.TURN}), timeout=30)
    (row,) = (hit.row.id for hit in result.hits if hit.row.content == CODE)
    return row, result.trace_id
