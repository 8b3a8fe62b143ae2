"""What is promised of the whole: waits for nobody, loses nothing, shows nothing stale, whichever way it is asked."""

from __future__ import annotations

import asyncio
import json
import os
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final
from uuid import UUID

import pytest
from aiohttp import web

from hermes_memory import Role, Settings, open_memory
from hermes_memory.adapters.embedding.local import LOCAL_DIMENSION, LOCAL_MODEL
from hermes_memory.domain.budget import estimate_tokens
from hermes_memory.domain.lexemes import MAX_QUERY_CHARACTERS, MAX_QUERY_LEXEMES
from hermes_memory.domain.model import TraceId
from hermes_memory.hermes.tools import TOOL_NAMES
from tests.acceptance.conftest import NewAgent
from tests.support.agents import Agent, eventually
from tests.support.command import Ran, command
from tests.support.embedding_server import Asked, EmbeddingServer, EmbeddingServerThread, well
from tests.support.gate import Gate
from tests.support.inspection import dump, rows, value
from tests.support.loaded_command import loaded_command
from tests.support.postgres import TestServer
from tests.support.postgres_store import Installation

CONTRACT: Final = "Where is the Periwinkle contract?"
FACT: Final = "The Periwinkle contract lies in safe 12"
STARTS_WITHIN: Final = 20.0
"""Seconds; a guard: what a start costs itself is a twentieth of it, what it must not wait for takes many times more."""


class HeldEmbedder:
    """An embedding endpoint that takes requests and keeps them waiting until it is released."""

    def __init__(self, server: EmbeddingServer) -> None:
        self.server = server
        self._released = threading.Event()
        server.fault = self._hold

    def release(self) -> None:
        """Answer what waits and what comes."""
        self._released.set()

    async def _hold(self, server: EmbeddingServer, _: web.Request, asked: Asked) -> web.StreamResponse:
        while not self._released.is_set():
            await asyncio.sleep(0.02)
        return well(server, asked)


@pytest.fixture
def held_embedder(configure: Callable[..., None]) -> Iterator[HeldEmbedder]:
    with EmbeddingServerThread(EmbeddingServer(dimension=LOCAL_DIMENSION)) as server:
        configure(embedder="openai", embed_url=server.url, embed_model=LOCAL_MODEL, embed_dim=LOCAL_DIMENSION)
        configure(embed_read_timeout=2)
        held = HeldEmbedder(server)
        yield held
        held.release()


def seconds_of(call: Callable[[], object]) -> float:
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


async def count(database: Installation, table: str) -> int:
    return int(await value(database.admin_dsn, f"select count(*) from hermes_memory.{table}"))


async def counted(database: Installation, table: str, wanted: int) -> None:
    """Wait until a table holds so many rows."""
    deadline = time.monotonic() + 60
    while (found := await count(database, table)) != wanted:
        assert time.monotonic() < deadline, f"{found} rows in {table}"
        await asyncio.sleep(0.05)


