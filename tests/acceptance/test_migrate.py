"""Migrating a real database: by several at once, again, from nothing, and what the runtime says without it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace as with_changes
from typing import Any

import asyncpg
import pytest
import pytest_asyncio

import hermes_memory
from hermes_memory import Settings
from hermes_memory.adapters.postgres import migrator
from hermes_memory.adapters.postgres.ledger import shipped
from hermes_memory.adapters.postgres.migrator import MigrationReport, migrate
from hermes_memory.adapters.postgres.pool import Pool
from hermes_memory.adapters.postgres.roles import OWNER
from hermes_memory.adapters.postgres.statements import shipped_statements
from hermes_memory.adapters.postgres.store import PostgresStore
from hermes_memory.domain.errors import ConfigurationError, InvalidInput, SchemaNotApplied, StoreUnavailable
from hermes_memory.domain.model import ReadPolicy
from hermes_memory.testing.making import (
    CURRENT,
    DESK,
    PATIENCE,
    add,
    by_content,
    contents,
    deliver,
    read,
    remove,
    stored,
)
from tests.support import databases
from tests.support.postgres import TestServer
from tests.support.postgres_store import ANALYZE, PARTITIONS, Installation

COMMAND = "hermes-memory migrate --admin-dsn URL"
MODEL = ("model", 4)
SHIPPED = tuple(migration.name for migration in shipped())


server = databases.own_server
"""Roles are the cluster's: these tests have one of their own."""


@pytest_asyncio.fixture
async def empty(server: TestServer) -> AsyncIterator[Installation]:
    """A database with nothing in it, and the name of a role that does not exist yet."""
    name = server.unique_name()
    await server.create_database(name)
    yield Installation(server, name, server.unique_name("app"))
    await server.drop_database(name)


async def _migrate(place: Installation, **options: Any) -> MigrationReport:
    return await migrate(place.admin_dsn, **{"runtime_role": place.role, "partitions": PARTITIONS, **options})


async def _schema(place: Installation) -> list[tuple[Any, ...]]:
    """Describe every relation, column, policy and function of the schema."""
    connection = await asyncpg.connect(place.admin_dsn)
    try:
        described = await connection.fetch("""
            select 'relation', c.relname, c.relkind::text, c.relacl::text from pg_class c
             where c.relnamespace = 'hermes_memory'::regnamespace
            union all
            select 'policy', polname, polrelid::regclass::text, pg_get_expr(polqual, polrelid) from pg_policy
            union all
            select 'function', p.proname, p.proacl::text, p.prosrc from pg_proc p
             where p.pronamespace = 'hermes_memory'::regnamespace
            union all
            select 'row', name, checksum, applied_at::text from hermes_memory.schema_migrations order by 1, 2, 3""")
        return [tuple(row) for row in described]
    finally:
        await connection.close()


async def test_four_at_once_all_succeed_and_each_migration_is_applied_once(empty: Installation) -> None:
    reports = await asyncio.gather(*(_migrate(empty, generation=MODEL) for _ in range(4)))

    assert sorted(name for report in reports for name in report.applied) == list(SHIPPED)
    assert {report.generation for report in reports} == {1}
    assert await empty.administer("select count(*) from hermes_memory.embedding_models") == 1


async def test_databases_of_one_cluster_can_be_migrated_at_once(server: TestServer) -> None:
    role, names = server.unique_name("app"), [server.unique_name() for _ in range(3)]
    dsns = [await server.create_database(name) for name in names]
    try:
        reports = await asyncio.gather(*(migrate(dsn, runtime_role=role, partitions=2) for dsn in dsns))
    finally:
        for name in names:
            await server.drop_database(name)

    assert [report.applied for report in reports] == [SHIPPED] * 3


async def test_migrating_again_changes_nothing(empty: Installation) -> None:
    await _migrate(empty, generation=MODEL, read_policy=ReadPolicy.GRANTS)
    before = await _schema(empty)

    report = await _migrate(empty, generation=MODEL, partitions=7)

    assert await _schema(empty) == before
    assert report.applied == ()
    assert (report.partitions, report.read_policy, report.generation) == (PARTITIONS, ReadPolicy.GRANTS, 1)


