"""The wall, the library and the provider through a pooler in transaction mode: 24 clients share 3 connections.

The pooler is the tests' own, and PgBouncer as well where the system has it. `make test-pgbouncer` asks for the latter.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from io import BytesIO
from pathlib import Path
from typing import Final, TypeAlias
from urllib.parse import urlsplit

import asyncpg
import pytest
import pytest_asyncio

from hermes_memory import Settings, open_memory
from hermes_memory.domain.model import Caller, ReadPolicy, Subject
from hermes_memory.testing.making import ANA, BEN, MARKETING, MORNING, SALES, add, deliver, record, said
from tests.acceptance.conftest import NewAgent
from tests.support.pgbouncer import pgbouncer, program
from tests.support.pooled_connections import SERVER_CONNECTIONS
from tests.support.postgres import DSN_VARIABLE, TestServer
from tests.support.postgres_store import Installation, migrated
from tests.support.transaction_pooler import pooled_dsn, transaction_pooler
from tests.support.wall_recipe import Context

Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record]"

CLIENTS: Final = 24
ROUNDS: Final = 15
THEMES: Final = (MARKETING, SALES)
SUBJECTS: Final = (None, ANA, BEN)
POOLERS: Final = {"own": lambda dsn, _: transaction_pooler(dsn), "pgbouncer": pgbouncer}
WANTED_POOLER: Final = "POOLER"
PATIENT: Final = 30.0
# What PgBouncer itself sets for a client is the client's to say; jit is what the driver sets while it asks for a type.
LEFT_BEHIND: Final = """
select concat(current_setting('hermes_memory.theme', true), current_setting('hermes_memory.subject', true)),
       array(select s.name from pg_settings s
              where s.source = 'session'
                and s.name <> all (array['application_name', 'client_encoding', 'DateStyle', 'TimeZone',
                                         'standard_conforming_strings', 'jit'])),
       (select count(*) from pg_prepared_statements p where p.name <> '')"""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def template(server: TestServer) -> AsyncIterator[Installation]:
    async with migrated(server) as installation:
        async with installation.under_test() as store:
            for theme in THEMES:
                for subject in SUBJECTS:
                    caller = Caller(theme=theme, subject=subject, session=MORNING)
                    await deliver(store, add("the zebra", caller), record(said("a zebra"), caller=caller))
        yield installation


def poolers() -> list[str]:
    """Return the one that is asked for, else all that can be run: PgBouncer needs a server of the tests' own."""
    if wanted := os.environ.get(WANTED_POOLER):
        return [wanted]
    return ["own", "pgbouncer"] if program() and DSN_VARIABLE not in os.environ else ["own"]


@pytest.fixture(params=poolers())
def pooled(
    request: pytest.FixtureRequest, server: TestServer, database: Installation
) -> Iterator[Callable[[str], str]]:
    """Returns the address of the test's database through the pooler, for a role."""
    roles = [database.role, urlsplit(database.admin_dsn).username or ""]
    with POOLERS[request.param](server.superuser_dsn, roles) as folder:
        yield lambda role: pooled_dsn(folder, role, database.database)


@pytest.fixture
def through(pooled: Callable[[str], str], database: Installation) -> str:
    """The runtime role's address through the pooler."""
    return pooled(database.role)


@asynccontextmanager
async def client(dsn: str) -> AsyncIterator[Connection]:
    """Connect, and keep no prepared statement."""
    connection = await asyncpg.connect(dsn, statement_cache_size=0, timeout=PATIENT)
    try:
        yield connection
    finally:
        await connection.close(timeout=PATIENT)


async def test_what_a_client_leaves_in_its_session_is_met_by_the_next_one(through: str) -> None:
    async with client(through) as one, client(through) as other:
        await one.execute("begin; set local hermes_memory.subject = 'of the transaction'; commit")
        await one.execute("set hermes_memory.theme = 'of the session'")
        await one.execute("prepare left_behind as select 'of the session'")
        met = await other.fetchrow(
            "select current_setting('hermes_memory.theme', true), current_setting('hermes_memory.subject', true)"
        )
        prepared = await other.fetchval("execute left_behind")

    assert met is not None
    assert (met[0], met[1] or None, prepared) == ("of the session", None, "of the session")


