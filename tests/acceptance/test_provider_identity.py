"""Whose memory it is: contacts, themes and names, and who sees what."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hermes_memory.domain.model import ReadPolicy, Theme
from hermes_memory.hermes import sessions
from tests.acceptance.conftest import NewAgent
from tests.support.agents import Agent
from tests.support.inspection import dump, rows
from tests.support.postgres_store import Installation

pytestmark = pytest.mark.usefixtures("served")

MARK = "Zwiebelkuchen"
SECRET = f"The alarm code is {MARK} and the doctor's name is Ms Saffron"
QUESTION = "What is the alarm code, and who is the doctor?"
SCOPES = (
    "current",
    "session",
    "subject",
    "all",
    "whatsapp-dm",
    "external-group",
    "_bench",
    "default",
    "hermes",
    "coder",
)


def everything_seen(agent: Agent) -> str:
    """Return all that an agent can be shown, by any tool, scope and hook."""
    agent.provider.on_session_switch("another", reset=True, reason="new_session")
    answers = [
        agent.provider.handle_tool_call(tool, {"query": QUESTION, "scope": scope, "limit": 50})
        for tool in ("recall_memory", "recall_conversation")
        for scope in SCOPES
    ]
    answers.append(agent.provider.handle_tool_call("memory_profile", {"limit": 50}))
    answers.append(agent.provider.prefetch(QUESTION))
    return "\n".join(answers)


def tell_secret(agent: Agent, session: str) -> None:
    agent.provider.sync_turn(SECRET, f"Noted: alarm code {MARK}, Ms Saffron.", session_id=session)
    agent.provider.on_memory_write("add", "user", SECRET, {"session_id": session})
    agent.settle()


DIRECT: list[dict[str, Any]] = [
    {"gateway_session_key": "agent:main:whatsapp:dm:15551230001@s.whatsapp.net", "platform": "whatsapp"},
    {"gateway_session_key": "agent:main:whatsapp:dm:15551230002@s.whatsapp.net", "platform": "whatsapp"},
    {"gateway_session_key": "agent:main:telegram:dm:15551230001", "platform": "telegram"},
    {"gateway_session_key": "agent:main:signal:dm:+15551230003", "platform": "signal"},
]
GROUPS: list[dict[str, Any]] = [
    {"gateway_session_key": "agent:main:telegram:group:-100123456", "platform": "telegram", "chat_type": "group"},
    {"gateway_session_key": "agent:main:telegram:group:-100999999", "platform": "telegram", "chat_type": "group"},
    {"gateway_session_key": "agent:main:discord:thread:998877665544:1", "platform": "discord", "chat_type": "thread"},
]


@pytest.mark.parametrize("contacts", [DIRECT, GROUPS], ids=["people", "groups"])
async def test_no_contact_sees_what_another_said(
    new_agent: NewAgent, database: Installation, contacts: list[dict[str, Any]]
) -> None:
    first, *others = contacts
    teller = new_agent().start("s1", **first)
    tell_secret(teller, "s1")
    strangers = [new_agent().start(f"o{number}", **facts) for number, facts in enumerate(others)]
    ordinary = new_agent().start("o9")

    assert MARK in everything_seen(teller)
    for stranger in (*strangers, ordinary):
        assert MARK not in everything_seen(stranger)
    found = "select distinct agent_identity from hermes_memory.conversations"
    assert await rows(database.admin_dsn, found) == [("whatsapp-dm" if contacts is DIRECT else "external-group",)]


async def test_two_users_of_one_profile_do_not_see_each_other(new_agent: NewAgent) -> None:
    teller = new_agent().start("s1", platform="telegram", user_id="777000111")
    tell_secret(teller, "s1")
    other = new_agent().start("s2", platform="telegram", user_id="777000222")
    unknown = new_agent().start("s3")

    assert MARK in everything_seen(teller)
    assert MARK not in everything_seen(other)
    assert MARK not in everything_seen(unknown)


async def test_a_user_is_recognised_in_every_session_and_theme(new_agent: NewAgent) -> None:
    tell_secret(new_agent().start("s1", platform="telegram", user_id="777000111"), "s1")
    elsewhere = new_agent().start("s2", platform="telegram", user_id="777000111", agent_identity="writer")

    assert SECRET in elsewhere.facts(QUESTION, scope="subject")
    assert SECRET not in elsewhere.facts(QUESTION, scope="current")


@pytest.mark.parametrize(
    ("facts", "key"),
    [
        ({"gateway_session_key": "agent:main:whatsapp:dm:4915150607080@s.whatsapp.net"}, "4915150607080"),
        ({"gateway_session_key": "sms:+1 (555) 123-9876"}, "123-9876"),
        ({"gateway_session_key": "email:bob.kestrel@example.org"}, "bob.kestrel"),
        ({"user_id": "777000111", "chat_id": "888000222", "chat_type": "dm", "platform": "telegram"}, "777000111"),
    ],
    ids=["whatsapp", "sms", "email", "user-id"],
)
async def test_a_contacts_key_is_kept_nowhere(
    new_agent: NewAgent, database: Installation, caplog: pytest.LogCaptureFixture, facts: dict[str, Any], key: str
) -> None:
    caplog.set_level(logging.DEBUG)
    agent = new_agent().start("s1", **facts)
    await database.administer(f'alter role "{database.role}" nologin')
    agent.provider.sync_turn("What is on today?", "Nothing is on today.", session_id="s1")
    agent.provider.on_memory_write("add", "user", "Likes tea", {"session_id": "s1"})
    waiting = _files(agent.home)
    await database.administer(f'alter role "{database.role}" login')
    agent.settle()
    agent.facts("tea", scope="subject")
    signature = agent.provider.identity_signature(hermes_home=str(agent.home), **facts)
    places = {
        "database": await dump(database.admin_dsn),
        "spool": waiting + _files(agent.home),
        "log": "\n".join(str(record.__dict__) for record in caplog.records if "hermes_memory" in record.name),
        "signature": json.dumps(signature),
    }

    assert "Likes tea" in places["database"]
    assert "Likes tea" in places["spool"]
    digits = "".join(filter(str.isdigit, key))
    assert [place for place, text in places.items() if key in text or (digits and digits in text)] == []


def _files(home: Path) -> str:
    found = [path for path in home.rglob("*") if path.is_file()]
    assert found
    return "\n".join(path.read_bytes().decode("utf-8", "replace") for path in found)


@pytest.mark.parametrize("name", ["whatsapp-dm", "External-Group", "_bench", "all", "current", "session", "subject"])
async def test_a_reserved_name_cannot_be_claimed_from_outside(
    new_agent: NewAgent, database: Installation, name: str
) -> None:
    tell_secret(new_agent().start("s1", **DIRECT[0]), "s1")
    for number, facts in enumerate(
        ({"gateway_session_key": name}, {"agent_identity": name}, {"agent_identity": "", "agent_workspace": name})
    ):
        claimant = new_agent().start(f"c{number}", **facts)
        claimant.provider.sync_turn("Who am I, after all?", "Nobody special.", session_id=f"c{number}")
        claimant.settle()

        assert MARK not in everything_seen(claimant)
    themes = {theme for (theme,) in await rows(database.admin_dsn, "select agent_identity from hermes_memory.sessions")}
    assert themes <= {"whatsapp-dm", "coder", "hermes", "default"}
    said = "select count(*) from hermes_memory.sessions where agent_identity = 'whatsapp-dm' and session_id like 'c%'"
    assert await rows(database.admin_dsn, said) == [(0,)]


async def test_a_sinks_name_shows_its_own_contact_alone(new_agent: NewAgent) -> None:
    teller, other, ordinary = (new_agent() for _ in range(3))
    tell_secret(teller.start("s1", **DIRECT[0]), "s1")
    other.start("s2", **DIRECT[1])
    ordinary.start("s3")

    assert SECRET in teller.facts(QUESTION, scope="whatsapp-dm")
    assert other.facts(QUESTION, scope="whatsapp-dm") == []
    assert "error" in ordinary.tool("recall_memory", query=QUESTION, scope="whatsapp-dm")


async def test_session_scope_opens_no_session_of_another_theme(new_agent: NewAgent) -> None:
    tell_secret(new_agent().start("20260503_ab12", **DIRECT[0]), "20260503_ab12")
    tell_secret(new_agent().start("20260503_cd34", agent_identity="sales"), "20260503_cd34")
    for session in ("20260503_ab12", "20260503_cd34"):
        marketing = new_agent().start(session, agent_identity="marketing")

        assert marketing.facts(QUESTION, scope="session") == []
        assert marketing.said(QUESTION, scope="session") == []


@pytest.mark.parametrize("policy", list(ReadPolicy))
async def test_another_theme_is_read_by_name_only_as_far_as_the_policy_goes(
    new_agent: NewAgent, database: Installation, policy: ReadPolicy
) -> None:
    tell_secret(new_agent().start("s1", agent_identity="sales"), "s1")
    board = new_agent().start("s2", agent_identity="board")
    board.provider.on_memory_write("add", "memory", "The board changes the alarm code every May", {})
    board.settle()
    await database.set_policy(policy)
    await database.grant(Theme("marketing"), Theme("sales"))
    marketing = new_agent().start("s3", agent_identity="marketing")
    found = {
        scope: [
            hit["theme"]
            for tool in ("recall_memory", "recall_conversation")
            for hit in marketing.tool(tool, query=QUESTION, scope=scope).get("hits", [])
        ]
        for scope in ("sales", "board", "all")
    }

    readable = {ReadPolicy.OPEN: {"sales", "board"}, ReadPolicy.GRANTS: {"sales"}, ReadPolicy.OWN: set()}[policy]
    assert set(found["sales"]) == readable & {"sales"}
    assert set(found["board"]) == readable & {"board"}
    assert set(found["all"]) == readable
    assert marketing.facts(QUESTION) == []


async def test_nobody_forgets_the_memory_of_another_theme(new_agent: NewAgent) -> None:
    owner = new_agent().start("s1", agent_identity="sales")
    tell_secret(owner, "s1")
    reader = new_agent().start("s2", agent_identity="marketing")
    (hit,) = reader.tool("recall_memory", query=QUESTION, scope="sales")["hits"]
    refused = [reader.tool("memory_forget", id=hit["id"]), reader.tool("memory_forget", content=SECRET)]
    reader.provider.on_memory_write("remove", "user", "", {"old_text": "alarm code"})
    reader.provider.on_memory_write("replace", "user", "No alarm", {"previous_content": SECRET})
    reader.settle()

    assert hit["own"] is False
    assert all("error" in answer for answer in refused)
    assert owner.profile() == [SECRET]


@pytest.mark.parametrize(
    "key",
    [
        "sms:+15551234567",
        "imessage:+15551234567",
        "bluebubbles:+15551234567",
        "email:bob@example.org",
        "agent:main:sms:private:+15551234567",
        "agent:main:telegram:supergroup:-100777",
        "+15551234567",
        "bob@example.org",
        "signal:4915150607080",
        "SMS:＋１５５５１２３４５６７",
    ],
)
async def test_a_key_that_names_somebody_is_no_theme(new_agent: NewAgent, database: Installation, key: str) -> None:
    agent = new_agent().start("s1", gateway_session_key=key)
    tell_secret(agent, "s1")
    stranger = new_agent().start("s2")

    themes = await rows(database.admin_dsn, "select distinct agent_identity from hermes_memory.memory_entries")
    assert themes in ([("whatsapp-dm",)], [("external-group",)])
    assert MARK not in everything_seen(stranger)


@pytest.mark.parametrize(
    "name",
    ["team:dm:planning", "signal:5min-breakout", "desk:signal:15m", "telegram:2fa-rollout", "work-bench", "bench"],
)
async def test_a_name_that_only_resembles_a_key_stays_a_theme(
    new_agent: NewAgent, database: Installation, name: str
) -> None:
    agent = new_agent().start("s1", gateway_session_key=name)
    tell_secret(agent, "s1")
    reader = new_agent().start("s2")

    assert await rows(
        database.admin_dsn, "select distinct agent_identity, subject from hermes_memory.memory_entries"
    ) == [(name, b"")]
    assert SECRET in reader.facts(QUESTION, scope=name)


async def test_benchmarks_keep_to_themselves(new_agent: NewAgent, database: Installation) -> None:
    tell_secret(new_agent().start("s1", agent_identity="skill-bench:run-7"), "s1")
    other_run = new_agent().start("s2", agent_identity="skill-bench:run-8")

    assert await rows(database.admin_dsn, "select agent_identity from hermes_memory.memory_entries") == [("_bench",)]
    assert MARK not in everything_seen(other_run)


async def test_spellings_of_one_name_are_one_theme(new_agent: NewAgent, database: Installation) -> None:
    spellings = [
        "Marketing Desk",
        "ｍarketing desk",
        "market\u200bing  desk",
        "MARKETING\0 DESK",
        "\ufeffmarketing desk ",
    ]
    agent = new_agent()
    for number, spelling in enumerate(spellings):
        agent.start(f"s{number}", agent_identity=spelling)
        agent.provider.on_memory_write("add", "memory", f"The alarm code of desk {number} is secret", {})
        agent.settle()
    reader = new_agent().start("s9", agent_identity="marketing desk")

    assert await rows(database.admin_dsn, "select distinct agent_identity from hermes_memory.memory_entries") == [
        ("marketing desk",)
    ]
    assert len(reader.facts("alarm code", limit=20)) == len(spellings)
    other = new_agent().start("s8", agent_identity="sales")
    assert len(other.facts("alarm code", scope="Ｍarketing\u200b DESK", limit=20)) == len(spellings)
    assert agent.dead_letters() == []


async def test_a_name_nothing_is_left_of_is_nobodys(new_agent: NewAgent, database: Installation) -> None:
    agent = new_agent().start("s1", agent_identity="\0\u200b", agent_workspace="")
    agent.provider.on_memory_write("add", "memory", "The port is 5433", {})
    agent.settle()

    assert await rows(database.admin_dsn, "select agent_identity from hermes_memory.memory_entries") == [("default",)]


async def test_each_session_of_an_instance_keeps_its_own_identity(new_agent: NewAgent, database: Installation) -> None:
    agent = new_agent().start("A", agent_identity="alpha").start("B", agent_identity="beta")
    agent.provider.sync_turn("The rocket is called Ariane", "Ariane, noted.", session_id="A")
    agent.provider.on_memory_write("add", "memory", "The pad is in Kourou", {"session_id": "A"})
    agent.provider.sync_turn("The kestrel is a falcon", "A falcon, noted.", session_id="B")
    agent.provider.sync_turn("The vault is number 13", "Number 13, noted.", session_id="")
    agent.settle()

    found = await rows(
        database.admin_dsn,
        "select agent_identity, session_id, content from hermes_memory.memory_rows where role is distinct from "
        "'assistant' order by 1, 2, 3",
    )
    assert found == [
        ("alpha", "A", "The pad is in Kourou"),
        ("alpha", "A", "The rocket is called Ariane"),
        ("beta", "B", "The kestrel is a falcon"),
        ("beta", "B", "The vault is number 13"),
    ]
    agent.provider.on_session_switch("B2", parent_session_id="B", reset=True, reason="new_session")
    assert agent.provider.prefetch("What is the rocket called?") == ""


async def test_one_instance_for_two_people_keeps_them_apart(new_agent: NewAgent) -> None:
    agent = new_agent().start("A", **DIRECT[0])
    tell_secret(agent, "A")
    agent.start("B", **DIRECT[1])

    assert MARK not in everything_seen(agent)


@pytest.mark.parametrize("unknown", ["A", "never told of"])
async def test_a_session_that_is_bound_no_more_speaks_as_nobody_else(
    new_agent: NewAgent, database: Installation, monkeypatch: pytest.MonkeyPatch, unknown: str
) -> None:
    monkeypatch.setattr(sessions, "SESSIONS_KEPT", 1)
    agent = new_agent().start("A", **DIRECT[0]).start("B", **DIRECT[1])
    tell_secret(agent, unknown)
    agent.provider.queue_prefetch(QUESTION, session_id=unknown)
    agent.provider.sync_turn("The kestrel is a falcon", "A falcon, noted.", session_id="B")
    agent.settle()

    assert MARK not in everything_seen(agent)
    assert MARK not in await dump(database.admin_dsn)
    assert agent.start("B", **DIRECT[1]).said("kestrel")
    tell_secret(agent.start("A", **DIRECT[0]), "A")
    assert MARK in everything_seen(agent)


async def test_a_write_of_a_new_session_that_comes_before_the_switch_to_it_is_kept(
    new_agent: NewAgent, database: Installation
) -> None:
    agent = new_agent().start("A", **DIRECT[0])
    agent.provider.on_memory_write("add", "user", SECRET, {"session_id": "A2"})
    agent.provider.on_session_switch("A2", parent_session_id="A", reset=True, reason="new_session")
    agent.settle()

    assert await rows(database.admin_dsn, "select session_id from hermes_memory.memory_entries") == [("A2",)]
    assert SECRET in agent.facts("alarm code", scope="subject")


async def test_aliases_and_allowed_themes_hold_for_the_host(
    new_agent: NewAgent, database: Installation, configure: Callable[..., None]
) -> None:
    configure(identity_aliases='{"Mktg": "marketing"}', allowed_themes="Marketing, sales")
    for number, name in enumerate(["MKTG", "marketing", "Sales", "intruder"]):
        agent = new_agent().start(f"s{number}", agent_identity=name)
        agent.provider.on_memory_write("add", "memory", f"Said by {name} in session {number}", {})
        agent.settle()

    found = await rows(
        database.admin_dsn, "select agent_identity, count(*) from hermes_memory.memory_entries group by 1 order by 1"
    )
    assert found == [("default", 1), ("marketing", 2), ("sales", 1)]
