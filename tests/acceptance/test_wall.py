"""The wall, tried with raw SQL as the runtime role: conditions dropped, doors tried, and the catalogue read.

The library is used to store the rows and for nothing else. What comes back is compared with the domain's rule.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import asyncpg
import pytest
import pytest_asyncio

from hermes_memory.adapters.postgres.context import caller_settings
from hermes_memory.domain.errors import InvalidInput
from hermes_memory.domain.model import DIRECT_MESSAGES, SINKS, Caller, ReadPolicy, Subject, Theme
from hermes_memory.domain.operations import RecordDelegation
from hermes_memory.domain.visibility import Access
from hermes_memory.testing.making import (
    ANA,
    BEN,
    MARKETING,
    MORNING,
    SALES,
    add,
    by_content,
    deliver,
    record,
    replace,
    said,
    stamp,
)
from tests.support import databases
from tests.support.postgres import TestServer
from tests.support.postgres_store import Installation, migrated
from tests.support.wall_recipe import Context, Recipe, acting, pairs

THEMES = (MARKETING, SALES, DIRECT_MESSAGES)
SUBJECTS = (None, ANA, BEN)
ROWS = 4
EXPIRED = "2001-01-01T00:00:00Z"

CLEO, DAN = Subject(b"c" * 32), Subject(b"d" * 32)
CONTEXTS = [
    Context(theme, subject)
    for theme in (None, "", "unknown", "'; set row_security = off; --", *THEMES)
    for subject in SUBJECTS
] + [Context(theme, DAN, frozenset({ANA})) for theme in (None, MARKETING, DIRECT_MESSAGES)]
FEW = [
    Context(MARKETING, ANA),
    Context(DIRECT_MESSAGES, BEN),
    Context(None, None),
    Context(SALES, DAN, frozenset({ANA})),
]
"""Enough of them to see any hole."""

HOLES = {
    "alter table hermes_memory.memory_entries disable row level security": "memory_entries",
    "alter table hermes_memory.memory_agents disable row level security": "memory_agents",
    "alter table hermes_memory.embedding_jobs force row level security": "embedding_jobs",
    "drop policy wall_read on hermes_memory.conversations": "wall_read on conversations",
    "drop policy wall_add on hermes_memory.inbox": "wall_add on inbox",
    "create policy helpful on hermes_memory.conversations for select using (true)": "helpful on conversations",
    "drop policy wall_read on hermes_memory.term_blocks; create policy wall_read on hermes_memory.term_blocks "
    "using (agent_identity in (select unnest(hermes_memory.ctx_themes())))": "wall_read on term_blocks",
    "drop policy wall_read on hermes_memory.memory_entries; drop policy wall_add on hermes_memory.memory_entries; "
    "drop policy wall_change on hermes_memory.memory_entries; drop policy wall_remove on hermes_memory.memory_entries; "
    "create policy wall_read on hermes_memory.memory_entries for all "
    "using (agent_identity in (select unnest(hermes_memory.ctx_themes())))": "wall_add on memory_entries",
    "alter policy wall_change on hermes_memory.sessions "
    "using (agent_identity in (select unnest(hermes_memory.ctx_themes())))": "wall_change on sessions",
    "alter policy wall_add on hermes_memory.conversations "
    "with check (agent_identity = (select hermes_memory.ctx_theme()))": "wall_add on conversations",
    "alter policy wall_read on hermes_memory.history using (subject in "
    "(select unnest((select hermes_memory.ctx_subjects()))) "
    "or (subject = '' and (agent_identity = (select hermes_memory.ctx_theme()) "
    "or agent_identity in (select unnest((select hermes_memory.ctx_themes()))))))": "wall_read on history",
    "alter policy wall_add on hermes_memory.history with check (agent_identity = (select hermes_memory.ctx_theme()) "
    "and (subject = '' or subject = (select hermes_memory.ctx_subject())))": "wall_add on history",
    "grant select on hermes_memory.memory_entries_p1 to {role}": "memory_entries_p1",
    "grant select (content) on hermes_memory.memory_entries_p2 to {role}": "memory_entries_p2",
    "grant select on all tables in schema hermes_memory to {role}": "conversations_p0",
    "grant truncate on hermes_memory.inbox to {role}": "inbox",
    "grant trigger on hermes_memory.sessions to {role}": "sessions",
    "grant insert on hermes_memory.theme_grants to {role}": "theme_grants",
    "grant select, insert on hermes_memory.subject_members to {role}": "subject_members",
    "grant update on hermes_memory.installation to {role}": "installation",
    "alter view hermes_memory.memory_rows reset (security_invoker)": "memory_rows",
    "alter function hermes_memory.ctx_themes() reset search_path": "ctx_themes()",
    "alter function hermes_memory.store_vectors(int, text[], uuid[], text[], bytea[], bytea[], int[], int, real[]) "
    "set search_path = public": "store_vectors()",
    "grant execute on function hermes_memory.make_generation(text, int) to public": "make_generation()",
    "create or replace function hermes_memory.ctx_themes() returns text[] language sql stable security definer "
    "set search_path = pg_catalog, pg_temp as "
    "$$ select array_agg(agent_identity) from hermes_memory.memory_agents $$": "ctx_themes()",
    "create function hermes_memory.peek() returns setof hermes_memory.memory_entries language sql security definer "
    "set search_path = pg_catalog, pg_temp as $$ select * from hermes_memory.memory_entries $$": "peek()",
    "alter table hermes_memory.memory_entries drop constraint sink_rows_have_a_subject": "memory_entries",
    "create unique index told on hermes_memory.memory_entries (agent_identity, lex_key)": "told",
    "grant temporary on database {database} to public": "temporary tables",
    "grant create on schema public to {role}": "schema public",
    "grant create on schema hermes_memory to {role}": "schema hermes_memory",
    "grant hermes_memory_owner to {role}": "hermes_memory_owner",
    "grant pg_read_all_data to {role}": "a member of pg_read_all_data",
    "alter role {role} bypassrls": "{role}",
    "alter role {role} createrole": "createrole",
    "alter role hermes_memory_owner login": "hermes_memory_owner",
}
"""What breaks the wall, and what the doctor must name."""

UNSEEN = ("ctx_themes() reset search_path", "set search_path = public", "createrole", "owner login")
"""What no statement of the runtime role shows: the catalogue alone tells."""

MENDED = {
    "grant hermes_memory_owner to {role}": "revoke hermes_memory_owner from {role}",
    "grant pg_read_all_data to {role}": "revoke pg_read_all_data from {role}",
    "alter role {role} bypassrls": "alter role {role} nobypassrls",
    "alter role {role} createrole": "alter role {role} nocreaterole",
    "alter role hermes_memory_owner login": "alter role hermes_memory_owner nologin",
}
"""Roles are the cluster's and outlive the database of a test."""