async def test_how_long_forgotten_texts_are_kept_is_set_by_who_migrates_and_kept_by_who_does_not_say(
    empty: Installation,
) -> None:
    kept = "select forgotten_days from hermes_memory.installation"
    await _migrate(empty)
    first = await empty.administer(kept)
    for configured in (Settings(embedder="none", forgotten_days=7.5), Settings(embedder="none")):
        await hermes_memory.migrate(empty.admin_dsn, settings=configured, runtime_role=empty.role)

    assert (first, await empty.administer(kept)) == (30.0, 7.5)


async def test_a_migrated_database_has_no_problems_and_serves_the_runtime_role(empty: Installation) -> None:
    report = await _migrate(empty, generation=MODEL)
    async with empty.under_test() as store:
        installation = await store.inspector.verify()
        await deliver(store, add("the first memory"))

        assert report.warnings == installation.problems == ()
        assert installation.migrations == SHIPPED
        assert installation.partitions == PARTITIONS
        assert installation.server.startswith("PostgreSQL ")
        assert await contents(store) == {"the first memory"}


async def test_every_row_bearing_table_has_the_wanted_partitions(empty: Installation) -> None:
    await _migrate(empty, generation=MODEL)

    uneven = await empty.administer(f"""
        select string_agg(c.relname, ', ') from pg_class c
         where c.relnamespace = 'hermes_memory'::regnamespace and c.relkind = 'p'
           and (select count(*) from pg_inherits i where i.inhparent = c.oid) <> {PARTITIONS}""")
    parents = await empty.administer(
        "select count(*) from pg_class where relnamespace = 'hermes_memory'::regnamespace and relkind = 'p'"
    )

    assert uneven is None
    assert parents == 11


async def test_a_password_given_lets_the_runtime_role_in_and_does_not_stand_in_the_catalogue(
    empty: Installation,
) -> None:
    await _migrate(empty, runtime_password="correct horse")

    verifier = await empty.administer("select rolpassword from pg_authid where rolname = $1", empty.role)

    assert verifier.startswith("SCRAM-SHA-256$4096:")
    assert "horse" not in verifier


async def test_a_second_runtime_role_is_admitted_by_migrating_for_it(empty: Installation) -> None:
    await _migrate(empty, generation=MODEL)
    second = Installation(empty.server, empty.database, empty.server.unique_name("app"))
    await _migrate(second)

    async with empty.under_test() as ours, second.under_test() as theirs:
        row = await stored(ours, add("seen by both"))

        assert await read(theirs, row, DESK) == await read(ours, row, DESK)
        assert (await theirs.inspector.verify()).problems == ()


async def test_a_generation_made_later_or_for_a_mistaken_one_lets_all_rows_stored_before_wait_for_it(
    empty: Installation,
) -> None:
    withdraw = "select hermes_memory.withdraw_unused_generation($1, $2)"
    await _migrate(empty)
    async with empty.under_test() as store:
        await deliver(store, add("stored before there was a model"))
        assert await store.queue.active() is None
        assert any("no embedding generation" in problem for problem in (await store.inspector.verify()).problems)

        mistaken = await _migrate(empty, generation=("mistyped", 3))
        right = await _migrate(empty, generation=MODEL)
        again = await empty.administer(withdraw, *MODEL)
        await store.queue.calibrate(2, unrelated=0.1, related=0.9)
        while_a_row_waits = await empty.administer(withdraw, "other", 2)

        assert (mistaken.generation, right.generation) == (1, 2)
        assert (again, while_a_row_waits) == (None, None)
        assert await empty.rows("select generation, model, dimension from hermes_memory.embedding_models") == [
            (2, *MODEL)
        ]
        (job,) = await store.queue.claim(10, lease=60)
        await store.queue.complete({job: [(1.0, 0.0, 0.0, 0.0)]})
        assert dict(await store.search.cosines(DESK, [job.row], (1.0, 0, 0, 0), timeout=PATIENCE)) == {
            job.row: pytest.approx(1.0, abs=1e-3)
        }
        assert await empty.administer(withdraw, "other", 2) is None
        await deliver(store, remove(by_content("stored before there was a model")))
        assert await empty.administer(withdraw, "other", 2) == 2


