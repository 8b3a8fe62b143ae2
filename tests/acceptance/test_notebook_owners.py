"""Whose a line of the home's notebooks is: what somebody's session told of is never made everybody's by the file."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.conftest import Command, NewAgent
from tests.support.agents import Agent, collect, eventually
from tests.support.inspection import rows
from tests.support.postgres_store import Installation
from tests.support.remote_agent import RemoteAgent

LINE = "The alarm code is Zwiebelkuchen and the doctor is Ms Saffron"
OURS = "The office is in Graz"
QUESTION = "alarm code doctor"
EVERYBODYS = "select content from hermes_memory.memory_entries where subject = ''"
ANA = {"platform": "telegram", "user_id": "777000111"}
ANA_ALONE = {**ANA, "gateway_session_key": "agent:main:telegram:dm:777000111"}
BEN = {"platform": "telegram", "user_id": "777000222"}
WAYS = pytest.mark.parametrize("who", [ANA, ANA_ALONE], ids=["in the theme", "direct message"])


def tell(agent: Agent, session: str, line: str = LINE) -> None:
    """Write a line into USER.md, then tell of it, as the host does."""
    agent.write_notebook("USER.md", OURS, line)
    agent.provider.on_memory_write("add", "user", line, {"session_id": session})


def quiet(agent: Agent) -> None:
    """Wait until the look at the notebooks that a hook brought is done, and what it accepted is stored."""
    eventually(lambda: agent.runtime.loop.memory)
    agent.settle()
    agent.rest()
    agent.settle()


def next_turn(*agents: Agent) -> None:
    """Let the next turn of each begin, and what it starts end."""
    for agent in agents:
        agent.provider.on_turn_start(2, "hello")
    for agent in agents:
        quiet(agent)


def start(new_agent: NewAgent, session: str, **facts: object) -> Agent:
    """Start an agent, and wait for the look at the notebooks that this brings."""
    agent = new_agent().start(session, **facts)
    quiet(agent)
    return agent


async def everybodys(database: Installation) -> list[str]:
    return sorted(content for (content,) in await rows(database.admin_dsn, EVERYBODYS))


def forget(agent: Agent, *_: object) -> None:
    (hit,) = [hit for hit in agent.tool("recall_memory", query=QUESTION)["hits"] if hit["content"] == LINE]
    assert agent.tool("memory_forget", id=hit["id"])["forgotten"]
    agent.settle()


def erase(_: Agent, typed: Command, database: Installation) -> None:
    what = ["--subject", "telegram:777000111", "--execute", "--json", "--admin-dsn", database.admin_dsn]
    assert '"complete": true' in typed("erase", *what).out


@WAYS
@pytest.mark.parametrize("take_away", [forget, erase])
async def test_a_line_that_somebody_told_of_is_nobody_elses_after_its_memory_is_gone(
    new_agent: NewAgent,
    served: Path,
    database: Installation,
    typed: Command,
    who: dict[str, str],
    take_away: Callable[..., None],
) -> None:
    agent = new_agent()
    agent.write_notebook("USER.md", OURS)
    agent.start("s1", **who)
    tell(agent, "s1")
    next_turn(agent)
    before = agent.facts(QUESTION)
    await asyncio.to_thread(take_away, agent, typed, database)
    next_turn(agent)
    agent.provider.shutdown()
    other = start(new_agent, "s2", **BEN)
    (agent.home / "memories" / "USER.md").touch()
    next_turn(other)
    desk = start(new_agent, "s3")

    assert before[:1] == [LINE]
    assert await everybodys(database) == [OURS]
    for reader in (other, desk, start(new_agent, "s4", agent_identity="writer")):
        assert LINE not in reader.facts(QUESTION, scope="all")


@WAYS
async def test_a_line_is_nobodys_between_the_hosts_write_and_its_word(
    new_agent: NewAgent, served: Path, database: Installation, who: dict[str, str]
) -> None:
    ana, ben, desk = start(new_agent, "s1", **who), start(new_agent, "s2", **BEN), start(new_agent, "s3")
    ana.write_notebook("USER.md", LINE)
    next_turn(ben, desk)
    ana.provider.on_memory_write("add", "user", LINE, {"session_id": "s1"})
    next_turn(ana, ben, desk)

    assert await everybodys(database) == []
    assert ana.facts(QUESTION) == [LINE]
    assert ben.facts(QUESTION) == desk.facts(QUESTION) == []


async def test_a_line_of_a_session_that_only_reads_is_nobodys(
    new_agent: NewAgent, served: Path, database: Installation
) -> None:
    ana = start(new_agent, "s1", **ANA, agent_context="subagent")
    tell(ana, "s1")
    ana.write_notebook("USER.md")
    ana.provider.shutdown()
    desk = new_agent()
    desk.write_notebook("USER.md", LINE, "Prefers short answers")
    desk.start("s2")
    quiet(desk)

    assert await everybodys(database) == ["Prefers short answers"]


async def test_a_line_that_came_while_the_database_was_away_is_nobody_elses(
    new_agent: NewAgent, served: Path, database: Installation
) -> None:
    ana = start(new_agent, "s1", **ANA)
    await database.administer(f'alter role "{database.role}" nologin')
    try:
        tell(ana, "s1")
        ben = new_agent().start("s2", **BEN)
        ben.provider.on_turn_start(1, "hello")
    finally:
        await database.administer(f'alter role "{database.role}" login')
    eventually(lambda: ana.facts_if_any(QUESTION))
    next_turn(ana, ben)

    assert await everybodys(database) == []


async def test_a_line_that_the_host_never_told_of_stays_out(
    new_agent: NewAgent, served: Path, database: Installation
) -> None:
    ana = start(new_agent, "s1", **ANA)
    ana.write_notebook("USER.md", LINE)
    next_turn(ana)
    ana.provider.shutdown()
    desk = start(new_agent, "s2")
    desk.write_notebook("USER.md", LINE, OURS)
    next_turn(desk)

    assert await everybodys(database) == [OURS]


async def test_lines_that_nobody_told_of_are_counted_for_whoever_looks_after_the_memory(
    new_agent: NewAgent, served: Path, typed: Command
) -> None:
    ana = start(new_agent, "s1", **ANA)
    ana.write_notebook("USER.md", LINE)
    next_turn(ana)
    ana.provider.shutdown()
    stats, document, doctor = [
        await asyncio.to_thread(typed, *verb) for verb in (["stats"], ["stats", "--json"], ["doctor"])
    ]

    assert "notebooks  1 line came in talk with somebody" in stats.out
    assert document.document["held_lines"] == 1
    assert "hermes-memory add" in next(line for line in doctor.out.splitlines() if line.split()[1] == "notebooks")


async def test_a_process_without_anybody_waits_for_the_word_of_the_one_with_somebody(
    new_agent: NewAgent, served: Path, database: Installation
) -> None:
    desk = new_agent()
    desk.write_notebook("USER.md", OURS)
    with RemoteAgent(served) as gateway:
        gateway.call("start", "s1", **ANA)
        desk.write_notebook("USER.md", OURS, LINE)
        desk.start("s2")
        next_turn(desk)
        between = await everybodys(database)
        gateway.call("on_memory_write", "add", "user", LINE, {"session_id": "s1"})
        gateway.call("settle")
        told = gateway.call("facts", QUESTION)
        gateway.call("shutdown")
    desk.write_notebook("USER.md", OURS, LINE, "Prefers short answers")
    next_turn(desk)

    assert between == [OURS]
    assert told[:1] == [LINE]
    assert await everybodys(database) == ["Prefers short answers", OURS]


async def test_a_process_that_dies_before_its_word_leaves_the_line_nobodys(
    new_agent: NewAgent, served: Path, database: Installation
) -> None:
    desk = new_agent()
    with RemoteAgent(served) as gateway:
        gateway.call("start", "s1", **ANA)
        desk.write_notebook("USER.md", LINE)
        gateway.kill()
    desk.start("s2")
    quiet(desk)
    desk.write_notebook("USER.md", LINE, OURS)
    next_turn(desk)

    assert await everybodys(database) == [OURS]


async def test_what_is_there_before_somebody_comes_and_what_the_desk_tells_of_meanwhile_is_everybodys(
    new_agent: NewAgent, served: Path, database: Installation
) -> None:
    desk = new_agent()
    desk.write_notebook("MEMORY.md", OURS)
    ana = start(new_agent, "s1", **ANA)
    desk.start("s2")
    desk.write_notebook("MEMORY.md", OURS, "The port is 5433")
    next_turn(ana)
    desk.provider.on_memory_write("add", "memory", "The port is 5433", {"session_id": "s2"})
    next_turn(ana, desk)
    writer = start(new_agent, "s3", agent_identity="writer")

    assert await everybodys(database) == [OURS, OURS, "The port is 5433", "The port is 5433"]
    assert sorted(writer.profile()) == [OURS, "The port is 5433"]


async def test_an_edit_by_hand_after_somebody_has_left_is_everybodys(
    new_agent: NewAgent, served: Path, database: Installation
) -> None:
    ana = start(new_agent, "s1", **ANA)
    tell(ana, "s1")
    ana.settle()
    ana.provider.shutdown()
    ana.write_notebook("USER.md", LINE, "Prefers short answers")
    desk = start(new_agent, "s2")
    back = start(new_agent, "s3", **ANA)

    assert await everybodys(database) == ["Prefers short answers"]
    assert desk.facts(QUESTION) == []
    assert back.facts(QUESTION) == [LINE]


async def test_what_is_noted_of_a_line_is_no_text_of_it(new_agent: NewAgent, served: Any) -> None:
    ana = start(new_agent, "s1", **ANA)
    tell(ana, "s1")
    note = served / "hermes-memory" / "notebook-lines"
    noted = note.read_text(encoding="ascii")

    assert note.stat().st_mode & 0o777 == 0o600
    assert "\n-" in noted
    assert not any(word in noted for word in LINE.split())


async def test_whoever_is_dropped_without_a_word_has_left(
    new_agent: NewAgent, served: Path, database: Installation
) -> None:
    ana = Agent(served).start("s1", **ANA)
    quiet(ana)
    thread = ana.runtime.loop._thread
    del ana
    collect()
    eventually(lambda: not thread.is_alive())
    desk = new_agent()
    desk.write_notebook("USER.md", OURS)
    desk.start("s2")
    quiet(desk)

    assert await everybodys(database) == [OURS]
