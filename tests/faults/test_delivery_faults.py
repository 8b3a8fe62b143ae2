"""What a real database can do to a delivery: what passes is waited for, and only what is refused is set aside."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote

import anyio
import pytest

from hermes_memory.adapters.inmemory.spool import InMemoryLeadership, InMemorySpool
from hermes_memory.adapters.postgres.delivery import PostgresDelivery
from hermes_memory.adapters.postgres.migrator import migrate
from hermes_memory.adapters.postgres.pool import Pool
from hermes_memory.application.breaker import STORE, Breaker, BreakerState
from hermes_memory.application.deliver import Deliverer
from hermes_memory.application.spool_access import SpoolAccess
from hermes_memory.application.worker import Worker
from hermes_memory.domain.model import Caller, SessionId, Theme
from hermes_memory.domain.operations import Operation
from hermes_memory.testing.making import add, record, said
from tests.support.fault_proxy import FaultProxy, place_of
from tests.support.inprocess import until
from tests.support.postgres import TestServer
from tests.support.postgres_store import ANALYZE, PARTITIONS, Installation

GUARD: Final = 90.0
"""Seconds; a guard against hanging, no measure of speed."""
TALK: Final = [Caller(theme=Theme("talk"), session=SessionId(name)) for name in ("one", "two", "three")]

# Whatever happens in a transaction that fails is undone, but not the counting of a sequence.
STUMBLE: Final = """
create sequence public.stumbles;
grant usage on sequence public.stumbles to public;
create function public.stumble() returns trigger language plpgsql as $$
begin
  if {condition} and nextval('public.stumbles') <= {times} then
    raise exception using errcode = '{state}', message = 'as told';
  end if;
  return new;
