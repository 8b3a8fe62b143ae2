"""The notebooks of the home, MEMORY.md and USER.md: what the host tells of them and what it does not tell."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.acceptance.conftest import NewAgent
from tests.support.agents import Agent, eventually
from tests.support.inspection import rows, value
from tests.support.postgres_store import Installation

HISTORY = "select change, old_content, new_content from hermes_memory.history order by at, id"


def mirrored(agent: Agent, *entries: str) -> bool:
    """Tell whether the memory holds exactly these entries, in any order."""
    return sorted(agent.profile()) == sorted(entries)


def tell(agent: Agent, action: str, content: object = "", *, target: str = "memory", **more: object) -> None:
    """Tell of a write of the built-in memory tool, as the host does."""
    metadata = {"write_origin": "tool", "session_id": "s1", "tool_name": "memory", **more}
    agent.provider.on_memory_write(action, target, content, metadata)


async def test_every_action_is_mirrored_in_order(agent: Agent) -> None:
    tell(agent, "add", "The staging host is db-fra-03")
    tell(agent, "add", "Prefers short answers", target="user")
    tell(agent, "add", "The port is 5432")
    tell(agent, "replace", "The port is 5433", old_text="port is", previous_content="The port is 5432")
    tell(agent, "remove", old_text="staging host")
    tell(agent, "add", "The staging host is db-fra-04")
    agent.settle()

    assert mirrored(agent, "Prefers short answers", "The port is 5433", "The staging host is db-fra-04")
    entries = agent.tool("memory_profile", target="user")["entries"]
    assert [entry["content"] for entry in entries] == ["Prefers short answers"]


async def test_a_replaced_entry_keeps_its_id_and_loses_its_old_words(agent: Agent, database: Installation) -> None:
    tell(agent, "add", "The launch is on 3 May in Kourou")
    agent.settle()
    (before,) = agent.tool("memory_profile")["entries"]
    tell(agent, "replace", "The launch is on 9 May in Kourou", old_text="3 May")
    agent.settle()
    (after,) = agent.tool("memory_profile")["entries"]

    assert after["content"] == "The launch is on 9 May in Kourou"
    assert after["id"] == before["id"]
    assert await rows(database.admin_dsn, HISTORY) == [
        ("added", None, "The launch is on 3 May in Kourou"),
        ("replaced", "The launch is on 3 May in Kourou", "The launch is on 9 May in Kourou"),
    ]


async def test_a_replacement_in_a_file_is_one_change_and_no_removal(agent: Agent, database: Installation) -> None:
    agent.write_notebook("MEMORY.md", "The launch is on 3 May in Kourou")
    tell(agent, "add", "The launch is on 3 May in Kourou")
    agent.settle()
    (before,) = agent.tool("memory_profile")["entries"]
    agent.write_notebook("MEMORY.md", "The launch is on 9 May in Kourou")
    tell(agent, "replace", "The launch is on 9 May in Kourou", old_text="3 May")
    agent.settle()
    agent.start("s2")
    agent.provider.on_turn_start(1, "hello")
    agent.runtime.call(lambda memory: memory.reconcile(memory.view("coder").caller, timeout=30), timeout=30)
    agent.settle()

    (after,) = agent.tool("memory_profile")["entries"]
    assert (after["content"], after["id"]) == ("The launch is on 9 May in Kourou", before["id"])
    assert {change for change, _, _ in await rows(database.admin_dsn, HISTORY)} == {"added", "replaced"}


async def test_the_same_write_told_twice_has_its_effect_once(agent: Agent, database: Installation) -> None:
    for _ in range(2):
        tell(agent, "add", "The port is 5432")
    for _ in range(2):
        tell(agent, "replace", "The port is 5433", old_text="port is", previous_content="The port is 5432")
    tell(agent, "add", "A short-lived note")
    for _ in range(2):
        tell(agent, "remove", old_text="short-lived", previous_content="A short-lived note")
    agent.settle()

    assert mirrored(agent, "The port is 5433")
    assert await value(database.admin_dsn, "select count(*) from hermes_memory.history") == 4
    assert agent.dead_letters() == []


async def test_the_new_text_may_come_among_the_facts(agent: Agent) -> None:
    tell(agent, "add", "", new_text="The vault is number 13")
    agent.provider.on_memory_write("replace", "memory", "", old_text="vault", new_text="The vault is number 14")
    agent.settle()

    assert mirrored(agent, "The vault is number 14")


async def test_an_old_text_is_taken_literally(agent: Agent) -> None:
    tell(agent, "add", "100% of x_y are \\ slashes.*")
    tell(agent, "add", "100 percent of xzy are slashes")
    tell(agent, "remove", old_text="0% of x_y are \\ slashes.*")
    agent.settle()

    assert mirrored(agent, "100 percent of xzy are slashes")


async def test_a_replacement_of_something_unknown_is_added(agent: Agent) -> None:
    tell(agent, "replace", "The port is 5433", old_text="never seen", previous_content="never seen before")
    agent.settle()

    assert mirrored(agent, "The port is 5433")


@pytest.mark.parametrize("nothing", ["", "   ", None, 7, ["x"]])
async def test_an_old_text_that_selects_nothing_in_particular_changes_nothing(agent: Agent, nothing: object) -> None:
    tell(agent, "add", "The port is 5433")
    tell(agent, "remove", old_text=nothing)
    tell(agent, "replace", "Everything is new", old_text=nothing)
    agent.settle()

    assert mirrored(agent, "The port is 5433")


@pytest.mark.parametrize("nothing", ["", "  \n", None])
async def test_an_empty_content_is_not_written(agent: Agent, nothing: object) -> None:
    tell(agent, "add", "The port is 5433")
    tell(agent, "add", nothing)
    tell(agent, "replace", nothing, old_text="port")
    agent.settle()

    assert mirrored(agent, "The port is 5433")


async def test_an_ambiguous_old_text_touches_nothing_until_the_file_tells(agent: Agent) -> None:
    agent.write_notebook("MEMORY.md", "The host is db-fra-03", "The host is db-fra-04")
    agent.provider.on_turn_start(1, "hello")
    eventually(lambda: mirrored(agent, "The host is db-fra-03", "The host is db-fra-04"))
    tell(agent, "remove", old_text="host")
    agent.settle()
    untouched = agent.profile()
    agent.write_notebook("MEMORY.md", "The host is db-fra-04")
    tell(agent, "remove", old_text="host")

    assert len(untouched) == 2
    eventually(lambda: mirrored(agent, "The host is db-fra-04"))


async def test_an_entry_of_this_homes_file_comes_before_the_themes_others(agent: Agent) -> None:
    agent.tool("memory_remember", content="The kestrel is a falcon", sync=True)
    tell(agent, "add", "A kestrel is a branch too")
    tell(agent, "remove", old_text="kestrel is a")
    agent.settle()

    assert mirrored(agent, "The kestrel is a falcon")


async def test_a_line_deleted_from_a_file_is_gone_after_the_next_start(
    agent: Agent, new_agent: NewAgent, database: Installation
) -> None:
    lines = [f"Locker {number} belongs to team {number}" for number in range(50)]
    agent.write_notebook("MEMORY.md", *lines)
    agent.start("s2")
    eventually(lambda: len(agent.profile()) == 50)
    agent.provider.shutdown()
    agent.write_notebook("MEMORY.md", *lines[:17], *lines[18:])
    later = new_agent().start("s3")
    eventually(lambda: len(later.profile()) == 49)

    assert lines[17] not in later.facts("Which team has locker 17?", limit=50)
    assert await value(database.admin_dsn, "select count(*) from hermes_memory.memory_entries") == 49


async def test_edits_by_hand_between_turns_are_noticed(agent: Agent) -> None:
    agent.write_notebook("USER.md", "Likes tea", "Lives in Graz")
    agent.provider.on_turn_start(1, "hello")
    eventually(lambda: mirrored(agent, "Likes tea", "Lives in Graz"))
    agent.write_notebook("USER.md", "Likes coffee", "Lives in Graz")
    agent.provider.on_turn_start(2, "hello again")

    eventually(lambda: mirrored(agent, "Likes coffee", "Lives in Graz"))


async def test_a_missing_file_says_nothing_and_an_empty_one_removes_all(agent: Agent) -> None:
    agent.write_notebook("MEMORY.md", "The port is 5433")
    agent.write_notebook("USER.md", "Likes tea")
    agent.tool("memory_remember", content="Not from any file", sync=True)
    agent.provider.on_turn_start(1, "hello")
    eventually(lambda: mirrored(agent, "The port is 5433", "Likes tea", "Not from any file"))
    (agent.home / "memories" / "USER.md").unlink()
    agent.write_notebook("MEMORY.md")
    agent.provider.on_turn_start(2, "hello")

    eventually(lambda: mirrored(agent, "Likes tea", "Not from any file"))


async def test_what_the_host_told_and_wrote_is_stored_once(agent: Agent, database: Installation) -> None:
    for round_ in range(5):
        tell(agent, "add", f"Fact {round_} of the day")
        agent.write_notebook("MEMORY.md", *(f"Fact {number} of the day" for number in range(round_ + 1)))
        agent.provider.on_turn_start(round_, "hello")
    agent.settle()
    eventually(lambda: mirrored(agent, *(f"Fact {number} of the day" for number in range(5))))

    assert await value(database.admin_dsn, "select count(*) from hermes_memory.history") == 5


async def test_a_told_replacement_is_not_undone_by_the_file_that_holds_it_already(
    agent: Agent, database: Installation
) -> None:
    for number in range(10):
        before, after = f"The counter is at {number}", f"The counter is at {number + 1}"
        if number == 0:
            tell(agent, "add", before)
        agent.write_notebook("MEMORY.md", after)
        agent.provider.on_turn_start(number, "hello")
        tell(agent, "replace", after, old_text="counter", previous_content=before)
        agent.provider.on_turn_start(number, "hello")
    agent.settle()

    eventually(lambda: mirrored(agent, "The counter is at 10"))
    agent.settle()
    assert mirrored(agent, "The counter is at 10")
    assert agent.dead_letters() == []


async def test_a_file_stays_in_step_though_the_database_was_away(
    new_agent: NewAgent, database: Installation, home: Any, configure: Callable[..., None]
) -> None:
    configure(dsn=database.runtime_dsn)
    await database.administer(f'alter role "{database.role}" nologin')
    try:
        agent = new_agent()
        agent.write_notebook("MEMORY.md", "The port is 5433")
        agent.start()
        tell(agent, "add", "The host is db-fra-03")
        agent.write_notebook("MEMORY.md", "The port is 5433", "The host is db-fra-03")
        agent.provider.on_turn_start(1, "hello")
    finally:
        await database.administer(f'alter role "{database.role}" login')

    eventually(lambda: "error" not in agent.tool("memory_profile"))
    eventually(lambda: mirrored(agent, "The port is 5433", "The host is db-fra-03"))


async def test_a_bulk_of_notebook_entries_arrives_whole_beside_the_session(new_agent: NewAgent, served: object) -> None:
    agent = new_agent()
    agent.write_notebook("MEMORY.md", *(f"Locker {number} belongs to team {number}" for number in range(500)))
    agent.start("s1")

    assert agent.provider.prefetch("hello") == ""
    eventually(lambda: len(agent.facts("Which team has locker 499?")) > 0)
    agent.settle()
    assert agent.runtime.call(lambda memory: memory.status(), timeout=30).rows["entries"] == 500


async def test_two_profiles_keep_their_notebooks_apart(
    new_agent: NewAgent, served: Any, tmp_path: Any, database: Installation
) -> None:
    first, second = new_agent().start("s1"), new_agent()
    second.home = tmp_path / "other"
    second.home.mkdir()
    second.start("s2")
    tell(first, "add", "The counter is A")
    tell(second, "add", "The counter is B")
    first.settle()
    second.settle()
    for number in range(3):
        tell(first, "replace", f"The counter is A{number}", old_text="counter is")
        tell(second, "replace", f"The counter is B{number}", old_text="counter is")
    first.settle()
    second.settle()

    assert mirrored(first, "The counter is A2", "The counter is B2")


async def test_a_reset_of_the_notebooks_is_followed(agent: Agent) -> None:
    tell(agent, "add", "The port is 5433")
    agent.write_notebook("MEMORY.md", "The port is 5433")
    agent.provider.on_turn_start(1, "hello")
    agent.settle()
    agent.write_notebook("MEMORY.md", "")
    agent.provider.on_turn_start(2, "hello")

    eventually(lambda: mirrored(agent))
