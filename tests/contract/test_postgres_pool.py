"""The pool when the server is away, hangs, or the caller gives up: quick answers, and no connection lost."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import LiteralString
from urllib.parse import urlsplit, urlunsplit

import anyio
import asyncpg
import pytest
import pytest_asyncio

from hermes_memory.adapters.postgres.pool import Pool
from hermes_memory.domain.errors import (
    ConfigurationError,
    DeadlineExceeded,
    DeliveryRejected,
    SchemaNotApplied,
    StoreUnavailable,
)
from hermes_memory.domain.model import Caller, Theme
from hermes_memory.ports.metrics import Metric
from hermes_memory.testing.making import ANA, DESK
from tests.support.postgres import TestServer

HANG_GUARD = 60.0


@pytest_asyncio.fixture
async def pool(server: TestServer) -> AsyncIterator[Pool]:
    made = Pool(server.superuser_dsn, max_size=2, connect_timeout=30.0)
    yield made
    await made.close()


@asynccontextmanager
async def _black_hole() -> AsyncIterator[str]:
    """Give the address of something that accepts connections and never says a word."""

    async def swallow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    listener = await asyncio.start_server(swallow, "127.0.0.1", 0)
    try:
        yield f"postgresql://nobody@127.0.0.1:{listener.sockets[0].getsockname()[1]}/nowhere?sslmode=disable"
    finally:
        listener.close()


async def _ask(
    pool: Pool,
    statement: LiteralString = "select 1",
    *arguments: object,
    timeout: float = 30.0,
    read_only: bool = True,
) -> object:
    async with pool.transaction(DESK, timeout=timeout, read_only=read_only) as transaction:
        return await transaction.fetch_value(statement, *arguments)


async def _sessions(pool: Pool) -> int:
    """Count the pool's own backends that are inside a transaction, but for the one that asks."""
    counted = await _ask(
        pool,
        "select count(*) from pg_stat_activity where application_name = 'hermes_memory' and pid <> pg_backend_pid() "
        "and state like '%transaction%'",
    )
    assert isinstance(counted, int)
    return counted


async def test_a_refused_connection_is_told_at_once_and_every_time() -> None:
    pool = Pool("postgresql://nobody@127.0.0.1:1/nowhere")

    with anyio.fail_after(HANG_GUARD):
        for _ in range(20):
            with pytest.raises(StoreUnavailable):
                await _ask(pool, timeout=600.0)
    await pool.close()


@pytest.mark.parametrize(
    ("change", "error", "told"),
    [
        ({"path": "/nosuch"}, StoreUnavailable, "no database of the name in `dsn`: create it, or correct the name"),
        ({"netloc": "nobody:wrong@{host}"}, StoreUnavailable, "refuses the login in `dsn`: create the role"),
        ({"netloc": "app@nosuch.invalid"}, StoreUnavailable, "no host of the name in `dsn`: check it"),
        ({"query": "connect_timeout=10"}, ConfigurationError, "refuses a parameter in `dsn`"),
    ],
)
async def test_an_address_that_a_server_does_not_serve_is_told_with_what_to_do(
    server: TestServer, change: dict[str, str], error: type[Exception], told: str
) -> None:
    parts = urlsplit(server.superuser_dsn)
    host = parts.netloc.rpartition("@")[2]
    query = "&".join(filter(None, (parts.query, change.get("query"))))
    wanted = {**{name: text.format(host=host) for name, text in change.items()}, "query": query}
    if wanted.get("netloc", "").endswith("invalid"):
        wanted["query"] = ""
    pool = Pool(urlunsplit(parts._replace(**wanted)), connect_timeout=30.0)

    with pytest.raises(error, match=told):
        await _ask(pool)
    await pool.close()


async def test_a_role_that_may_not_connect_or_set_a_parameter_is_told_so_and_may_be_let_yet(server: TestServer) -> None:
    closed, role = server.unique_name("closed"), server.unique_name("app")
    admin_dsn = await server.create_database(closed)
    connection = await asyncpg.connect(admin_dsn)
    await connection.execute(f'create role "{role}" login; revoke connect on database "{closed}" from public')
    await connection.close()
    separator = "&" if urlsplit(admin_dsn).query else "?"
    refused = (
        server.dsn(closed, user=role),
        f"{server.dsn('postgres', user=role)}{separator}options=-c%20log_statement%3Dall",
        f"{server.dsn('postgres', user=role)}{separator}log_statement=all",
    )

    for address in refused:
        pool = Pool(address, connect_timeout=30.0)
        with pytest.raises(StoreUnavailable, match=r"`dsn` may not connect to that database, or not set a parameter"):
            await _ask(pool)
        await pool.close()
    await server.drop_database(closed)


