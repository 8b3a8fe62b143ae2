"""The keys of people and groups are kept nowhere: driven through everything, failures too, and searched for."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest
from prometheus_client import generate_latest

from hermes_memory import Settings, open_memory
from hermes_memory.cli.main import main
from tests.acceptance.conftest import NewAgent
from tests.support.agents import Agent, eventually
from tests.support.inspection import dump, rows
from tests.support.postgres_store import Installation

POISON: Final = "a text that the database refuses"
SESSIONS: Final = (
    "whatsapp:dm:+4915150607080",
    "bob.kestrel@example.org",
    "chat-777000111-evening",
    "agent:main:telegram:supergroup:-100444555666",
    "20260503_101500_666000777",
)
"""What hosts may call the conversations with the contacts below: by a key, or by a name that holds one."""
CONTACTS: Final[Mapping[str, tuple[dict[str, Any], tuple[str, ...]]]] = {
    "telephone": (
        {
            "gateway_session_key": "agent:main:whatsapp:dm:4915150607080@s.whatsapp.net",
            "platform": "whatsapp",
            "user_name": "+49 151 5060 7080",
        },
        ("4915150607080", "s.whatsapp.net"),
    ),
    "mail address": (
        {
            "gateway_session_key": "email:bob.kestrel@example.org",
            "user_id": "bob.kestrel@example.org",
            "user_name": "Bob <bob.kestrel@example.org>",
        },
        ("bob.kestrel", "kestrel@"),
    ),
    "user and chat": (
        {
            "platform": "telegram",
            "user_id": "777000111",
            "user_id_alt": "kestrel_handle_42",
            "user_name": "Kestrel_Handle_42",
            "chat_id": "888000222",
            "chat_type": "dm",
            "thread_id": "555000333",
        },
        ("777000111", "kestrel_handle_42", "888000222", "555000333"),
    ),
    "group": (
        {
            "gateway_session_key": "agent:main:telegram:supergroup:-100444555666",
            "chat_id": "-100444555666",
            "chat_type": "supergroup",
            "user_id": "777000444",
            "user_name": "777000444",
            "platform": "telegram",
        },
        ("100444555666", "777000444"),
    ),
    "glued to a time": ({"platform": "telegram", "user_id": "666000777", "user_name": "u666000777"}, ("666000777",)),
}
AUTHORS: Final[tuple[dict[str, Any], ...]] = (
    {"id": "4915150607080@s.whatsapp.net", "name": "4915150607080", "is_bot": False},
    {"id": "bob.kestrel@example.org", "name": "bob.kestrel@example.org"},
    {"id": 777000111, "name": "777000111"},
    {"id": "kestrel_handle_42", "name": "@kestrel_handle_42", "is_bot": True},
    {"id": "4915150607080"},
)
"""Who spoke, as hosts say it where a platform knows no name."""
MARKS: Final = ("507080", "5060 7080", "5060 9999", *(mark for _, marks in CONTACTS.values() for mark in marks))


@pytest.mark.usefixtures("served")
async def test_the_keys_of_people_and_groups_are_kept_nowhere_whatever_goes_wrong(
    new_agent: NewAgent, database: Installation, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    agents = {
        session: new_agent().start(session, parent_session_id=f"{session}:before", **facts)
        for session, (facts, _) in zip(SESSIONS, CONTACTS.values(), strict=True)
    }
    shown = [line for session, agent in agents.items() for line in _talk(agent, session)]
    await database.administer(f'alter role "{database.role}" nologin')
    shown += [line for session, agent in agents.items() for line in _talk(agent, session)]
    waiting = _files(agents[SESSIONS[0]].home)
    await database.administer(
        f"alter table hermes_memory.memory_entries add constraint picky check (content !~ '{POISON}')"
    )
    await database.administer(f'alter role "{database.role}" login')
    for number, (session, agent) in enumerate(agents.items()):
        agent.provider.on_memory_write("add", "user", f"{POISON} in talk {number}", {"session_id": session})
    first = agents[SESSIONS[0]]
    eventually(lambda: len(first.dead_letters()) == len(agents))
    shown += first.dead_letters()
    shown += [_signature(first, facts) for facts, _ in CONTACTS.values()]
    here = [agent.tool("recall_conversation", query="tea", scope="session")["hits"] for agent in agents.values()]
    capsys.readouterr()
    for verb in (["stats"], ["doctor"], ["spool", "list", "--content"], ["spool", "status"]):
        main_in_a_thread(verb)
    printed = capsys.readouterr()
    found = [_erasable(session, database, capsys) for session in (*SESSIONS, "chat-777000111-morning")]
    places = {
        "database": await dump(database.admin_dsn),
        "server's log": _server_log(database),
        "home": waiting + _files(first.home),
        "log": "\n".join(str(record.__dict__) for record in caplog.records if "hermes_memory" in record.name),
        "metrics": generate_latest().decode(),
        "verbs": printed.out + printed.err,
        "answers and errors": "\n".join([*shown, json.dumps([here, found])]),
    }

    assert all(places.values())
    assert "Likes tea" in places["database"]
    assert POISON in places["home"]
    assert [(place, mark) for place, text in places.items() for mark in MARKS if mark in text] == []
    assert all(here)
    assert [bool(counts["turns"] and counts["sessions"]) for counts in found] == [True] * len(SESSIONS) + [False]


@pytest.mark.usefixtures("served")
async def test_a_speaker_whom_the_library_names_by_a_key_is_kept_without_it(database: Installation) -> None:
    async with open_memory(Settings(), wait=30) as memory:
        desk = memory.view(theme="marketing", session="s1")
        for number, speaker in enumerate(("+49 151 5060 7080", "Bob <bob.kestrel@example.org>", "777000111", "Ana")):
            await desk.capture_turn(f"Pot {number} is warm", speaker=speaker)
        assert await memory.settled(timeout=60)

    kept = await rows(database.admin_dsn, "select speaker from hermes_memory.conversations order by position")
    assert kept == [(None,), ("Bob",), (None,), ("Ana",)]
    stored = await dump(database.admin_dsn)
    assert [mark for mark in MARKS if mark in stored] == []


def _talk(agent: Agent, session: str) -> list[str]:
    """Use every hook and tool, some of them wrongly; return what the host and the model are shown."""
    provider = agent.provider
    provider.on_turn_start(1, "Is there tea?")
    called = tuple(CONTACTS.values())[SESSIONS.index(session)][0]["user_name"]
    provider.sync_turn(f"[{called}] Is there tea in the house?", "There is tea, of course.", session_id=session)
    for number, author in enumerate(AUTHORS):
        sender = author.get("name", author["id"])
        provider.sync_turn(f"[{sender}] Is pot {number} warm?", "It is warm.", session_id=session, turn_author=author)
    provider.on_memory_write("add", "user", "Likes tea", {"session_id": session})
    provider.queue_prefetch("What is drunk here?", session_id=session)
    provider.on_delegation("count the tea", "there are nine bags", child_session_id=f"{session}:child")
    shown = [provider.prefetch("What is drunk here?", session_id=session), provider.system_prompt_block()]
    calls: list[tuple[str, object]] = [
        ("recall_memory", {"query": "tea", "scope": "subject"}),
        ("recall_conversation", {"query": "tea", "scope": "external-group"}),
        ("memory_remember", {"content": "Takes sugar"}),
        ("memory_forget", {"content": "never said"}),
        ("memory_profile", {"limit": "many"}),
        ("memory_profile", None),
    ]
    shown += [provider.handle_tool_call(name, arguments) for name, arguments in calls]
    others = [{"role": "user", "content": "[+49 151 5060 9999] Is the cellar dry?"}] if "supergroup" in session else []
    provider.on_session_end([{"role": "user", "content": f"[{called}] Is there tea in the house?"}, *others])
    return [*shown, str(provider.recall_status()), str(provider.unavailable_reason())]


def _erasable(session: str, database: Installation, capsys: pytest.CaptureFixture[str]) -> dict[str, int]:
    """Return what an erasure of a conversation would take, named by the id that its host gave it."""
    main_in_a_thread(["erase", "--session", session, "--json", "--admin-dsn", database.admin_dsn])
    told: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert session not in json.dumps(told)
    return dict(told["counts"])


def main_in_a_thread(arguments: list[str]) -> None:
    """Run a verb beside this test's event loop."""
    thread = threading.Thread(target=main, args=(arguments,))
    thread.start()
    thread.join(120)
    assert not thread.is_alive()


def _signature(agent: Agent, facts: Mapping[str, Any]) -> str:
    return json.dumps(agent.provider.identity_signature(hermes_home=str(agent.home), **facts))


def _files(home: Path) -> str:
    return "\n".join(path.read_bytes().decode("utf-8", "replace") for path in home.rglob("*") if path.is_file())


def _server_log(database: Installation) -> str:
    directory = database.server.directory
    if directory is None:
        return "the server is not ours to look into"
    return (directory / "postgres" / "server.log").read_text(encoding="utf-8", errors="replace")
