"""What the doctor must find in the catalogue: holes that are beside the wall, or that open it to nobody yet."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Sequence

import asyncpg
import pytest
import pytest_asyncio

from hermes_memory.adapters.postgres.context import caller_settings
from hermes_memory.adapters.postgres.inspector import problems_found
from hermes_memory.adapters.postgres.pool import Transaction
from hermes_memory.adapters.postgres.role_checks import STANDING_SETTINGS
from tests.support.postgres_store import Installation

_PEEK = "language sql security definer set search_path = pg_catalog, pg_temp"

HOLES = {
    # who is asking, and what the wall is made of
    "alter role {role} in database {database} set hermes_memory.theme = 'desk'": "hermes_memory.theme for the runtime",
    "alter database {database} set hermes_memory.subject = '00'": "hermes_memory.subject for every role",
    "alter role all in database {database} set row_security = off": "row_security for every role",
    "alter role {role} set search_path = evil": "search_path for the runtime role",
    "alter database {database} set session_replication_role = replica": "session_replication_role for every role",
    "alter function hermes_memory.ctx_theme() set hermes_memory.theme = 'desk'": "ctx_theme()",
    "alter function hermes_memory.ctx_theme() reset search_path": "ctx_theme()",
    "create or replace function hermes_memory.ctx_theme() returns text language sql stable return 'sales'": (
        "this version made: ctx_theme()"
    ),
    "create function hermes_memory.peek() returns int language sql return 1": "this version made: peek()",
    "alter function hermes_memory.forget_vectors(text, uuid[]) security definer": "forget_vectors()",
    "create or replace function hermes_memory.term_query(lexeme text) returns tsquery language sql immutable strict "
    "parallel safe security definer return 'peek'::tsquery": "term_query()",
    "alter function hermes_memory.term_frequency(tsvector, tsquery) set hermes_memory.theme = ''": "term_frequency()",
    "drop function hermes_memory.raise_wall(text) cascade": "raise_wall()",
    "drop function hermes_memory.change_form": "this version made: change_form()",
    "alter function hermes_memory.seal_lag() set schema public": "seal_lag()",
    "delete from hermes_memory.sinks where theme = 'whatsapp-dm'": "whatsapp-dm missing",
    "insert into hermes_memory.sinks values ('desk')": "desk too much",
    # what looks past it from elsewhere
    "create view public.peek as select content from hermes_memory.memory_entries; "
    "grant select on public.peek to {role}": "public.peek",
    "create view public.peek as select content from hermes_memory.memory_rows; "
    "create view public.peek_on with (security_barrier) as select * from public.peek; "
    "grant select (content) on public.peek_on to public": "public.peek_on",
    "create materialized view public.peek as select * from hermes_memory.sessions; "
    "grant select on public.peek to {role}": "public.peek",
    "create materialized view hermes_memory.peek as select * from hermes_memory.sessions; "
    "grant select on hermes_memory.peek to {role}": "past the wall: peek",
    "create table public.letterbox (theme text); grant insert on public.letterbox to {role}; create rule through as on "
    "insert to public.letterbox do also delete from hermes_memory.inbox where agent_identity = new.theme": (
        "public.letterbox"
    ),
    f"create function public.peek() returns setof text {_PEEK} as "
    "'select content from hermes_memory.memory_entries'": "public.peek()",
    f"create schema side; create function side.peek() returns bigint {_PEEK} begin atomic "
    "select count(*) from hermes_memory.history; end; grant usage on schema side to {role}": "side.peek()",
    "create function public.through() returns trigger language plpgsql security definer as 'begin return new; end'; "
    "revoke execute on function public.through() from public; create table public.letterbox (theme text); "
    "create trigger through before insert on public.letterbox for each row execute function public.through(); "
    "grant insert on public.letterbox to {role}": "public.through()",
    "create function public.tell(text) returns bool language plpgsql immutable leakproof as "
    "'begin raise notice ''%'', $1; return true; end'": "public.tell()",
    "create table public.spare as select * from hermes_memory.memory_entries; "
    "grant select on public.spare to public": "public.spare",
    "create table public.heir () inherits (hermes_memory.theme_grants)": "public.heir",
    "alter table hermes_memory.memory_entries_p1 set schema public": "public.memory_entries_p1",
    "create function public.through() returns trigger language plpgsql as 'begin return new; end'; create trigger "
    "listens before insert on hermes_memory.inbox for each row execute function public.through()": "listens on inbox",
    "create rule also as on insert to hermes_memory.inbox do also notify heard": "also on inbox",
    "create table public.asks (theme text references hermes_memory.sinks)": "asks_theme_fkey on sinks",
    "create foreign data wrapper far; create server loop foreign data wrapper far; "
    "grant usage on foreign server loop to {role}": "server loop",
    "create foreign data wrapper far; create server loop foreign data wrapper far; create foreign table "
    "public.far (content text) server loop; grant select on public.far to public": "table public.far",
    # who may do what
    "grant select on hermes_memory.theme_grants to {role}": "{role} has SELECT on theme_grants",
    "grant update on hermes_memory.history to {role}": "{role} has UPDATE on history",
    "grant update (seal) on hermes_memory.history to {role}": "{role} has UPDATE (seal) on history",
    "grant select on hermes_memory.sinks to public": "everybody has SELECT on sinks",
    "grant select on hermes_memory.sinks to {role} with grant option": "on sinks and may pass it on",
    "grant select on hermes_memory.memory_entries to hermes_memory_readonly": (
        "hermes_memory_readonly has SELECT on memory_entries"
    ),
    "grant delete on all tables in schema hermes_memory to hermes_memory_readonly": "DELETE on seals and 4 more",
    "create role {other}; grant select on hermes_memory.subject_members to {other}": "SELECT on subject_members",
    "grant update on sequence hermes_memory.lex_numbers to {role}": "UPDATE on lex_numbers",
    "grant execute on function hermes_memory.erase_changes(text, uuid[]) to {role}": "EXECUTE on erase_changes()",
    "grant create on schema hermes_memory to hermes_memory_readonly": "CREATE on schema hermes_memory",
    "revoke insert on hermes_memory.inbox from {role}": "{role} lacks INSERT on inbox",
    "revoke delete on hermes_memory.turn_vectors_g1 from {role}": "{role} lacks DELETE on turn_vectors_g1",
    "revoke usage on sequence hermes_memory.lex_numbers from {role}": "{role} lacks USAGE on lex_numbers",
    "revoke execute on function hermes_memory.seal_lag() from {role}": "{role} lacks EXECUTE on seal_lag()",
    "revoke select on hermes_memory.sinks from hermes_memory_readonly": "hermes_memory_readonly lacks SELECT on sinks",
    "alter default privileges for role hermes_memory_owner in schema hermes_memory grant select on tables to {role}": (
        "SELECT for {role}"
    ),
    "alter default privileges for role hermes_memory_owner grant execute on functions to public": (
        "EXECUTE for everybody"
    ),
    "alter sequence hermes_memory.lex_numbers owner to {role}": "lex_numbers belong to another role",
    # what the cluster lets the role do
    "grant pg_monitor to {role}": "pg_monitor",
    "create role {other} noinherit; grant pg_execute_server_program to {other}; grant {other} to {role}": (
        "pg_execute_server_program"
    ),
    "alter role {role} noinherit; create role {other} bypassrls; grant {other} to {role}": "{other} is a superuser or",
    "alter role {role} noinherit; create role {other} replication; grant {other} to {role}": "replication",
    "alter role {role} noinherit; create role {other}; grant create on schema public to {other}; "
    "grant {other} to {role}": "objects in schema public",
    "alter role {role} noinherit; create role {other}; grant {other} to {role}; "
    "create view public.peek as select content from hermes_memory.memory_entries; "
    "grant select on public.peek to {other}": "public.peek",
    "grant set on parameter session_replication_role to {role}": "session_replication_role (SET)",
    "grant execute on function pg_read_file(text) to {role}": "EXECUTE on pg_read_file()",
    "grant select on pg_statistic to public": "SELECT on pg_statistic",
    "grant select (rolpassword) on pg_authid to {role}": "SELECT on pg_authid",
}
"""What opens a way, and what the doctor must name."""

HARMLESS = (
    "create view public.fair with (security_invoker) as table hermes_memory.inbox; grant select on fair to {role}",
    "create view public.unused as select content from hermes_memory.memory_entries",
    f"create function unused() returns int {_PEEK} as 'select 1'; revoke execute on function unused() from public",
    "create function public.own() returns text language sql as 'select hermes_memory.ctx_theme()'",
    "create table public.theirs (agent_identity text, subject bytea)",
    "create table public.others (content text); grant select, insert on public.others to public",
    "create role {other}; grant {other} to {role}",
    "create role {other}; grant hermes_memory_readonly to {other}",
    "create role {other}; select hermes_memory.admit_runtime('{plain_other}')",
    "create role {other}; alter role {other} set search_path = theirs",
    "alter role {role} in database {database} set statement_timeout = '5s'",
    "create foreign data wrapper far; create server loop foreign data wrapper far",
    "alter default privileges grant select on tables to public",
    "create policy narrower on hermes_memory.inbox as restrictive using (true)",
)
"""What stands beside the wall and opens nothing."""


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def place(template: Installation) -> AsyncIterator[Installation]:
    """One database for all holes: each is made in a transaction, and taken back with it."""
    async with template.copy() as copied:
        yield copied


async def _problems(place: Installation, statements: str) -> tuple[dict[str, str], Sequence[str]]:
    """Run statements as the superuser, and tell what the runtime role finds then."""
    other = place.server.unique_name("other")
    names = {"role": f'"{place.role}"', "database": f'"{place.database}"', "other": f'"{other}"', "plain_other": other}
    async with place.administrator() as connection:
        made = connection.transaction()
        await made.start()
        try:
            await connection.execute(statements.format(**names))
            await connection.execute(f'set local role "{place.role}"')
            asked = Transaction(connection, deadline=math.inf, longest=60.0, caller=None)
            problems = await problems_found(asked)
        finally:
            await made.rollback()
    return {"role": place.role, "other": other}, problems


@pytest.mark.parametrize(("hole", "named"), HOLES.items(), ids=lambda text: text[:70])
async def test_a_way_around_the_wall_is_named(place: Installation, hole: str, named: str) -> None:
    names, problems = await _problems(place, hole)

    assert any(named.format(**names) in problem for problem in problems), problems


@pytest.mark.parametrize("statements", HARMLESS, ids=lambda text: text[:70])
async def test_what_opens_nothing_is_not_complained_of(place: Installation, statements: str) -> None:
    _, problems = await _problems(place, statements)

    assert list(problems) == []


async def test_a_context_that_no_catalogue_shows_is_named(database: Installation) -> None:
    """It may stand in the server's configuration, or be said where a session begins."""
    connection = await asyncpg.connect(database.runtime_dsn, server_settings={"hermes_memory.theme": "desk"})
    try:
        async with connection.transaction(readonly=True):
            await connection.execute(caller_settings(None))
            named = [row["name"] for row in await connection.fetch(STANDING_SETTINGS.statement)]
        afterwards = await connection.fetchval("select hermes_memory.ctx_theme()")
    finally:
        await connection.close()

    assert named == ["hermes_memory.theme for new sessions"]
    assert afterwards == "desk"


async def test_a_trigger_at_each_login_is_named(database: Installation) -> None:
    if int(await database.administer("show server_version_num")) < 170000:
        with pytest.raises(asyncpg.PostgresSyntaxError):
            await database.administer("create event trigger hello on login execute function pg_catalog.now()")
        return
    await database.administer_all(
        "create function public.hello() returns event_trigger language plpgsql as "
        "$$ begin perform set_config('hermes_memory.theme', 'desk', false); end $$; "
        "create event trigger hello on login execute function public.hello()"
    )
    async with database.store() as store:
        problems = (await store.inspector.verify()).problems

    assert any("act at each login" in problem and "hello" in problem for problem in problems)