def unexpected(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Return every exception that somebody had to swallow."""
    return [record.getMessage() + str(record.exc_info) for record in caplog.records if record.exc_info]


async def test_no_start_waits_for_a_backlog_or_its_embedder_and_every_vector_arrives(
    served: Path, held_embedder: HeldEmbedder, new_agent: NewAgent, database: Installation
) -> None:
    agent = new_agent().start("s1")
    for number in range(40):
        agent.provider.sync_turn(f"Who has key {number}?", f"Key {number} is with Ms Saffron.", session_id="s1")
    await counted(database, "conversations", 80)
    waiting = await count(database, "embedding_jobs")
    seconds = [seconds_of(lambda: agent.start("s2")) for _ in range(4)]
    vectors = await count(database, "turn_vectors_g1")
    found = agent.said("Who has key 17?")
    held_embedder.release()
    agent.settle()

    assert (waiting, vectors) == (80, 0)
    assert max(seconds) < STARTS_WITHIN
    assert "Who has key 17?" in found
    assert await count(database, "turn_vectors_g1") == 80
    assert await count(database, "embedding_jobs") == 0


async def test_no_start_waits_for_the_import_of_a_notebook_and_all_of_it_arrives(
    served: Path, held_embedder: HeldEmbedder, new_agent: NewAgent, database: Installation
) -> None:
    agent = new_agent()
    agent.write_notebook("MEMORY.md", *(f"Locker {number} belongs to team {number}" for number in range(200)))
    await database.administer(f'alter role "{database.role}" nologin')
    try:
        seconds = [seconds_of(agent.start) for _ in range(3)]
    finally:
        await database.administer(f'alter role "{database.role}" login')
    await counted(database, "memory_entries", 200)
    found = agent.facts("Which team has locker 199?")
    vectors = await count(database, "entry_vectors_g1")
    held_embedder.release()
    agent.settle()

    assert max(seconds) < STARTS_WITHIN
    assert "Locker 199 belongs to team 199" in found
    assert vectors == 0
    assert await count(database, "entry_vectors_g1") == 200


async def test_with_database_and_embedder_away_calls_answer_and_all_works_once_they_are_back(
    served: Path,
    held_embedder: HeldEmbedder,
    new_agent: NewAgent,
    database: Installation,
    configure: Callable[..., None],
) -> None:
    configure(tool_timeout=5, prefetch_timeout=0.8)
    agent = new_agent()
    await database.administer(f'alter role "{database.role}" nologin')
    try:
        started = seconds_of(agent.start)
        asked = time.perf_counter()
        block = agent.provider.prefetch(CONTRACT)
        refused = [agent.tool(name, query=CONTRACT) for name in ("recall_memory", "recall_conversation")]
        accepted = agent.tool("memory_remember", content=FACT)
        answered = time.perf_counter() - asked
    finally:
        await database.administer(f'alter role "{database.role}" login')
    by_text = eventually(lambda: agent.facts_if_any(CONTRACT))
    degraded = eventually(lambda: agent.tool("recall_memory", query=CONTRACT).get("degraded"))
    held_embedder.release()
    agent.settle()
    whole = eventually(lambda: agent.tool("recall_memory", query=CONTRACT).get("degraded") == [])

    assert started < STARTS_WITHIN
    assert block == ""
    assert all(answer["error"] and answer["retry"] is True for answer in refused)
    assert "error" not in accepted
    # Two tools with 5 s each and a block with 0.8 s: a guard, no measure.
    assert answered < 30
    assert by_text == [FACT]
    assert degraded
    assert whole
    assert await count(database, "entry_vectors_g1") == 1


@pytest.mark.parametrize(
    "odd",
    [123, 4.5, True, None, ["two", "words"], {"text": "a part"}, b"caf\xe9", object],
    ids=["integer", "float", "truth", "none", "list", "mapping", "bytes", "class"],
)
def test_a_notebook_write_of_any_type_is_taken_as_text_or_left_and_stops_nothing(
    agent: Agent, caplog: pytest.LogCaptureFixture, odd: Any
) -> None:
    for target in ("memory", "user", odd):
        agent.provider.on_memory_write("add", target, odd, {"session_id": "s1"})
        agent.provider.on_memory_write("replace", target, "The vault is number 14", {"old_text": odd})
        agent.provider.on_memory_write("remove", target, "", {"old_text": odd, "previous_content": odd})
    agent.provider.on_memory_write(odd, "memory", "The vault is number 15", odd)
    agent.provider.on_memory_write("add", "memory", "The vault is number 13", {})
    agent.settle()

    assert "The vault is number 13" in agent.profile()
    assert all(agent.profile())
    assert unexpected(caplog) == []
    assert agent.dead_letters() == []


@pytest.mark.parametrize("name", sorted(TOOL_NAMES))
def test_arguments_no_tool_can_use_are_answered_with_what_would_be_right(
    agent: Agent, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    agent.tool("memory_remember", content="The vault is number 13", sync=True)
    unusable: list[Any] = [None, [], "query", 5, b"{}", {"limit": float("inf")}, {"limit": float("nan")}]
    limits = [float("inf"), float("-inf"), float("nan"), 1e308, 10**400, "inf", True, -1, 0, 51, 2.5, [5]]
    unusable += [{"query": "vault", "limit": limit} for limit in limits]
    answers = [json.loads(agent.provider.handle_tool_call(name, given)) for given in unusable]

    assert all(answer["error"] for answer in answers), answers
    assert "The vault is number 13" in agent.profile()
    assert unexpected(caplog) == []


async def test_a_letter_that_many_entries_contain_selects_none_of_them(agent: Agent, database: Installation) -> None:
    facts = ["The port is 5433", "The host is db-fra-03", "The vault holds gold"]
    for fact in facts:
        agent.provider.on_memory_write("add", "memory", fact, {})
    agent.provider.on_memory_write("remove", "memory", "", {"old_text": "o"})
    agent.provider.on_memory_write("replace", "memory", "Everything is new", {"old_text": "o"})
    agent.settle()
    refused = agent.tool("memory_forget", content="o")

    assert sorted(agent.profile()) == sorted(facts)
    assert "error" in refused
    assert {change for (change,) in await rows(database.admin_dsn, "select change from hermes_memory.history")} == {
        "added"
    }
    assert agent.dead_letters() == []


def queued(agent: Agent, query: str) -> None:
    """Make a block ahead of its question and wait until it is made."""
    ambient = agent.provider._share.ambient
    assert ambient is not None
    agent.provider.queue_prefetch(query, session_id="s1")
    eventually(lambda: ambient._queued)


def forget_by_tool(agent: Agent, _: NewAgent) -> None:
    assert agent.tool("memory_forget", content=FACT)["forgotten"]


def forget_by_another_agent(_: Agent, new_agent: NewAgent) -> None:
    assert new_agent().start("s2").tool("memory_forget", content=FACT)["forgotten"]


def forget_by_another_agents_notebook(_: Agent, new_agent: NewAgent) -> None:
    new_agent().start("s2").provider.on_memory_write("remove", "memory", "", {"old_text": "Periwinkle"})


@pytest.mark.parametrize("forget", [forget_by_tool, forget_by_another_agent, forget_by_another_agents_notebook])
def test_what_was_forgotten_is_not_in_a_block_made_before(
    agent: Agent, new_agent: NewAgent, forget: Callable[[Agent, NewAgent], None]
) -> None:
    agent.tool("memory_remember", content=FACT, sync=True)
    queued(agent, CONTRACT)
    forget(agent, new_agent)

    assert agent.provider.prefetch(CONTRACT) == ""


def test_an_exchange_repeated_over_many_sessions_stands_once_in_a_block(agent: Agent) -> None:
    for number in range(20):
        session = f"old-{number}"
        agent.provider.sync_turn(CONTRACT, "The Periwinkle contract lies in safe 12.", session_id=session)
    agent.provider.sync_turn("Who signed it?", "Ms Saffron signed the Periwinkle contract.", session_id="old-1")
    agent.settle()
    block = agent.provider.prefetch(CONTRACT)

    assert block.count("lies in safe 12") == 1
    assert "Ms Saffron signed" in block


async def test_of_a_question_of_a_megabyte_only_so_much_is_searched_for(
    served: Path, held_embedder: HeldEmbedder, new_agent: NewAgent
) -> None:
    held_embedder.release()
    agent = new_agent().start()
    agent.tool("memory_remember", content=FACT, sync=True)
    agent.settle()
    different = " ".join(f"word{number}" for number in range(120_000))
    answers = [agent.tool(tool, query=f"{CONTRACT} {different}") for tool in ("recall_memory", "recall_conversation")]
    block = agent.provider.prefetch(f"{different} {CONTRACT}")
    memory = agent.runtime.loop.memory
    assert memory is not None
    caller = memory.view("coder").caller
    traces = [memory.services.recall.trace(TraceId(UUID(answer["trace_id"])), caller) for answer in answers]

    assert FACT in [hit["content"] for hit in answers[0]["hits"]]
    assert "safe 12" in block
    assert all(trace is not None and 0 < len(trace.statistics.lexemes) <= MAX_QUERY_LEXEMES for trace in traces)
    # An embedder may put a prefix before a text.
    assert max(map(len, held_embedder.server.texts)) <= MAX_QUERY_CHARACTERS + 100


async def test_as_many_memories_as_may_be_shown_still_keep_within_the_tokens(
    served: Path, new_agent: NewAgent, configure: Callable[..., None]
) -> None:
    configure(prefetch_limit=50)
    agent = new_agent().start()
    for number in range(60):
        detail = " ".join(f"detail{number}x{word}" for word in range(40))
        agent.provider.on_memory_write("add", "memory", f"Periwinkle clause {number}: {detail}", {})
    agent.settle()
    block = agent.provider.prefetch("Periwinkle clauses")

    assert 0 < estimate_tokens(block) <= agent.runtime.settings.prefetch_tokens


def test_each_session_of_an_instance_is_answered_with_its_own_identity(new_agent: NewAgent, served: Path) -> None:
    agent = new_agent().start("A", agent_identity="alpha")
    agent.tool("memory_remember", content=FACT, sync=True)
    agent.start("B", agent_identity="beta")

    assert "safe 12" in agent.provider.prefetch(CONTRACT, session_id="A")
    assert agent.provider.prefetch(CONTRACT, session_id="B") == ""
    assert agent.provider.prefetch(CONTRACT) == ""
    assert agent.facts(CONTRACT) == []


async def test_an_element_that_is_no_message_costs_itself_alone_by_every_hook(
    agent: Agent, database: Installation
) -> None:
    junk: list[Any] = [None, 42, "text", b"\xff", ["x"], object(), {}, {"role": None}, {"role": ["user"], "content": 1}]
    first = [
        {"role": "user", "content": "We meet in room Ganymede"},
        {"role": "assistant", "content": "Ganymede it is."},
    ]
    second = [{"role": "user", "content": "Lunch is in Callisto"}, {"role": "assistant", "content": "Callisto it is."}]
    agent.provider.sync_turn(
        "We meet in room Ganymede", "Ganymede it is.", session_id="s1", messages=[*junk, *first, *junk]
    )
    agent.provider.on_pre_compress([*junk, *first, *junk, *second, *junk])
    agent.provider.on_session_end([*junk, *first, *junk, *second, *junk, {"role": "user", "content": "Bye in Europa"}])
    agent.settle()

    said = await rows(database.admin_dsn, "select content from hermes_memory.conversations order by position")
    assert [content for (content,) in said] == [
        *("We meet in room Ganymede", "Ganymede it is."),
        *("Lunch is in Callisto", "Callisto it is."),
        "Bye in Europa",
    ]


@pytest.mark.usefixtures("served")
async def test_a_turn_is_kept_whatever_stands_in_its_metadata(database: Installation) -> None:
    itself: dict[str, Any] = {
        "at": datetime(2026, 5, 3, tzinfo=UTC),
        "nul\0": "a\0b",
        "half": "\ud83d",
        "object": object,
    }
    itself["itself"] = itself
    async with open_memory(Settings(), wait=30) as memory:
        desk = memory.view("marketing", session="s1")
        await desk.capture_turn("The cook is called Basil", role=Role.USER, speaker="Ana\0\ud83d", metadata=itself)
        assert await memory.settled(timeout=60)

    ((content, kept),) = await rows(
        database.admin_dsn, "select content, metadata::text from hermes_memory.conversations"
    )
    assert content == "The cook is called Basil"
    assert json.loads(kept)["nul"] == "ab"
    assert json.loads(kept)["at"] == "2026-05-03T00:00:00+00:00"


async def test_four_commands_that_migrate_at_once_all_succeed(server: TestServer, home: Path) -> None:
    name, role = server.unique_name("cli"), server.unique_name("app")
    admin = await server.create_database(name)
    arguments = ("migrate", "--admin-dsn", admin, "--runtime-role", role, "--partitions", "2", "--json")
    try:
        ran: list[Ran] = await asyncio.gather(*(asyncio.to_thread(command, *arguments) for _ in range(4)))
        recorded = await rows(admin, "select name from hermes_memory.schema_migrations order by name")
    finally:
        await server.drop_database(name)

    assert [each.code for each in ran] == [0] * 4, [each.err for each in ran]
    applied = sorted(migration for each in ran for migration in each.document["applied"])
    assert applied == [migration for (migration,) in recorded]
    assert applied


async def test_a_name_that_an_operator_spelt_oddly_is_reached_by_agents_commands_and_scopes(
    served: Path, new_agent: NewAgent, configure: Callable[..., None], database: Installation
) -> None:
    configure(identity_aliases='{"MKTG": " New\u200b  Ｔheme "}', allowed_themes="NEW Theme, sales")
    agent = new_agent().start("s1", agent_identity="mktg")
    agent.tool("memory_remember", content=FACT, sync=True)
    sales = new_agent().start("s2", agent_identity="sales")
    searched = loaded_command("search", "Periwinkle", "--theme", "new THEME", "--json")

    assert await rows(database.admin_dsn, "select agent_identity from hermes_memory.memory_entries") == [("new theme",)]
    assert sales.facts(CONTRACT, scope="NEW theme") == [FACT]
    assert [hit["content"] for hit in searched.document["hits"]] == [FACT]


async def test_an_embedder_that_is_not_the_stored_one_costs_no_row_and_is_told(
    served: Path, new_agent: NewAgent, database: Installation, configure: Callable[..., None]
) -> None:
    with EmbeddingServerThread(EmbeddingServer(dimension=16)) as other:
        configure(embedder="openai", embed_url=other.url, embed_model="another", embed_dim=16)
        agent = new_agent().start()
        agent.provider.sync_turn("Who signed the Periwinkle contract?", "Ms Saffron signed it.", session_id="s1")
        agent.tool("memory_remember", content=FACT, sync=True)
        answer = agent.tool("recall_memory", query=CONTRACT)
        await counted(database, "conversations", 2)
        doctor = loaded_command("doctor", "--json")

    findings = {finding["check"]: finding for finding in doctor.document["findings"]}
    assert [hit["content"] for hit in answer["hits"]] == [FACT]
    assert answer["degraded"]
    assert agent.dead_letters() == []
    assert await count(database, "embedding_jobs") == 3
    assert doctor.code == 1
    assert findings["vectors"]["level"] == "error"
    assert LOCAL_MODEL in findings["vectors"]["message"]
    assert (findings["embedder"]["level"], findings["database"]["level"]) == ("ok", "ok")


async def test_a_key_is_read_by_the_name_of_its_variable_and_sent_to_the_endpoint_alone(
    served: Path,
    held_embedder: HeldEmbedder,
    new_agent: NewAgent,
    configure: Callable[..., None],
    environment: pytest.MonkeyPatch,
    database: Installation,
) -> None:
    held_embedder.release()
    environment.setenv("KESTREL_KEY", "k3y-0f-the-kestrel")
    configure(embed_api_key_env="KESTREL_KEY")
    agent = new_agent().start()
    agent.tool("memory_remember", content=FACT, sync=True)
    agent.settle()
    agent.facts(CONTRACT)

    asked = held_embedder.server.requests
    assert {request.authorization for request in asked} == {"Bearer k3y-0f-the-kestrel"}
    assert not any("k3y" in json.dumps(request.body) for request in asked)
    assert "k3y-0f" not in await dump(database.admin_dsn)


def test_the_doctor_names_a_dead_embedder_another_package_of_our_name_and_a_hermes_of_another_python(
    served: Path, configure: Callable[..., None], environment: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    clash, launchers = tmp_path / "site" / "hermes_memory-0.3.0.dist-info", tmp_path / "bin"
    clash.mkdir(parents=True)
    (clash / "METADATA").write_text("Metadata-Version: 2.1\nName: hermes-memory\nVersion: 0.3.0\n")
    launchers.mkdir()
    (launchers / "hermes").write_text("#!/nowhere/bin/python3\n")
    (launchers / "hermes").chmod(0o755)
    environment.setenv("PATH", str(launchers), prepend=os.pathsep)
    environment.setenv("PYTHONPATH", str(clash.parent), prepend=os.pathsep)
    with Gate() as closed:
        url = f"http://127.0.0.1:{closed.port}"
        configure(embedder="openai", embed_url=url, embed_model=LOCAL_MODEL, embed_dim=LOCAL_DIMENSION)
        doctor = command("doctor", "--json")

    findings = {finding["check"]: finding for finding in doctor.document["findings"]}
    assert doctor.code == 2
    assert {check for check, finding in findings.items() if finding["level"] == "error"} == {
        "package",
        "host",
        "embedder",
    }
    assert "uninstall it" in findings["package"]["message"]
    assert "/nowhere/bin/python3" in findings["host"]["message"]


def test_the_signature_of_an_identity_tells_people_and_themes_apart_and_stays_the_same(
    served: Path, new_agent: NewAgent
) -> None:
    def signature(**facts: object) -> dict[str, Any]:
        told: dict[str, Any] = new_agent().provider.identity_signature(hermes_home=str(served), **facts)
        return told

    ana = {"platform": "telegram", "user_id": "777000111", "agent_identity": "coder"}
    signatures = [
        signature(**ana),
        signature(**ana | {"user_id": "777000222"}),
        signature(**ana | {"agent_identity": "writer"}),
        signature(gateway_session_key="agent:main:telegram:dm:777000111", platform="telegram"),
    ]

    assert signature(**ana) == signatures[0]
    assert len({json.dumps(one, sort_keys=True) for one in signatures}) == len(signatures)
    assert "777000" not in json.dumps(signatures)