server = databases.own_server


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def template(server: TestServer) -> AsyncIterator[Installation]:
    """A store in which every theme and subject has entries, turns, vectors, jobs, history and delegations."""
    async with migrated(server) as installation:
        async with installation.under_test() as store:
            for theme in THEMES:
                for subject in SUBJECTS:
                    if theme in SINKS and subject is None:
                        continue
                    caller = Caller(theme=theme, subject=subject, session=MORNING)
                    contents = [f"the {n}th zebra" for n in range(ROWS)]
                    delegation = RecordDelegation(
                        stamp=stamp(caller), child_session=None, child_theme=None, task="count", result="done"
                    )
                    await deliver(store, *(add(content, caller) for content in contents), delegation)
                    await deliver(store, record(*(said(content) for content in contents), caller=caller))
            jobs = await store.queue.claim(1_000, lease=60)
            await store.queue.complete({job: [(1.0, 0.0, 0.0, 0.0)] for job in jobs})
            for theme in (MARKETING, SALES):
                await deliver(store, add("waits for its vector", Caller(theme=theme, subject=ANA)))
        await installation.grant(MARKETING, SALES)
        await installation.grant(BEN, MARKETING)
        await installation.merge(ANA, DAN)
        await installation.administer(
            "insert into hermes_memory.theme_grants (reader, source, expires_at) "
            f"values ('sales', 'marketing', '{EXPIRED}')"
        )
        yield installation


@pytest_asyncio.fixture
async def wall(template: Installation) -> AsyncIterator[Installation]:
    async with template.copy() as installation:
        yield installation


@asynccontextmanager
async def _runtime(place: Installation) -> AsyncIterator[asyncpg.Connection[Any]]:
    connection = await asyncpg.connect(place.runtime_dsn)
    try:
        yield connection
    finally:
        await connection.close()


def _access(policy: ReadPolicy, context: Context) -> Access:
    granted = {SALES} if context.theme == MARKETING else set[Theme]()
    personal = {MARKETING} if context.subject == BEN else set[Theme]()
    return Access(policy=policy, grants=frozenset(granted | personal))


