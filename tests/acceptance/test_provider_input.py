"""Whatever a host hands over is stored as well as it can be: no odd character and no odd type loses a turn."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from tests.acceptance.conftest import NewAgent
from tests.support.agents import Agent
from tests.support.inspection import rows
from tests.support.postgres_store import Installation

pytestmark = pytest.mark.usefixtures("served")

TURNS = "select role, content from hermes_memory.conversations order by position"
ENTRIES = "select content from hermes_memory.memory_entries order by created_at"


async def turns(database: Installation) -> list[tuple[Any, ...]]:
    return await rows(database.admin_dsn, TURNS)


async def entries(database: Installation) -> list[str]:
    return [content for (content,) in await rows(database.admin_dsn, ENTRIES)]


async def test_a_nul_character_costs_itself_and_nothing_else(agent: Agent, database: Installation) -> None:
    agent.provider.sync_turn("The gate code\0 is 4711", "Noted:\0 4711.", session_id="s1")
    agent.provider.on_memory_write("add", "memory", "The gate\0 opens at 7", {"session_id": "s1"})
    agent.settle()

    assert await turns(database) == [("user", "The gate code is 4711"), ("assistant", "Noted: 4711.")]
    assert await entries(database) == ["The gate opens at 7"]
    assert agent.dead_letters() == []


async def test_a_lone_surrogate_becomes_a_replacement_character(agent: Agent, database: Installation) -> None:
    agent.provider.sync_turn("The mascot is \ud83d called Zorro", "Zorro \udc00 it is.", session_id="s1")
    agent.provider.on_memory_write("add", "user", "Likes \ud83d emoji", {})
    agent.settle()

    assert [content for _, content in await turns(database)] == [
        "The mascot is \ufffd called Zorro",
        "Zorro \ufffd it is.",
    ]
    assert await entries(database) == ["Likes \ufffd emoji"]


async def test_a_sessions_name_of_any_length_loses_no_turn(new_agent: NewAgent, database: Installation) -> None:
    agent = new_agent().start("long" * 5_000)
    agent.provider.sync_turn("The launch pad is in Kourou", "In Kourou, yes.", session_id="long" * 5_000)
    agent.provider.sync_turn("The rocket is called Ariane", "Ariane, noted.", session_id="long" * 5_000 + "er")
    agent.settle()

    sessions = await rows(database.admin_dsn, "select session_id, turns from hermes_memory.sessions")
    assert [turns for _, turns in sessions] == [2, 2]
    assert len({name for name, _ in sessions}) == 2


async def test_odd_characters_in_a_sessions_name_lose_no_turn(new_agent: NewAgent, database: Installation) -> None:
    agent = new_agent().start("s\0one\ud83d")
    agent.provider.sync_turn("The launch pad is in Kourou", "In Kourou, yes.", session_id="s\0one\ud83d")
    agent.provider.on_session_switch("s\0two", parent_session_id="s\0one\ud83d", reset=True, reason="new_session")
    agent.provider.sync_turn("The rocket is called Ariane", "Ariane, noted.", session_id="s\0two")
    agent.provider.on_delegation("Check the weather", "It is fine", child_session_id="child\0\ud83d")
    agent.settle()

    assert len(await turns(database)) == 4
    assert agent.dead_letters() == []


@pytest.mark.parametrize("longest", [65_536, 1_000_000])
async def test_a_megabyte_of_different_words_is_stored_and_found(
    new_agent: NewAgent, configure: Any, database: Installation, longest: int
) -> None:
    words = " ".join(f"word{number:06d}" for number in range(95_000))
    configure(turn_max_chars=longest, item_max_bytes=16_777_216)
    agent = new_agent().start()
    agent.provider.sync_turn(f"Heliotrope {words}", f"Oleander {words}", session_id="s1")
    agent.provider.on_session_end(
        [{"role": "user", "content": f"Bifrost {words}"}, {"role": "assistant", "content": "ok"}]
    )
    agent.settle()

    stored = [content for _, content in await turns(database)]
    assert [content.split()[0] for content in stored] == ["Heliotrope", "Oleander", "Bifrost"]
    assert all(len(content) <= longest for content in stored)
    assert all(longest < 1_000_000 or len(content) > 900_000 for content in stored)
    assert agent.dead_letters() == []
    assert any(content.startswith("Heliotrope") for content in agent.said("Heliotrope"))


async def test_a_notebook_entry_of_a_megabyte_is_cut_and_not_lost(agent: Agent, database: Installation) -> None:
    words = " ".join(f"word{number:06d}" for number in range(95_000))
    agent.provider.on_memory_write("add", "memory", f"Heliotrope {words}", {})
    agent.settle()

    (stored,) = await entries(database)
    assert stored.startswith("Heliotrope word000000")
    assert len(stored) <= 65_536


async def test_metadata_of_any_type_costs_no_entry(agent: Agent, database: Installation) -> None:
    odd: dict[str, Any] = {
        "at": datetime(2026, 5, 3, tzinfo=UTC),
        "nul": "a\0b",
        "surrogate": "\ud83d",
        "self": object(),
    }
    agent.provider.on_memory_write("add", "memory", "The cook is called Basil", {"session_id": "s1", **odd})
    agent.settle()

    assert await entries(database) == ["The cook is called Basil"]


@pytest.mark.parametrize(
    ("said", "stored"),
    [
        ([{"type": "text", "text": "Look at the Periwinkle contract"}], "Look at the Periwinkle contract"),
        ([{"type": "image_url", "image_url": {}}, {"type": "text", "text": "Which?"}], "[1 image] Which?"),
        (b"The safe is number 12", "The safe is number 12"),
        (b"caf\xe9 at noon", "caf\ufffd at noon"),
        ({"content": "The vault is number 13"}, "The vault is number 13"),
        (8841, "8841"),
    ],
    ids=["parts", "image", "bytes", "latin-1", "mapping", "number"],
)
async def test_what_the_user_said_is_stored_whatever_its_type(
    agent: Agent, database: Installation, said: object, stored: str
) -> None:
    agent.provider.sync_turn(said, "The contract is in safe 12.", session_id="s1")
    agent.settle()

    assert await turns(database) == [("user", stored), ("assistant", "The contract is in safe 12.")]


@pytest.mark.parametrize("unusable", [None, [], {}, "", object, [{"type": "tool_use"}]])
async def test_a_half_without_text_does_not_take_the_other_with_it(
    agent: Agent, database: Installation, unusable: object
) -> None:
    agent.provider.sync_turn(None, "The spare key lies under the pot.", session_id="s1")
    agent.provider.sync_turn("My locker is number 99", unusable, session_id="s1")
    agent.settle()

    said = await turns(database)
    assert ("assistant", "The spare key lies under the pot.") in said
    assert ("user", "My locker is number 99") in said


async def test_an_element_that_is_no_message_is_skipped_alone(agent: Agent, database: Installation) -> None:
    messages: list[Any] = [
        {"role": "user", "content": "We meet in room Ganymede"},
        "not a message",
        None,
        42,
        {"role": "assistant", "content": "Ganymede, noted."},
        {"role": 7, "content": ["x"]},
        {"role": "user", "content": "And lunch is in Callisto"},
        {"role": "assistant", "content": b"Callisto \xff it is."},
    ]
    agent.provider.on_session_end(messages)
    agent.settle()

    assert [content for _, content in await turns(database)] == [
        "We meet in room Ganymede",
        "Ganymede, noted.",
        "And lunch is in Callisto",
        "Callisto \ufffd it is.",
    ]