async def test_another_generation_is_filled_beside_the_one_in_use_until_it_is_activated(empty: Installation) -> None:
    east = (1.0, 0.0, 0.0, 0.0)
    await _migrate(empty, generation=MODEL)
    async with empty.under_test() as store:
        row = await stored(store, add("a note"))
        await store.queue.complete({job: [east] for job in await store.queue.claim(10, lease=60)})

        report = await _migrate(empty, generation=("next", 2))
        models = await empty.administer("select count(*) from hermes_memory.embedding_models")
        await empty.administer_all("set role hermes_memory_owner; select hermes_memory.make_generation('next', 2)")

        assert (report.generation, models) == (1, 1)
        assert list(await store.queue.claim(10, lease=60)) == []
        assert set(await store.search.cosines(DESK, [row], east, timeout=PATIENCE)) == {row}
        await empty.administer("do $$ begin perform hermes_memory.activate_generation(2); end $$")
        (job,) = await store.queue.claim(10, lease=60)
        assert (job.row, job.generation) == (row, 2)
        await store.queue.complete({job: [(0.0, 1.0)]})
        assert set(await store.search.cosines(DESK, [row], (0.0, 1.0), timeout=PATIENCE)) == {row}
        assert dict(await store.search.cosines(DESK, [row], east, timeout=PATIENCE)) == {}
        # Who has not noticed yet compares its questions with the vectors of its own model, as long as they are kept.
        assert set(await store.search.cosines(DESK, [row], east, timeout=PATIENCE, generation=1)) == {row}
        near = await store.search.by_vector(DESK, CURRENT, east, limit=5, timeout=PATIENCE, generation=1)
        assert [hit.row.id for hit in near] == [row]
        await empty.administer_all("set role hermes_memory_owner; select hermes_memory.drop_generation(1)")
        with pytest.raises(InvalidInput):
            await store.search.by_vector(DESK, CURRENT, east, limit=5, timeout=PATIENCE, generation=1)
        with pytest.raises(InvalidInput):
            await store.search.cosines(DESK, [row], east, timeout=PATIENCE, generation=1)
        await deliver(store, remove(by_content("a note")))
        assert await empty.administer("select count(*) from hermes_memory.entry_vectors_g2") == 0


async def test_a_changed_migration_is_refused(empty: Installation, monkeypatch: pytest.MonkeyPatch) -> None:
    await _migrate(empty)
    edited = (with_changes(shipped()[0], checksum="0" * 64), *shipped()[1:])
    monkeypatch.setattr(migrator, "shipped", lambda: edited)

    with pytest.raises(ConfigurationError, match=SHIPPED[0]):
        await _migrate(empty)