async def _trial(place: Installation, contexts: Sequence[Context], policy: ReadPolicy) -> list[str]:
    """Try the wall of a place; return what was not as the rule has it."""
    recipe = await Recipe(place.admin_dsn, place.role, CLEO).look()
    async with _runtime(place) as connection:
        return await recipe.try_all(connection, contexts, lambda context: _access(policy, context))


@pytest.mark.parametrize("policy", list(ReadPolicy))
async def test_the_wall_alone_lets_through_what_the_rule_allows(wall: Installation, policy: ReadPolicy) -> None:
    """Everything in the catalogue, without a condition: rows, changes, additions, and what nobody may do."""
    await wall.set_policy(policy)

    assert await _trial(wall, CONTEXTS if policy is ReadPolicy.OPEN else FEW, policy) == []


async def test_an_entry_cannot_be_moved_to_another_theme_or_subject(wall: Installation) -> None:
    async with _runtime(wall) as connection:
        for move in ("agent_identity = 'sales'", f"subject = '\\x{BEN.hex()}'"):
            async with acting(connection, Context(MARKETING, ANA)):
                with pytest.raises(asyncpg.InsufficientPrivilegeError):
                    await connection.execute(f"update hermes_memory.memory_entries set {move}")


async def test_conflicting_with_a_row_one_cannot_see_tells_nothing_and_loses_nothing(wall: Installation) -> None:
    """One subject's words never decide whether another's are kept."""
    async with wall.under_test() as store:
        for subject in (ANA, BEN):
            caller = Caller(theme=MARKETING, subject=subject)
            (outcome,) = await deliver(store, add("my PIN is 8841", caller))

            assert outcome.effect == "stored"


async def test_switching_the_wall_off_is_an_error_and_no_way_around(template: Installation) -> None:
    async with _runtime(template) as connection, acting(connection, Context(MARKETING, ANA)):
        await connection.execute("set local row_security = off")
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await connection.fetch("select * from hermes_memory.memory_entries")


async def test_an_error_about_a_hidden_row_never_comes_up(template: Installation) -> None:
    async with _runtime(template) as connection, acting(connection, Context("unknown", None)):
        await template.set_policy(ReadPolicy.OWN)
        try:
            for table in ("memory_entries", "conversations", "memory_rows"):
                assert await connection.fetch(f"select content::int from hermes_memory.{table}") == []
        finally:
            await template.set_policy(ReadPolicy.OPEN)


async def test_a_context_ends_with_its_transaction(template: Installation) -> None:
    async with _runtime(template) as connection:
        async with acting(connection, Context(MARKETING, ANA)):
            inside = await connection.fetchval("select count(*) from hermes_memory.memory_entries")
        after = await connection.fetchval("select count(*) from hermes_memory.memory_entries")

        assert inside > 0
        assert after == 0


async def test_hostile_names_are_names(template: Installation) -> None:
    hostile = [
        "a'b",
        "'; drop table x; --",
        "back\\slash",
        "\\'",
        "“typographic”",
        "{a,b}",
        "UPPER",
        "trailing ",
        "$1",
        "%s",
    ]
    async with _runtime(template) as connection:
        for name in hostile:
            async with acting(connection, Context(name, None)):
                assert await connection.fetchval("select hermes_memory.ctx_theme()") == name
                assert await connection.fetchval("select count(*) from hermes_memory.memory_agents") == 2

    with pytest.raises(InvalidInput):
        caller_settings(Caller(theme=Theme("a\0b")))


async def test_a_theme_that_is_nobody_elses_sees_itself_alone_in_the_registry(wall: Installation) -> None:
    await wall.set_policy(ReadPolicy.GRANTS)
    expected = {MARKETING: {MARKETING, SALES}, SALES: {SALES}, DIRECT_MESSAGES: {DIRECT_MESSAGES}, "unknown": set()}
    async with _runtime(wall) as connection:
        for theme, readable in expected.items():
            async with acting(connection, Context(theme, ANA)):
                for view in ("memory_agents", "v_agent_memory"):
                    rows = await connection.fetch(f"select agent_identity from hermes_memory.{view}")
                    assert {row[0] for row in rows} == readable, (theme, view)


async def test_the_view_of_agents_counts_what_its_reader_may_see(wall: Installation) -> None:
    async with _runtime(wall) as connection, acting(connection, Context(MARKETING, ANA)):
        row = await connection.fetchrow("select * from hermes_memory.v_agent_memory where agent_identity = 'marketing'")

    assert row is not None
    assert (row["entries"], row["turns"], row["sessions"], row["delegations"]) == (2 * ROWS + 1, 2 * ROWS, 2, 2)