async def test_a_server_that_says_nothing_costs_no_more_than_the_time_allowed() -> None:
    async with _black_hole() as dsn:
        pool = Pool(dsn, connect_timeout=600.0)
        with anyio.fail_after(HANG_GUARD):
            with pytest.raises(StoreUnavailable):
                await _ask(pool, timeout=0.2)
            await pool.close()


async def test_a_slow_statement_ends_with_the_time_allowed_and_the_connection_serves_on(pool: Pool) -> None:
    await _ask(pool)  # the time is the statement's: there is a connection
    with anyio.fail_after(HANG_GUARD), pytest.raises(DeadlineExceeded):
        await _ask(pool, "select pg_sleep(600)", timeout=1.0)

    assert await _ask(pool) == 1


async def test_a_slow_write_is_of_unknown_fate(pool: Pool) -> None:
    with anyio.fail_after(HANG_GUARD), pytest.raises(StoreUnavailable):
        await _ask(pool, "select pg_sleep(600)", timeout=0.3, read_only=False)


async def test_a_statement_that_writes_has_a_limit_of_its_own_within_the_time_of_its_transaction(
    server: TestServer,
) -> None:
    pool = Pool(server.superuser_dsn, command_timeout=0.3)
    try:
        with anyio.fail_after(HANG_GUARD):
            with pytest.raises(StoreUnavailable):
                await _ask(pool, "select pg_sleep(600)", timeout=600.0, read_only=False)
            # The time of a question is the asker's to choose.
            assert await _ask(pool, "select 1 from pg_sleep(1)", timeout=HANG_GUARD) == 1
    finally:
        await pool.close()


async def test_a_busy_pool_is_told_when_the_time_is_over_and_not_taken_for_an_outage(pool: Pool) -> None:
    async with anyio.create_task_group() as group:
        for _ in range(2):
            group.start_soon(partial(_ask, pool, "select pg_sleep(600)", timeout=600.0))
        await anyio.wait_all_tasks_blocked()
        with pytest.raises(DeadlineExceeded):
            await _ask(pool, timeout=0.2)
        with pytest.raises(StoreUnavailable):
            await _ask(pool, timeout=0.2, read_only=False)
        group.cancel_scope.cancel()

    assert await _ask(pool) == 1


async def test_callers_who_give_up_cost_no_connection_and_leave_no_transaction_open(pool: Pool) -> None:
    for n in range(20):
        with anyio.move_on_after(0.005 * (n % 5)):
            await _ask(pool, "select pg_sleep(60)")

    with anyio.fail_after(HANG_GUARD):
        answers = [await _ask(pool) for _ in range(4)]
        while await _sessions(pool):
            await anyio.sleep(0.05)
    assert answers == [1] * 4


async def test_a_listener_that_raises_costs_no_connection(server: TestServer) -> None:
    heard: list[float] = []

    def waited(seconds: float) -> None:
        heard.append(seconds)
        if len(heard) == 1:
            raise RuntimeError("of the listener")

    pool = Pool(server.superuser_dsn, max_size=1, connect_timeout=30.0, waited=waited)
    with pytest.raises(RuntimeError, match="of the listener"):
        async with pool.transaction(None, timeout=30.0):
            pass
    async with pool.transaction(None, timeout=5.0) as transaction:
        answer = await transaction.fetch_value("select 1")
    await pool.close()

    assert (answer, pool.readings()[Metric.POOL_CONNECTIONS]) == (1, 0)


async def test_a_killed_connection_is_replaced(pool: Pool, server: TestServer) -> None:
    with pytest.raises(StoreUnavailable):
        await _ask(pool, "select pg_terminate_backend(pg_backend_pid())")

    assert await _ask(pool) == 1


async def test_what_the_body_raises_undoes_the_transaction_and_passes_through(pool: Pool) -> None:
    async def fail_halfway() -> None:
        async with pool.transaction(DESK, timeout=30.0) as transaction:
            await transaction.execute("create table public.half_done (x int)")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await fail_halfway()

    assert await _ask(pool, "select to_regclass('public.half_done')::text") is None


async def test_a_reading_transaction_cannot_write(pool: Pool) -> None:
    with pytest.raises(StoreUnavailable, match="25006"):
        await _ask(pool, "create table public.written (x int)")


