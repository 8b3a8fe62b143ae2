"""The wall, the library and the provider through PgBouncer in transaction mode: 24 clients share 3 connections.

It needs the system's package pgbouncer and is therefore no part of the suite: `make test-pgbouncer` runs it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Final

import asyncpg
import pytest
import pytest_asyncio

from hermes_memory import Settings, open_memory
from hermes_memory.domain.model import Caller, ReadPolicy, Subject
from hermes_memory.testing.making import ANA, BEN, MARKETING, MORNING, SALES, add, deliver, record, said
from tests.acceptance.conftest import NewAgent
from tests.support.pooler import SERVER_CONNECTIONS, pooled_dsn, pooler
from tests.support.postgres import TestServer
from tests.support.postgres_store import Installation, migrated
from tests.support.wall_recipe import Context

CLIENTS: Final = 24
ROUNDS: Final = 60
THEMES: Final = (MARKETING, SALES)
SUBJECTS: Final = (None, ANA, BEN)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def template(server: TestServer) -> AsyncIterator[Installation]:
    async with migrated(server) as installation:
        async with installation.under_test() as store:
            for theme in THEMES:
                for subject in SUBJECTS:
                    caller = Caller(theme=theme, subject=subject, session=MORNING)
                    await deliver(store, add("the zebra", caller), record(said("a zebra"), caller=caller))
        yield installation


@pytest.fixture
def through(server: TestServer, database: Installation) -> Iterator[str]:
    """The runtime role's address through the pooler."""
    with pooler(server, [database.role]) as folder:
        yield pooled_dsn(folder, database.role, database.database)


async def test_no_client_ever_sees_the_context_of_another(through: str, database: Installation) -> None:
    await database.set_policy(ReadPolicy.OWN)
    contexts = [Context(theme, subject) for theme in THEMES for subject in SUBJECTS]
    backends: set[int] = set()

    async def client(number: int) -> int:
        connection = await asyncpg.connect(through, statement_cache_size=0)
        seen = 0
        try:
            for turn in range(ROUNDS):
                context = contexts[(number + turn) % len(contexts)]
                forgetful = (number + turn) % 4 == 0
                await connection.execute(f"begin; {'select 1' if forgetful else context.settings}")
                rows = await connection.fetch("select agent_identity, subject from hermes_memory.memory_rows")
                backends.add(await connection.fetchval("select pg_backend_pid()"))
                await connection.execute("rollback" if turn % 4 == 1 else "commit")
                found = {(row[0], row[1]) for row in rows}
                own = {(context.theme, subject) for subject in (b"", context.subject or b"")}
                if context.subject:
                    own |= {(theme, context.subject) for theme in THEMES}
                assert found == (set() if forgetful else own), (number, turn, context)
                seen += len(rows)
        finally:
            await connection.close()
        return seen

    seen = await asyncio.gather(*(client(number) for number in range(CLIENTS)))

    assert all(seen)
    assert len(backends) <= SERVER_CONNECTIONS


async def test_the_library_keeps_its_callers_apart(through: str, home: Path, configure: Callable[..., None]) -> None:
    configure(dsn=through, statement_cache="false", pool_size=CLIENTS)
    people = [Subject(bytes([number]) * 32) for number in range(1, CLIENTS + 1)]
    async with open_memory(Settings()) as memory:

        async def talk(number: int, person: Subject) -> set[str]:
            view = memory.view("support", session=f"s{number}", subject=person)
            entry = await view.remember(f"the zebra of person {number}")
            await view.replace(entry.id, f"the striped zebra of person {number}")
            await view.capture_turn(f"my zebra {number} is well")
            assert await memory.settled(timeout=60)
            hits = (await view.recall("zebra", limit=50)).hits
            return {hit.row.content for hit in hits if hit.row.subject is not None}

        heard = await asyncio.gather(*(talk(number, person) for number, person in enumerate(people)))

    for number, contents in enumerate(heard):
        assert contents == {f"the striped zebra of person {number}", f"my zebra {number} is well"}


async def test_the_provider_works_and_keeps_its_contacts_apart(
    through: str, new_agent: NewAgent, configure: Callable[..., None]
) -> None:
    configure(dsn=through, statement_cache="false")
    agents = [new_agent().start(f"s{n}", platform="telegram", user_id=f"70000{n}") for n in range(4)]
    for number, agent in enumerate(agents):
        agent.provider.sync_turn(f"The alarm code is {number}{number}", "Noted.", session_id=f"s{number}")
        agent.provider.on_memory_write("add", "user", f"Alarm code {number}{number}", {"session_id": f"s{number}"})
    for number, agent in enumerate(agents):
        agent.settle()

        assert agent.facts("alarm code", scope="all") == [f"Alarm code {number}{number}"]
        assert agent.tool("memory_remember", content="The vault is new", sync=True).get("stored") is True
        assert agent.dead_letters() == []