async def test_a_sink_cannot_be_granted(wall: Installation) -> None:
    with pytest.raises(asyncpg.CheckViolationError):
        await wall.grant(MARKETING, DIRECT_MESSAGES)


async def test_a_caller_with_a_subject_who_is_in_no_theme_sees_its_subject_alone(wall: Installation) -> None:
    async with _runtime(wall) as connection, acting(connection, Context(None, ANA)):
        rows = await connection.fetch("select agent_identity, subject from hermes_memory.memory_entries")

    assert {subject for _, subject in pairs(rows)} == {ANA}


async def test_the_catalogue_shows_an_unbroken_wall(wall: Installation) -> None:
    async with wall.store() as store:
        assert (await store.inspector.verify()).problems == ()


@pytest.mark.parametrize(("hole", "named"), HOLES.items(), ids=lambda text: text[:70])
async def test_a_hole_in_the_wall_is_noticed_by_trying_it_and_by_looking_at_it(
    wall: Installation, hole: str, named: str
) -> None:
    names = {"role": f'"{wall.role}"', "database": f'"{wall.database}"'}
    await wall.administer_all(hole.format(**names))
    try:
        async with wall.store() as store:
            problems = (await store.inspector.verify()).problems
        failures = await _trial(wall, FEW, ReadPolicy.OPEN)
    finally:
        await wall.administer_all(MENDED.get(hole, "select").format(**names))

    named = named.format(role=wall.role)
    assert any(named in problem for problem in problems)
    assert failures or hole.endswith(UNSEEN)


@pytest.mark.parametrize("login", ["superuser", "hermes_memory_owner"])
async def test_a_login_that_looks_past_the_wall_is_told_so(wall: Installation, login: str) -> None:
    wall.runtime_dsn = wall.admin_dsn
    if login != "superuser":
        await wall.administer("alter role hermes_memory_owner login")
        wall.runtime_dsn = wall.server.dsn(wall.database, user=login)
    try:
        async with wall.store() as store:
            problems = (await store.inspector.verify()).problems
        failures = await _trial(wall, FEW, ReadPolicy.OPEN)
    finally:
        await wall.administer("alter role hermes_memory_owner nologin")

    assert any(login in problem and "connect as" in problem for problem in problems)
    assert failures


async def test_who_watches_sees_numbers_and_nothing_of_anybodys(wall: Installation) -> None:
    watcher = wall.server.unique_name("watcher")
    await wall.administer_all(f'create role "{watcher}" login; grant hermes_memory_readonly to "{watcher}"')
    granted = await _trial_of_reader(wall, watcher)
    connection = await asyncpg.connect(wall.server.dsn(wall.database, user=watcher))
    try:
        themes = await connection.fetch("select theme, entries, subjects from hermes_memory.theme_counts()")
        entries = await connection.fetchval("select entries from hermes_memory.store_counts()")
        for forbidden in ("memory_entries", "memory_rows", "memory_entries_p0", "history", "sessions", "memory_agents"):
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                await connection.fetch(f"select * from hermes_memory.{forbidden}")
    finally:
        await connection.close()
        await wall.administer_all(f'drop role "{watcher}"')

    assert granted == {"installation", "schema_migrations", "embedding_models", "sinks"}
    assert {row["theme"]: row["subjects"] for row in themes} == dict.fromkeys(THEMES, 2)
    assert entries == sum(row["entries"] for row in themes)


async def _trial_of_reader(place: Installation, role: str) -> set[str]:
    """Return what of the schema's relations a role may touch in any way."""
    recipe = await Recipe(place.admin_dsn, role, CLEO).look()
    return {relation.name for relation in recipe.relations if relation.rights}


async def test_history_keeps_every_change_with_a_salted_hash(wall: Installation) -> None:
    caller = Caller(theme=MARKETING, subject=ANA)
    async with wall.under_test() as store:
        await deliver(store, add("draft", caller), replace(by_content("draft"), "fair copy", caller))

    rows = await wall.administer("""
        select array_agg(change || ':' || coalesce(old_content, '') || ':' || coalesce(new_content, '') order by at)
          from hermes_memory.history
         where new_content in ('draft', 'fair copy') and octet_length(salt) = 16 and octet_length(row_hash) = 32""")

    assert rows == ["added::draft", "replaced:draft:fair copy"]
