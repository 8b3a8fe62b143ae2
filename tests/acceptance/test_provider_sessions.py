"""Sessions: each exchange is stored once, where it belongs, whichever hooks and processes hand it in."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.conftest import NewAgent
from tests.support.agents import Agent
from tests.support.inspection import rows, value
from tests.support.postgres_store import Installation
from tests.support.remote_agent import RemoteAgent

TALK = [
    ("Which port does staging use?", "Staging listens on port 5433."),
    ("And the database host?", "The host is db-fra-03."),
    ("Yes", "Then I deploy to db-fra-03 now."),
    ("Which port does staging use?", "Port 5433, as before."),
]
COUNT = "select count(*) from hermes_memory.conversations"


def transcript(talk: list[tuple[str, str]]) -> list[dict[str, Any]]:
    return [
        message
        for user, assistant in talk
        for message in ({"role": "user", "content": user}, {"role": "assistant", "content": assistant})
    ]


async def stored(database: Installation) -> list[tuple[Any, ...]]:
    return await rows(
        database.admin_dsn, "select session_id, role, content from hermes_memory.conversations order by ts, position"
    )


async def test_the_same_talk_by_every_hook_is_stored_once(agent: Agent, database: Installation) -> None:
    provider = agent.provider
    for number, (user, assistant) in enumerate(TALK, start=1):
        provider.sync_turn(user, assistant, session_id="s1", messages=transcript(TALK[:number]))
    provider.on_pre_compress(transcript(TALK))
    provider.on_session_end(transcript(TALK))
    provider.on_session_end(transcript(TALK))
    agent.settle()

    assert [content for _, _, content in await stored(database)] == [
        *("Which port does staging use?", "Staging listens on port 5433."),
        *("And the database host?", "The host is db-fra-03."),
        "Then I deploy to db-fra-03 now.",
        *("Which port does staging use?", "Port 5433, as before."),
    ]


async def test_turns_synced_without_messages_are_not_stored_again_at_the_end(
    agent: Agent, database: Installation
) -> None:
    for user, assistant in TALK:
        agent.provider.sync_turn(user, assistant, session_id="s1")
    agent.provider.on_session_end(transcript(TALK))
    agent.settle()

    assert await value(database.admin_dsn, COUNT) == 7


async def test_a_session_resumed_in_another_process_stores_nothing_twice(agent: Agent, database: Installation) -> None:
    for number, (user, assistant) in enumerate(TALK, start=1):
        agent.provider.sync_turn(user, assistant, session_id="s1", messages=transcript(TALK[:number]))
    agent.settle()
    agent.provider.shutdown()
    with RemoteAgent(agent.home) as resumed:
        resumed.call("start", "s1")
        resumed.call("on_session_end", transcript(TALK))
        resumed.call("on_pre_compress", transcript(TALK))
        for number, (user, assistant) in enumerate(TALK, start=1):
            resumed.call("sync_turn", user, assistant, session_id="s1", messages=transcript(TALK[:number]))
            resumed.call("sync_turn", user, assistant, session_id="s1")
        more = [*TALK, ("The door code is 8841", "Noted, 8841.")]
        resumed.call("on_session_end", transcript(more))
        resumed.call("settle")

    assert await value(database.admin_dsn, COUNT) == 9


async def test_a_process_that_is_killed_loses_nothing_it_accepted(served: Path, database: Installation) -> None:
    with RemoteAgent(served) as killed:
        killed.call("start", "s1")
        for number in range(40):
            killed.call("sync_turn", f"Locker {number} belongs to whom?", f"Locker {number} is Ana's.", session_id="s1")
        killed.kill()
    with RemoteAgent(served) as later:
        later.call("start", "s2")
        later.call("settle")

    assert await value(database.admin_dsn, COUNT) == 80


async def test_an_exchange_said_twenty_times_takes_one_place_in_the_answer(agent: Agent) -> None:
    for _ in range(20):
        agent.provider.sync_turn("Is the build green?", "The build is green.", session_id="s1")
    agent.provider.sync_turn("Why was the build red?", "A build of branch kestrel broke it.", session_id="s1")
    agent.settle()

    found = agent.said("build", limit=5)
    assert sorted(found) == sorted(set(found))
    assert "A build of branch kestrel broke it." in found
    hits = agent.tool("recall_conversation", query="Is the build green?", limit=5)["hits"]
    assert next(hit["copies"] for hit in hits if hit["content"] == "Is the build green?") == 20


async def test_initialising_again_with_a_backlog_costs_no_vector(
    served: Path, new_agent: NewAgent, database: Installation, configure: Callable[..., None]
) -> None:
    configure(embedder="local")
    agent = new_agent().start("s1")
    for number in range(40):
        agent.provider.sync_turn(f"Who has key {number}?", f"Key {number} is with Ms Saffron.", session_id="s1")
    for number in range(2, 6):
        agent.start(f"s{number}")
    agent.settle()

    assert await value(database.admin_dsn, "select count(*) from hermes_memory.turn_vectors_g1") == 80
    assert await value(database.admin_dsn, "select count(*) from hermes_memory.embedding_jobs") == 0


async def test_a_new_session_begins_without_the_turns_of_the_old_one_and_loses_none(
    agent: Agent, database: Installation
) -> None:
    provider = agent.provider
    provider.sync_turn("The rocket is called Ariane", "Ariane, noted.", session_id="s1")
    answer: object = provider.on_session_switch("s2", parent_session_id="s1", reset=True, reason="new_session", novel=1)
    provider.sync_turn("It starts in Kourou", "In Kourou, yes.", session_id="s2")
    provider.sync_turn("Its captain is Zorro", "Zorro, noted.", session_id="s1")  # the host's worker lags behind
    provider.on_session_end(transcript([("It starts in Kourou", "In Kourou, yes."), ("At noon", "At noon, fine.")]))
    agent.settle()

    assert answer is None
    by_session = {
        session: [content for name, _, content in await stored(database) if name == session] for session in ("s1", "s2")
    }
    assert by_session == {
        "s1": ["The rocket is called Ariane", "Ariane, noted.", "Its captain is Zorro", "Zorro, noted."],
        "s2": ["It starts in Kourou", "In Kourou, yes.", "At noon", "At noon, fine."],
    }
    parents = await rows(
        database.admin_dsn, "select session_id, parent_session_id from hermes_memory.sessions order by 1"
    )
    assert parents == [("s1", None), ("s2", "s1")]


async def test_compression_in_place_keeps_the_session_without_making_it_its_own_parent(
    agent: Agent, database: Installation
) -> None:
    agent.provider.sync_turn("The rocket is called Ariane", "Ariane, noted.", session_id="s1")
    agent.provider.on_session_switch("s1", parent_session_id="s1", reset=False, reason="compression")
    agent.provider.sync_turn("It starts in Kourou", "In Kourou, yes.", session_id="s1")
    agent.settle()

    assert await rows(
        database.admin_dsn, "select session_id, parent_session_id, turns from hermes_memory.sessions"
    ) == [("s1", None, 4)]


async def test_session_scope_follows_the_session_that_is_going_on(agent: Agent) -> None:
    agent.provider.sync_turn("The rocket is called Ariane", "Ariane is a rocket, noted.", session_id="s1")
    agent.provider.on_session_switch("s2", parent_session_id="s1", reset=True, reason="new_session")
    agent.provider.sync_turn("The other rocket is Vega", "Vega is a rocket too.", session_id="s2")
    agent.settle()

    assert set(agent.said("rocket", scope="session")) == {"The other rocket is Vega", "Vega is a rocket too."}
    assert len(agent.said("rocket", scope="current")) == 4


async def test_what_left_the_window_is_recalled_and_what_is_in_view_is_not(agent: Agent) -> None:
    provider = agent.provider
    provider.sync_turn("The Periwinkle contract lies in safe 12", "Safe 12, noted.", session_id="s1")
    agent.settle()
    in_view = provider.prefetch("Where is the Periwinkle contract?")
    provider.on_session_switch("s1", parent_session_id="s1", reason="compression")
    compressed = provider.prefetch("Where is the Periwinkle contract?")

    assert in_view == ""
    assert "safe 12" in compressed


async def test_a_delegation_is_noted_with_its_child_and_belongs_to_no_answer(
    agent: Agent, database: Installation
) -> None:
    agent.provider.sync_turn("Find out who sells Heliotrope", "I ask a researcher.", session_id="s1")
    agent.provider.on_delegation("Find sellers of Heliotrope", "Three sellers found", child_session_id="s1-child")
    agent.provider.on_delegation("", "", child_session_id="")
    agent.settle()
    with RemoteAgent(agent.home) as child:
        child.call("start", "s1-child", parent_session_id="s1")
        child.call("sync_turn", "Find sellers of Heliotrope", "Ms Saffron sells Heliotrope.", session_id="s1-child")
        child.call("settle")

    edges = await rows(
        database.admin_dsn,
        "select agent_identity, parent_session_id, child_session_id, task, result "
        "from hermes_memory.memory_agent_edges order by task desc",
    )
    assert edges == [
        ("coder", "s1", "s1-child", "Find sellers of Heliotrope", "Three sellers found"),
        ("coder", "s1", None, "", ""),
    ]
    parents = "select distinct parent_session_id from hermes_memory.conversations where session_id = 's1-child'"
    assert await rows(database.admin_dsn, parents) == [("s1",)]
    registered = "select agent_identity, entries, sessions, turns, delegations from hermes_memory.v_agent_memory"
    assert await rows(database.admin_dsn, registered) == [("coder", 0, 2, 4, 2)]
    assert "Three sellers found" not in agent.said("sellers of Heliotrope", limit=20)


async def test_turns_of_a_child_name_their_parent_though_only_the_delegation_told_it(
    agent: Agent, database: Installation
) -> None:
    agent.provider.on_delegation("Find sellers", "Three found", child_session_id="s1-child")
    agent.settle()
    agent.provider.sync_turn("Find sellers", "Ms Saffron sells it.", session_id="s1-child")
    agent.settle()

    assert await rows(
        database.admin_dsn, "select distinct session_id, parent_session_id from hermes_memory.conversations"
    ) == [("s1-child", "s1")]


@pytest.mark.parametrize("context", ["subagent", "flush", "Subagent", "something-new"])
async def test_contexts_that_only_read_write_nothing(
    new_agent: NewAgent, agent: Agent, database: Installation, context: str
) -> None:
    agent.provider.on_memory_write("add", "memory", "The vault is number 13", {})
    agent.settle()
    agent.rest()
    reader = new_agent().start("s2", agent_context=context)
    reader.write_notebook("MEMORY.md", "Something by hand")
    reader.provider.on_turn_start(1, "hello")
    reader.provider.sync_turn("The rocket is called Ariane", "Ariane, noted.", session_id="s2")
    reader.provider.on_session_end(transcript(TALK))
    reader.provider.on_pre_compress(transcript(TALK))
    reader.provider.on_memory_write("add", "memory", "A fact", {})
    reader.provider.on_memory_write("remove", "memory", "", {"old_text": "vault"})
    reader.provider.on_delegation("Task", "Result", child_session_id="c")
    refused = [
        reader.tool("memory_remember", content="A fact"),
        reader.tool("memory_remember", content="A fact", sync=True),
        reader.tool("memory_forget", content="The vault is number 13"),
    ]
    reader.settle()

    assert all("only reads" in answer["error"] for answer in refused)
    assert reader.facts("vault") == ["The vault is number 13"]
    assert await value(database.admin_dsn, COUNT) == 0
    assert await value(database.admin_dsn, "select count(*) from hermes_memory.memory_entries") == 1
    assert await value(database.admin_dsn, "select count(*) from hermes_memory.memory_agent_edges") == 0


async def test_a_cron_job_writes(new_agent: NewAgent, served: Path, database: Installation) -> None:
    agent = new_agent().start("s1", agent_context="cron", platform="cron")
    agent.provider.sync_turn("Report the disk usage", "Disk usage is 40 percent.", session_id="s1")
    agent.settle()

    assert await value(database.admin_dsn, COUNT) == 2


async def test_what_is_written_after_shutdown_is_delivered_by_the_next_start(
    agent: Agent, new_agent: NewAgent, database: Installation
) -> None:
    agent.provider.shutdown()
    agent.provider.sync_turn("The late code is 7001", "Noted, 7001.", session_id="s1")
    agent.provider.on_memory_write("add", "memory", "The late vault is number 14", {})
    agent.provider.on_session_end(transcript(TALK))
    assert agent.provider.prefetch("What is the late code?") == ""
    assert "error" in agent.tool("recall_memory", query="late code")
    agent.provider.shutdown()
    before = await value(database.admin_dsn, COUNT)
    later = new_agent().start("s2")
    later.settle()

    assert before == 0
    assert await value(database.admin_dsn, COUNT) == 9
    assert later.facts("late vault") == ["The late vault is number 14"]


async def test_a_speaker_is_kept_with_what_was_said(agent: Agent, new_agent: NewAgent, database: Installation) -> None:
    agent.provider.sync_turn(
        "Ship it today", "Shipped.", session_id="s1", turn_author={"id": "U1", "name": "Ana\0", "is_bot": False}
    )
    agent.settle()

    assert await rows(
        database.admin_dsn, "select role, speaker from hermes_memory.conversations order by position"
    ) == [("user", "Ana"), ("assistant", None)]


async def test_the_words_of_a_bot_are_no_users_and_wait_until_they_are_asked_for(
    agent: Agent, database: Installation
) -> None:
    claim = "The vault of Ariane is number 13"
    bot = {"id": "B1", "name": "HelperBot", "is_bot": True}
    interrupted = "[888000222] Its door code is 8841"
    agent.provider.on_turn_start(1, interrupted, author_id="888000222", author_is_bot=True)
    agent.provider.on_pre_compress(transcript([(interrupted, "Noted.")]))
    agent.provider.sync_turn(claim, "Noted, thank you.", session_id="s1", turn_author=bot)
    agent.settle()

    assert await rows(
        database.admin_dsn,
        "select content, origin, speaker from hermes_memory.conversations where role = 'user' order by position",
    ) == [("Its door code is 8841", "agent", None), (claim, "agent", "HelperBot")]
    agent.provider.on_session_switch("s2", parent_session_id="s1", reset=True, reason="new_session")
    assert claim not in agent.provider.prefetch("Which number is the vault of Ariane?")
    hits = agent.tool("recall_conversation", query="vault of Ariane")["hits"]
    assert [(hit["content"], hit["origin"]) for hit in hits if hit["role"] == "user"] == [(claim, "agent")]