async def test_a_statement_that_was_prepared_is_not_there_on_the_next_connection(through: str) -> None:
    keeping = await asyncpg.connect(through, statement_cache_size=100, timeout=PATIENT)
    try:
        prepared = await keeping.prepare("select 1 + 1")
        # As long as a statement is only prepared, the connection is the client's.
        assert await prepared.fetchval() == 2
        async with client(through) as other, other.transaction():
            with pytest.raises(asyncpg.InvalidSQLStatementNameError):
                await prepared.fetchval()
    finally:
        await keeping.close(timeout=PATIENT)


async def test_a_client_that_wants_a_setting_for_its_whole_session_is_refused(through: str) -> None:
    with pytest.raises(asyncpg.ProtocolViolationError, match="search_path"):
        await asyncpg.connect(through, server_settings={"search_path": "hermes_memory"}, timeout=PATIENT)


async def test_who_is_cancelled_or_leaves_in_a_transaction_harms_nobody_else(through: str) -> None:
    async with client(through) as slow, client(through) as other:
        leaving = await asyncpg.connect(through, timeout=PATIENT)
        await leaving.execute("begin; set local hermes_memory.theme = 'left open'")
        leaving.terminate()
        sleeping = asyncio.create_task(slow.execute("select pg_sleep(60)", timeout=0.2))
        theirs = [await other.fetchval("select coalesce(current_setting('hermes_memory.theme', true), '')")]
        with pytest.raises(TimeoutError):
            await sleeping
        for _ in range(5):
            theirs.append(await other.fetchval("select 1"))
            theirs.append(await slow.fetchval("select 2"))
        with pytest.raises(asyncpg.DivisionByZeroError):
            await slow.execute("begin; select 1 / 0")
        theirs.append(await other.fetchval("select 3"))
        await slow.execute("rollback")

    assert theirs == ["", *[1, 2] * 5, 3]


async def test_copies_pass_in_both_directions_and_one_that_fails_leaves_nothing_behind(
    pooled: Callable[[str], str], database: Installation
) -> None:
    out, dsn = BytesIO(), pooled(urlsplit(database.admin_dsn).username or "")
    async with client(dsn) as owner, client(dsn) as other:
        await owner.execute("create table public.copied (n int)")
        await owner.copy_records_to_table("copied", records=[(n,) for n in range(1_000)])
        with pytest.raises(asyncpg.InvalidTextRepresentationError):
            await owner.copy_to_table("copied", source=BytesIO(b"1\nno number\n" * 50_000))
        seen = await other.fetchval("select count(*) from public.copied")
        await other.copy_from_table("copied", output=out)

    assert seen == 1_000
    assert out.getvalue().split() == [str(n).encode() for n in range(1_000)]


async def test_no_client_ever_sees_the_context_of_another(through: str, database: Installation) -> None:
    await database.set_policy(ReadPolicy.OWN)
    contexts = [Context(theme, subject) for theme in THEMES for subject in SUBJECTS]
    backends: set[int] = set()

    async def ask(number: int) -> int:
        seen = 0
        async with client(through) as connection:
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
        return seen

    seen = await asyncio.gather(*(ask(number) for number in range(CLIENTS)))

    assert all(seen)
    assert len(backends) <= SERVER_CONNECTIONS


async def left_behind(through: str) -> list[tuple[object, ...]]:
    """Return what is found in the session of each connection: who asked, settings, and how many prepared statements."""
    async with AsyncExitStack() as held:
        clients = [await held.enter_async_context(client(through)) for _ in range(SERVER_CONNECTIONS)]
        for each in clients:
            await each.execute("begin")
        found = [tuple(await each.fetchrow(LEFT_BEHIND) or ()) for each in clients]
        for each in clients:
            await each.execute("rollback")
    return found


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
    assert await left_behind(through) == [("", [], 0)] * SERVER_CONNECTIONS


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