async def test_a_migration_that_fails_leaves_nothing_of_itself(
    empty: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    await _migrate(empty)
    statements = shipped_statements("create table hermes_memory.half (); select 1 / 0;")
    bad = with_changes(shipped()[-1], name="9999_pre_bad", statements=statements)
    monkeypatch.setattr(migrator, "shipped", lambda: (*shipped(), bad))

    with pytest.raises(ConfigurationError, match="22012"):
        await _migrate(empty)
    assert await empty.administer("select to_regclass('hermes_memory.half') is null") is True


@pytest.mark.parametrize("flags", ["superuser", "bypassrls", f"in role {OWNER}"])
async def test_a_role_that_looks_past_the_wall_is_refused_as_runtime_role(empty: Installation, flags: str) -> None:
    await _migrate(empty)
    mighty = empty.server.unique_name("mighty")
    await empty.administer(f'create role "{mighty}" login {flags}')

    with pytest.raises(ConfigurationError, match=mighty):
        await _migrate(empty, runtime_role=mighty)


async def test_the_admin_login_is_refused_as_runtime_role(empty: Installation) -> None:
    admin = await empty.administer("select session_user::text")

    with pytest.raises(ConfigurationError, match="--runtime-role"):
        await _migrate(empty, runtime_role=admin)


async def test_an_administrator_who_is_no_superuser_can_migrate(empty: Installation) -> None:
    admin = empty.server.unique_name("admin")
    await empty.administer(f'create role "{admin}" login createrole')
    await empty.administer(f'grant create on database "{empty.database}" to "{admin}"')
    await empty.administer(f'alter database "{empty.database}" owner to "{admin}"')
    # Whoever made the owner role of this cluster has to hand it on once.
    await empty.administer(
        "do $$ begin create role hermes_memory_owner; exception when duplicate_object then null; end $$"
    )
    await empty.administer(f'grant hermes_memory_owner to "{admin}" with admin option')

    dsn = empty.server.dsn(empty.database, user=admin)
    with pytest.raises(ConfigurationError, match="create extension vector"):
        await migrate(dsn, runtime_role=empty.role)
    await empty.administer("create extension vector")

    report = await migrate(dsn, runtime_role=empty.role, partitions=2, generation=MODEL)

    assert report.applied == SHIPPED
    assert report.warnings == ()


async def test_an_administrator_without_rights_is_told_which(empty: Installation) -> None:
    nobody = empty.server.unique_name("nobody")
    await empty.administer(f'create role "{nobody}" login')

    with pytest.raises(ConfigurationError, match="create roles"):
        await migrate(empty.server.dsn(empty.database, user=nobody), runtime_role=empty.role)


async def test_a_missing_database_and_a_missing_server_are_told_apart(server: TestServer) -> None:
    with pytest.raises(ConfigurationError, match="create it first"):
        await migrate(server.dsn("no_such_database"))
    with pytest.raises(StoreUnavailable):
        await migrate("postgresql://nobody@127.0.0.1:1/nowhere")


@pytest.mark.parametrize("partitions", [0, -1, 257])
async def test_a_number_of_partitions_out_of_range_is_refused_before_anything_is_done(partitions: int) -> None:
    with pytest.raises(InvalidInput, match="partitions"):
        await migrate("postgresql://nobody@127.0.0.1:1/nowhere", partitions=partitions)


async def test_without_a_schema_every_port_names_the_command_to_run(empty: Installation) -> None:
    await empty.administer(f'create role "{empty.role}" login')
    async with empty.store() as store:
        calls: list[Callable[[], Awaitable[object]]] = [
            store.inspector.verify,
            store.inspector.counts,
            store.queue.active,
            lambda: store.delivery.apply([add("kept in the spool meanwhile")]),
            lambda: store.delivery.outcome(DESK, add("x").stamp.operation),
            lambda: store.reader.themes(DESK, timeout=PATIENCE),
            lambda: store.queue.claim(1, lease=1.0),
        ]

        for call in calls:
            with pytest.raises(SchemaNotApplied, match=COMMAND):
                await call()


async def test_an_older_schema_names_the_command_and_what_is_missing(
    empty: Installation,
) -> None:
    await _migrate(empty)
    await empty.administer("delete from hermes_memory.schema_migrations where name = '0005_pre_runtime'")
    async with empty.store() as store:
        with pytest.raises(SchemaNotApplied, match=COMMAND) as missing:
            await store.inspector.verify()

        assert "0005_pre_runtime" in str(missing.value)


async def test_missing_grants_stop_delivery_instead_of_burying_it(empty: Installation) -> None:
    await _migrate(empty)
    await empty.administer(f'revoke insert on hermes_memory.memory_entries from "{empty.role}"')
    async with empty.store() as store:
        with pytest.raises(SchemaNotApplied, match=COMMAND):
            await store.delivery.apply([add("kept in the spool meanwhile")])
        await _migrate(empty)

        (outcome,) = await store.delivery.apply([add("kept in the spool meanwhile")])
        assert outcome.row is not None


async def test_making_a_store_touches_nothing() -> None:
    def no_address() -> str:
        raise AssertionError("asked for the address although nothing was asked of the store")

    pool = Pool(no_address)
    PostgresStore(pool, analyze=ANALYZE)

    await pool.close()