end $$;
create trigger stumble before insert on hermes_memory.conversations for each row execute function public.stumble()"""


@dataclass(slots=True)
class Desk:
    """What delivers to a database."""

    spool: InMemorySpool
    deliverer: Deliverer
    breaker: Breaker

    def accept(self, *operations: Operation) -> None:
        for operation in operations:
            self.spool.put(operation)
        self.deliverer.doorbell.ring()

    async def empty(self) -> None:
        """Wait until nothing waits any more."""
        with anyio.fail_after(GUARD):
            while self.spool.pending_before():
                await anyio.sleep(0.02)


@asynccontextmanager
async def delivering(dsn: str, **options: Any) -> AsyncIterator[Desk]:
    spool, pool = InMemorySpool(), Pool(dsn, max_size=2, **{"connect_timeout": 30.0, **options})
    breaker = Breaker(STORE, failures=1, delay=0.05, longest_delay=0.2)
    delivery = PostgresDelivery(pool, analyze=ANALYZE)
    deliverer = Deliverer(SpoolAccess(spool, Worker()), InMemoryLeadership(), delivery, breaker=breaker)
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(deliverer.run)
            yield Desk(spool, deliverer, breaker)
            tasks.cancel_scope.cancel()
    finally:
        await pool.close()


def talk(number: int, caller: Caller = TALK[0]) -> Operation:
    return record(said(f"turn {number}"), caller=caller)


async def turns(database: Installation) -> list[str]:
    """Return what is stored, each session in its order."""
    found = await database.administer(
        "select array_agg(session_id || ': ' || content order by session_id, position) from hermes_memory.conversations"
    )
    return list(found or [])


def expected(count: int, *callers: Caller) -> list[str]:
    return sorted(f"{caller.session}: turn {number}" for caller in callers for number in range(count))


@pytest.mark.parametrize(
    "state",
    [
        "40001",
        "40P01",
        "55P03",
        "57014",
        "53100",
        "53200",
        "53300",
        "25006",
        "57P01",
        "58030",
        "0A000",
        "XX000",
        "P0001",
    ],
)
async def test_what_passes_is_waited_for_and_has_its_effect_once(database: Installation, state: str) -> None:
    await database.administer_all(STUMBLE.format(condition="true", times=5, state=state))
    async with delivering(database.runtime_dsn) as desk:
        desk.accept(*(talk(number, caller) for number in range(4) for caller in TALK))
        await desk.empty()
        dead = desk.spool.dead()

    assert dead == []
    assert await turns(database) == expected(4, *TALK)
    assert await database.administer("select count(*) from hermes_memory.inbox") == 12


@pytest.mark.parametrize("state", ["22021", "22P05", "23514", "54000"])
async def test_what_the_database_refuses_for_good_is_set_aside_alone_with_its_reason(
    database: Installation, state: str
) -> None:
    condition = "new.content = 'turn 2'"
    await database.administer_all(STUMBLE.format(condition=condition, times=1_000_000, state=state))
    async with delivering(database.runtime_dsn) as desk:
        desk.accept(*(talk(number) for number in range(6)))
        await desk.empty()
        dead = desk.spool.dead()

    assert [letter.reason.partition(" ")[0] for letter in dead] == [state]
    assert await turns(database) == [f"one: turn {number}" for number in (0, 1, 3, 4, 5)]


async def test_only_the_lane_whose_rows_somebody_else_holds_waits_and_it_keeps_its_order(
    database: Installation,
) -> None:
    held, free, other = TALK
    async with delivering(database.runtime_dsn) as desk:
        desk.accept(talk(0, held))
        await desk.empty()
        async with database.administrator() as admin:
            transaction = admin.transaction()
            await transaction.start()
            await admin.execute("select from hermes_memory.sessions where session_id = 'one' for update")
            desk.accept(*(talk(number, caller) for number in range(1, 4) for caller in (held, free, other)))
            with anyio.fail_after(GUARD):
                await until_count(desk, 3)
            went_on = await turns(database)
            state = desk.breaker.state
            await transaction.rollback()
        await desk.empty()

    assert went_on == ["one: turn 0", *(f"{n}: turn {i}" for n in ("three", "two") for i in (1, 2, 3))]
    assert state is BreakerState.CLOSED
    assert await turns(database) == sorted(
        ["one: turn 0", *(f"{caller.session}: turn {number}" for caller in TALK for number in (1, 2, 3))]
    )
    assert desk.deliverer.counts.buried == 0


async def until_count(desk: Desk, waiting: int) -> None:
    while desk.spool.pending_before() > waiting:
        await anyio.sleep(0.02)


async def test_a_deadlock_with_another_transaction_is_tried_again(database: Installation) -> None:
    one, two, _ = TALK
    async with delivering(database.runtime_dsn) as desk:
        desk.accept(talk(0, one), talk(0, two))
        await desk.empty()
        # The other one waits long before it looks for a deadlock, so it is the delivery that finds it.
        async with database.administrator() as admin, admin.transaction():
            await admin.execute("set local deadlock_timeout = '60s'")
            await admin.execute("select from hermes_memory.sessions where session_id = 'two' for update")
            desk.accept(talk(1, one), talk(1, two))
            with anyio.fail_after(GUARD):
                while not await database.administer(
                    "select exists (select from pg_locks where not granted and database = "
                    "(select oid from pg_database where datname = current_database()))"
                    " or exists (select from pg_stat_activity where datname = current_database()"
                    " and wait_event_type = 'Lock')"
                ):
                    await anyio.sleep(0.01)
            await admin.execute("select from hermes_memory.sessions where session_id = 'one' for update")
        await desk.empty()
        dead = desk.spool.dead()

    assert dead == []
    assert await turns(database) == expected(2, one, two)


async def test_connections_that_the_server_ends_are_made_again(database: Installation) -> None:
    async with delivering(database.runtime_dsn) as desk:
        for number in range(5):
            desk.accept(talk(number))
            await database.administer(
                "select count(pg_terminate_backend(pid)) from pg_stat_activity where usename = $1", database.role
            )
        await desk.empty()

    assert await turns(database) == expected(5, TALK[0])
    assert desk.deliverer.counts.buried == 0


async def test_too_many_connections_are_waited_for(database: Installation) -> None:
    await database.administer(f'alter database "{database.database}" connection limit 0')
    async with delivering(database.runtime_dsn) as desk:
        desk.accept(talk(0))
        with anyio.fail_after(GUARD):
            await until(lambda: desk.breaker.state is not BreakerState.CLOSED)
        waiting = desk.spool.pending_before()
        await database.administer(f'alter database "{database.database}" connection limit -1')
        await desk.empty()

    assert waiting == 1
    assert await turns(database) == ["one: turn 0"]


async def test_a_server_that_only_reads_is_waited_for_until_it_writes_again(
    database: Installation, server: TestServer
) -> None:
    role, name = database.role, database.database
    with FaultProxy(place_of(server.superuser_dsn)) as proxy:
        dsn = f"postgresql://{role}@127.0.0.1:{proxy.port}/{name}?target_session_attrs=read-write"
        await database.administer(f'alter database "{name}" set default_transaction_read_only = on')
        async with delivering(dsn) as desk:
            desk.accept(talk(0))
            with anyio.fail_after(GUARD):
                await until(lambda: desk.breaker.state is not BreakerState.CLOSED)
            waiting = desk.spool.pending_before()
            async with database.administrator() as admin:
                await admin.execute("set default_transaction_read_only = off")
                await admin.execute(f'alter database "{name}" reset default_transaction_read_only')
            await desk.empty()

    assert waiting == 1
    assert await turns(database) == ["one: turn 0"]


@pytest.mark.parametrize("fault", ["refuse", "swallow"])
async def test_delivery_moves_to_the_next_host_of_the_address_when_the_first_one_refuses_or_says_nothing(
    database: Installation, server: TestServer, fault: str
) -> None:
    place = place_of(server.superuser_dsn)
    with FaultProxy(place) as first, FaultProxy(place) as second:
        hosts = f"127.0.0.1:{first.port},127.0.0.1:{second.port}"
        dsn = f"postgresql://{database.role}@{hosts}/{quote(database.database)}?target_session_attrs=read-write"
        async with delivering(dsn, connect_timeout=3.0, command_timeout=3.0) as desk:
            desk.accept(talk(0))
            await desk.empty()
            met = second.connections
            getattr(first, fault)()
            first.cut()
            desk.accept(talk(1))
            await desk.empty()
            moved = second.connections

    assert met == 0
    assert moved > 0
    assert await turns(database) == expected(2, TALK[0])


async def test_a_table_that_changes_under_prepared_statements_holds_nothing_up(database: Installation) -> None:
    async with delivering(database.runtime_dsn) as desk:
        desk.accept(talk(0))
        await desk.empty()
        await database.administer("alter table hermes_memory.sessions alter column parent_session_id type varchar")
        desk.accept(talk(1))
        await desk.empty()

    assert desk.deliverer.counts.buried == 0
    assert await turns(database) == expected(2, TALK[0])


async def test_a_statement_that_takes_too_long_makes_batches_smaller_and_loses_nothing(
    database: Installation,
) -> None:
    await database.administer_all(
        "create function public.dawdle() returns trigger language plpgsql as $$ begin perform pg_sleep(0.2); "
        "return new; end $$; create trigger dawdle before insert on hermes_memory.conversations "
        "for each row execute function public.dawdle()",
    )
    async with delivering(database.runtime_dsn, command_timeout=1.5) as desk:
        desk.accept(*(talk(number) for number in range(16)))
        await desk.empty()
        size = desk.deliverer.batch

    assert size < 16
    assert desk.deliverer.counts.buried == 0
    assert await turns(database) == sorted(expected(16, TALK[0]), key=lambda text: int(text.split()[-1]))


async def test_a_database_without_its_schema_stops_delivery_until_the_operator_has_migrated_it(
    server: TestServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    name, role = server.unique_name("bare"), server.unique_name("app")
    admin_dsn = await server.create_database(name)
    bare = Installation(server, name, role)
    try:
        await bare.administer(f'create role "{role}" login')
        async with delivering(bare.runtime_dsn) as desk:
            desk.accept(*(talk(number) for number in range(3)))
            with anyio.fail_after(GUARD):
                await until(lambda: desk.deliverer.obstacle)
                obstacle = desk.deliverer.obstacle
                await anyio.sleep(0.5)
            waiting, dead = desk.spool.pending_before(), desk.spool.dead()
            await migrate(admin_dsn, runtime_role=role, partitions=PARTITIONS)
            await desk.empty()

        assert (waiting, dead) == (3, [])
        assert "hermes-memory migrate" in str(obstacle)
        assert desk.deliverer.obstacle is None
        assert await turns(bare) == expected(3, TALK[0])
        # While the migrations run, one after the other, another obstacle may be seen than before; each is told once.
        stopped = [vars(entry)["reason"] for entry in caplog.records if told(entry, "deliver.stopped")]
        assert stopped[0] == obstacle
        assert len(set(stopped)) == len(stopped)
        assert sum(told(entry, "deliver.resumed") for entry in caplog.records) == 1
    finally:
        await server.drop_database(name)


def told(entry: logging.LogRecord, action: str) -> bool:
    """Tell whether a line of the log is of an action."""
    return vars(entry).get("action") == action


async def test_rights_that_are_missing_stop_delivery_and_set_nothing_aside(database: Installation) -> None:
    revoked = f'on hermes_memory.inbox from "{database.role}"'
    await database.administer(f"revoke insert {revoked}")
    async with delivering(database.runtime_dsn) as desk:
        desk.accept(add("kept"))
        with anyio.fail_after(GUARD):
            await until(lambda: desk.deliverer.obstacle)
        waiting, obstacle = desk.spool.pending_before(), desk.deliverer.obstacle
        await database.administer(f'grant insert on hermes_memory.inbox to "{database.role}"')
        await desk.empty()

    assert waiting == 1
    assert "lacks rights" in str(obstacle)
    assert await database.administer("select content from hermes_memory.memory_entries") == "kept"
