"""The provider under odd calls, many sessions at once, and a database that is away."""

from __future__ import annotations

import asyncio
import json
import logging
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hermes_memory.adapters.postgres.migrator import migrate
from hermes_memory.hermes.tools import TOOL_NAMES
from tests.acceptance.conftest import NewAgent
from tests.support.agents import PATIENCE, Agent, collect, eventually
from tests.support.gate import Gate
from tests.support.inspection import value
from tests.support.postgres import TestServer
from tests.support.postgres_store import Installation

TEXT = st.text(max_size=30) | st.sampled_from(["", "\0", "\ud83d", "s1", "memory", "user", "add", "replace", "remove"])
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | TEXT
    | st.binary(max_size=20)
    | st.sampled_from([object(), object, Exception("x"), range(3), {1, 2}, 1e308, 10**400])
)
KEYS = (
    st.sampled_from(
        [
            "role",
            "content",
            "type",
            "text",
            "session_id",
            "old_text",
            "new_text",
            "previous_content",
            "query",
            "limit",
            "scope",
            "target",
            "id",
            "name",
            "sync",
            "user",
            "assistant",
        ]
    )
    | TEXT
)
ANYTHING = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4) | st.tuples(inner),
    max_leaves=8,
)
FACTS = st.dictionaries(
    st.sampled_from(
        [
            "platform",
            "agent_context",
            "agent_identity",
            "agent_workspace",
            "user_id",
            "user_id_alt",
            "user_name",
            "chat_id",
            "chat_type",
            "thread_id",
            "gateway_session_key",
            "parent_session_id",
            "session_title",
            "novel",
        ]
    ),
    ANYTHING,
    max_size=6,
)
HOOKS: tuple[str, ...] = (
    *("on_turn_start", "sync_turn", "on_session_end", "on_pre_compress", "on_session_switch", "on_delegation"),
    *("on_memory_write", "prefetch", "queue_prefetch", "system_prompt_block", "identity_signature", "backup_paths"),
    *("get_status_config", "is_available", "unavailable_reason", "get_tool_schemas", "get_config_schema"),
)
POSITIONAL = {
    "on_turn_start": 2,
    "sync_turn": 2,
    "on_session_end": 1,
    "on_pre_compress": 1,
    "on_session_switch": 1,
    "on_delegation": 2,
    "on_memory_write": 4,
    "prefetch": 1,
    "queue_prefetch": 1,
    "get_status_config": 1,
}
NAMED = {
    "sync_turn": ("session_id", "messages", "turn_author"),
    "on_session_switch": ("parent_session_id", "reset", "rewound", "reason"),
    "on_delegation": ("child_session_id",),
    "prefetch": ("session_id",),
    "queue_prefetch": ("session_id",),
}
EXPECTED_TYPES: dict[str, type] = {"prefetch": str, "on_pre_compress": str, "system_prompt_block": str}


SLOW = (HealthCheck.too_slow, HealthCheck.function_scoped_fixture, HealthCheck.data_too_large)