async def test_the_caller_is_the_context_until_another_takes_its_place(pool: Pool) -> None:
    statement = "select current_setting('hermes_memory.theme') || '/' || current_setting('hermes_memory.subject')"
    async with pool.transaction(Caller(theme=Theme("a'b"), subject=ANA), timeout=30.0) as transaction:
        first = await transaction.fetch_value(statement)
        await transaction.act_for(Caller(theme=Theme("c")))
        second = await transaction.fetch_value(statement)
    async with pool.transaction(None, timeout=30.0) as transaction:
        nobody = await transaction.fetch_value(statement)

    assert (first, second, nobody) == (f"a'b/{ANA.hex()}", "c/", "/")


async def test_each_change_of_the_caller_limits_the_server_to_the_time_that_is_left(pool: Pool) -> None:
    limit = "select extract(epoch from current_setting('statement_timeout')::interval)::float8"
    async with pool.transaction(DESK, timeout=5.0) as transaction:
        limits = [await transaction.fetch_value(limit)]
        for theme in ("b", "c"):
            await transaction.execute("select pg_sleep(0.01)")
            await transaction.act_for(Caller(theme=Theme(theme)))
            limits.append(await transaction.fetch_value(limit))

    assert limits[0] > limits[1] > limits[2] > 0


async def test_what_the_database_refuses_is_told_without_the_content(pool: Pool) -> None:
    with pytest.raises(DeliveryRejected) as rejection:
        await _ask(pool, "select 'a secret word'::int")

    assert rejection.value.reason == "22P02 InvalidTextRepresentationError"
    assert "secret" not in str(rejection.value)
    assert rejection.value.__suppress_context__


async def test_what_is_missing_names_the_command(pool: Pool) -> None:
    for statement in ("select * from hermes_memory.nowhere", "select hermes_memory.nothing()"):
        with pytest.raises(SchemaNotApplied, match="hermes-memory migrate --admin-dsn URL"):
            await _ask(pool, statement)


async def test_an_unusable_address_is_a_matter_of_configuration_and_is_not_quoted() -> None:
    for address in ("postgresql://user:secret@host:notaport/x", "mysql://user:secret@host/x"):
        with pytest.raises(ConfigurationError) as error:
            await _ask(Pool(address))
        assert "secret" not in str(error.value)
        assert error.value.__suppress_context__


async def test_names_are_not_safe_to_quote_when_the_server_says_so(server: TestServer) -> None:
    role = server.unique_name("app")
    connection = await asyncpg.connect(server.superuser_dsn)
    await connection.execute(f'create role "{role}" login')
    await connection.execute(f'alter role "{role}" set standard_conforming_strings = off')
    await connection.close()
    pool = Pool(server.dsn("postgres", user=role))

    with pytest.raises(ConfigurationError, match="standard_conforming_strings"):
        await _ask(pool)
    await pool.close()


async def test_closing_ends_what_is_still_running_and_may_be_done_again(server: TestServer) -> None:
    name = server.unique_name("sleeper")
    pool, observer = Pool(server.superuser_dsn, application_name=name), Pool(server.superuser_dsn)
    running = "select 1 from pg_stat_activity where application_name = $1 and wait_event = 'PgSleep'"

    with anyio.fail_after(HANG_GUARD):
        async with anyio.create_task_group() as group:

            async def sleeper() -> None:
                with pytest.raises(StoreUnavailable):
                    await _ask(pool, "select pg_sleep(600)", timeout=600.0)

            group.start_soon(sleeper)
            while not await _ask(observer, running, name):
                await anyio.sleep(0.05)
            await pool.close(timeout=0.2)
            await pool.close()
    await observer.close()


async def test_a_closed_pool_opens_again_when_asked(pool: Pool) -> None:
    await _ask(pool)
    await pool.close()

    assert await _ask(pool) == 1


async def test_many_callers_share_few_connections(server: TestServer) -> None:
    name = server.unique_name("many")
    pool = Pool(server.superuser_dsn, max_size=2, application_name=name)
    answers = await asyncio.gather(*(_ask(pool, timeout=30.0) for _ in range(100)))
    backends = await _ask(pool, "select count(*) from pg_stat_activity where application_name = $1", name)
    await pool.close()

    assert answers == [1] * 100
    assert isinstance(backends, int)
    assert backends <= 2


async def test_it_works_without_prepared_statements_as_behind_a_transaction_pooler(server: TestServer) -> None:
    pool = Pool(server.superuser_dsn, statement_cache_size=0)

    assert [await _ask(pool) for _ in range(3)] == [1, 1, 1]
    await pool.close()