def unexpected(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Return what was met unexpectedly: every exception that a hook or the writer had to swallow."""
    return [record.getMessage() + str(record.exc_info) for record in caplog.records if record.exc_info]


@st.composite
def hook_calls(draw: st.DrawFn) -> tuple[str, list[Any], dict[str, Any]]:
    name = draw(st.sampled_from(HOOKS))
    arguments = [draw(ANYTHING) for _ in range(POSITIONAL.get(name, 0))]
    named = {key: draw(ANYTHING) for key in NAMED.get(name, ()) if draw(st.booleans())}
    return name, arguments, named


def test_no_hook_raises_or_stumbles_whatever_it_is_given(agent: Agent, caplog: pytest.LogCaptureFixture) -> None:
    agent.tool("memory_remember", content="The vault is number 13", sync=True)

    @settings(max_examples=250, suppress_health_check=SLOW)
    @given(hook_calls())
    def call(given_call: tuple[str, list[Any], dict[str, Any]]) -> None:
        name, arguments, named = given_call
        answer = getattr(agent.provider, name)(*arguments, **named)
        if name in EXPECTED_TYPES:
            assert isinstance(answer, EXPECTED_TYPES[name])

    call()
    agent.start("s9").settle()

    assert "The vault is number 13" in agent.profile()
    assert unexpected(caplog) == []
    assert agent.dead_letters() == []


def test_a_start_with_odd_facts_neither_raises_nor_stumbles(
    served: Path, new_agent: NewAgent, caplog: pytest.LogCaptureFixture
) -> None:
    agent = new_agent().start()

    @settings(max_examples=120, suppress_health_check=SLOW)
    @given(ANYTHING, FACTS)
    def call(session: Any, facts: dict[str, Any]) -> None:
        agent.provider.initialize(session, hermes_home=str(agent.home), **facts)
        agent.provider.identity_signature(hermes_home=str(agent.home), **facts)
        agent.provider.sync_turn("Where is the vault?", "The vault is number 13.", session_id=session)

    call()
    agent.start("s9").settle()

    assert unexpected(caplog) == []
    assert agent.dead_letters() == []


def test_no_tool_raises_whatever_it_is_given(agent: Agent, caplog: pytest.LogCaptureFixture) -> None:
    agent.tool("memory_remember", content="The vault is number 13", sync=True)
    names = st.sampled_from(sorted(TOOL_NAMES)) | ANYTHING

    @settings(max_examples=250, suppress_health_check=SLOW)
    @given(names, st.dictionaries(KEYS, ANYTHING, max_size=4) | ANYTHING)
    def call(name: Any, arguments: Any) -> None:
        answer = agent.provider.handle_tool_call(name, arguments)
        assert isinstance(answer, str)
        assert isinstance(json.loads(answer), dict)

    call()
    agent.settle()

    assert "The vault is number 13" in agent.profile()
    assert unexpected(caplog) == []
    assert agent.dead_letters() == []


def test_no_hook_raises_before_the_start(new_agent: NewAgent, home: Path, caplog: pytest.LogCaptureFixture) -> None:
    provider = new_agent().provider

    @settings(max_examples=60, suppress_health_check=SLOW)
    @given(hook_calls())
    def call(given_call: tuple[str, list[Any], dict[str, Any]]) -> None:
        name, arguments, named = given_call
        getattr(provider, name)(*arguments, **named)

    call()

    assert "error" in json.loads(provider.handle_tool_call("recall_memory", {"query": "x"}))
    assert unexpected(caplog) == []


async def test_fifty_sessions_share_a_pool_and_three_threads(
    served: Path, new_agent: NewAgent, database: Installation, configure: Callable[..., None]
) -> None:
    configure(embedder="local")
    before = set(threading.enumerate())
    agents = [new_agent() for _ in range(50)]
    ready = threading.Barrier(50)
    problems: list[object] = []

    def begin(number: int) -> None:
        ready.wait(PATIENCE)
        agents[number].start(f"s{number}", agent_identity=f"agent-{number % 7}")
        agents[number].provider.sync_turn(
            f"Who has key {number}?", f"Key {number} is with Ana.", session_id=f"s{number}"
        )
        answer = agents[number].tool("recall_memory", query="Who has the key?", scope="all")
        if "error" in answer:
            problems.append(answer)

    starters = [threading.Thread(target=begin, args=(number,)) for number in range(50)]
    for starter in starters:
        starter.start()
    most = 0
    while any(starter.is_alive() for starter in starters):
        most = max(most, await _connections(database))
        await asyncio.sleep(0.05)
    agents[0].settle()
    most = max(most, await _connections(database))
    added = set(threading.enumerate()) - before - set(starters)
    for agent in agents:
        agent.provider.shutdown()

    assert problems == []
    assert 0 < most <= 4
    assert len(added) <= 3, added
    eventually(lambda: not (set(threading.enumerate()) - before - set(starters)))
    await _disconnected(database)
    assert await value(database.admin_dsn, "select count(*) from hermes_memory.conversations") == 100


async def _disconnected(database: Installation) -> None:
    """Wait until the server has noticed that the last connection is closed."""
    with anyio.fail_after(PATIENCE):
        while await _connections(database):
            await asyncio.sleep(0.05)


async def _connections(database: Installation) -> int:
    statement = "select count(*) from pg_stat_activity where datname = $1 and usename = $2"
    return int(await value(database.admin_dsn, statement, database.database, database.role))


@pytest.mark.parametrize("away", [False, True], ids=["served", "database away"])
async def test_instances_that_are_dropped_leave_nothing_behind(
    served: Path, database: Installation, away: bool, configure: Callable[..., None]
) -> None:
    if away:
        configure(dsn="postgresql://nobody@127.0.0.1:1/nowhere")
    before = set(threading.enumerate())
    agents = [Agent(served).start(f"s{number}") for number in range(8)]
    agents[0].write_notebook("MEMORY.md", "The vault is number 13")
    while agents:
        agents[-1].provider.on_turn_start(1, "hello")
        agents[-1].provider.queue_prefetch("Where is the vault?", session_id="s0")
        if not away:
            eventually(agents[-1].profile)
        agents.pop()
    collect()

    eventually(lambda: not (set(threading.enumerate()) - before))
    await _disconnected(database)
    collect()
    assert _open_files(served) == []


def _open_files(home: Path) -> list[str]:
    targets = []
    for link in Path("/proc/self/fd").iterdir():
        try:
            targets.append(str(link.readlink()))
        except FileNotFoundError:
            continue
    return [target for target in targets if target.startswith(str(home))]


def test_a_shutdown_lets_go_of_the_homes_files(agent: Agent) -> None:
    agent.tool("memory_remember", content="The vault is number 13", sync=True)
    agent.provider.shutdown()

    eventually(lambda: not _open_files(agent.home))


@pytest.fixture
def gate(server: TestServer, database: Installation, home: Path, configure: Callable[..., None]) -> Iterator[Gate]:
    """The only way to the database, closed at first."""
    parts = urlsplit(server.superuser_dsn)
    place = parse_qs(parts.query)
    port = parts.port or int(place.get("port", ["5432"])[0])
    directory = parts.hostname or place["host"][0]
    destination = Path(directory) / f".s.PGSQL.{port}" if directory.startswith("/") else (directory, port)
    with Gate(destination) as opened:
        configure(
            dsn=f"postgresql://{database.role}@127.0.0.1:{opened.port}/{database.database}",
            connect_timeout=3,
            tool_timeout=5,
            prefetch_timeout=0.8,
        )
        yield opened


@pytest.mark.parametrize("silent", [False, True], ids=["refused", "silent"])
async def test_without_its_database_every_call_answers_in_time_and_soon_fails_fast(
    gate: Gate, new_agent: NewAgent, silent: bool
) -> None:
    if silent:
        gate.hang()
    agent = new_agent()
    seconds: dict[str, list[float]] = {}

    def timed(name: str, call: Callable[[], Any]) -> Any:
        started = time.perf_counter()
        answer = call()
        seconds.setdefault(name, []).append(time.perf_counter() - started)
        return answer

    timed("initialize", agent.start)
    fact = {"content": "The Periwinkle contract is in safe 12"}
    blocks = [timed("prefetch", lambda: agent.provider.prefetch("Where is the Periwinkle contract?")) for _ in range(4)]
    accepted = timed("accepted", lambda: agent.tool("memory_remember", **fact))
    calls: list[tuple[str, dict[str, Any]]] = [
        ("recall_memory", {"query": "Periwinkle contract"}),
        ("recall_conversation", {"query": "Periwinkle contract"}),
        ("memory_profile", {}),
        ("memory_remember", {"content": "The vault is number 13", "sync": True}),
        ("memory_forget", {"content": "no such entry"}),
    ]
    answers = [
        timed(f"{name} {turn}", partial(agent.tool, name, **arguments))
        for turn in ("first", "later")
        for name, arguments in calls
    ]
    agent.provider.sync_turn("Who signed the Periwinkle contract?", "Ms Saffron signed it.", session_id="s1")
    gate.open()
    found = eventually(lambda: agent.facts_if_any("Periwinkle contract"))
    agent.settle()

    assert blocks == [""] * 4
    assert "error" not in accepted
    assert all(answer["error"] and answer["retry"] is True for answer in answers), answers
    assert found == [fact["content"]]
    assert "Ms Saffron signed it." in agent.said("Who signed the Periwinkle contract?")
    assert "The vault is number 13" in agent.profile()
    # Deadlines: 0.8 s for a block, 5 s for a tool, each with room for a busy machine.
    assert max(seconds["prefetch"]) < 10.0
    assert all(max(taken) < 15.0 for taken in seconds.values()), seconds
    # Afterwards few wait for anything, and none of the others comes near its deadline.
    later = sorted(max(taken) for name, taken in seconds.items() if name.endswith("later"))
    assert later[len(later) // 2] < 3.0, seconds


@pytest.mark.parametrize("silent", [False, True], ids=["refused", "silent"])
async def test_a_shutdown_without_the_database_is_quick_and_loses_nothing(
    gate: Gate, new_agent: NewAgent, database: Installation, silent: bool
) -> None:
    if silent:
        gate.hang()
    agent = new_agent().start()
    for number in range(20):
        agent.provider.sync_turn(f"Who has key {number}?", f"Key {number} is with Ana.", session_id="s1")
    started = time.perf_counter()
    agent.provider.shutdown()
    seconds = time.perf_counter() - started
    gate.open()
    new_agent().start("s2").settle()

    # 2 s by setting, with room for a busy machine.
    assert seconds < 12.0
    assert await value(database.admin_dsn, "select count(*) from hermes_memory.conversations") == 40


async def test_a_missing_schema_is_told_and_nothing_is_lost(
    server: TestServer, home: Path, new_agent: NewAgent, configure: Callable[..., None], template: Installation
) -> None:
    name = server.unique_name("bare")
    admin = await server.create_database(name)
    try:
        configure(dsn=server.dsn(name, user=template.role))
        agent = new_agent().start()
        accepted = agent.tool("memory_remember", content="The vault is number 13")
        refused = agent.tool("recall_memory", query="vault")
        await migrate(admin, runtime_role=template.role, partitions=4)
        found = eventually(lambda: agent.facts_if_any("vault"))
        agent.provider.shutdown()
    finally:
        await server.drop_database(name)

    assert "error" not in accepted
    assert "hermes-memory migrate" in refused["error"]
    assert found == ["The vault is number 13"]


def test_nothing_secret_is_logged_when_the_database_refuses(
    home: Path, new_agent: NewAgent, configure: Callable[..., None], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    configure(dsn="postgresql://someone:s3cr3t-Pw@127.0.0.1:1/nowhere")
    agent = new_agent().start()
    agent.provider.sync_turn("The vault is number 13", "Number 13, noted.", session_id="s1")
    answer = agent.provider.handle_tool_call("recall_memory", {"query": "vault"})
    agent.provider.shutdown()
    logged = "\n".join(str(record.__dict__) for record in caplog.records if "hermes_memory" in record.name)

    assert logged
    assert "s3cr3t-Pw" not in logged + answer
    assert "number 13" not in logged + answer
