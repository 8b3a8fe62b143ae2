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
from tests.support.tables import for_each

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
    "alter function hermes_memory.ctx_subjects() immutable": "this version made: ctx_subjects()",
    "alter function hermes_memory.ctx_themes() volatile": "this version made: ctx_themes()",
    "alter function hermes_memory.ctx_theme() parallel unsafe": "this version made: ctx_theme()",
    "alter function hermes_memory.ctx_subject() strict": "this version made: ctx_subject()",
    "alter function hermes_memory.ctx_subject() leakproof": "this version made: ctx_subject()",
    "set local check_function_bodies = off; create or replace function hermes_memory.ctx_theme() returns text language "
    "plpgsql stable parallel safe set search_path = pg_catalog, pg_temp as\n"
    "$$ select nullif(current_setting('hermes_memory.theme', true), '') $$": "this version made: ctx_theme()",
    "create function hermes_memory.ctx_theme(as_of timestamptz) returns text language sql stable parallel safe set "
    "search_path = pg_catalog, pg_temp as\n$$ select nullif(current_setting('hermes_memory.theme', true), '') $$": (
        "this version made: ctx_theme()"
    ),
    "create or replace function hermes_memory.microseconds(moment timestamptz) returns text language sql immutable "
    "parallel safe return '0'": "this version made: microseconds()",
    "create or replace function hermes_memory.term_query(lexeme text) returns tsquery language sql immutable strict "
    "parallel safe security definer return 'peek'::tsquery": "term_query()",
    "alter function hermes_memory.term_frequency(tsvector, tsquery) set hermes_memory.theme = ''": "term_frequency()",
    "drop function hermes_memory.raise_wall(text) cascade": "raise_wall()",
    "drop function hermes_memory.change_form": "this version made: change_form()",
    "alter function hermes_memory.seal_lag() set schema public": "seal_lag()",
    "delete from hermes_memory.sinks where theme = 'whatsapp-dm'": "whatsapp-dm missing",
    "insert into hermes_memory.sinks values ('desk')": "desk too much",
    "drop policy wall_read on hermes_memory.inbox; create policy wall_read on hermes_memory.inbox as restrictive for "
    "select using (true)": "wall_read on inbox; mend it",
    "create function public.ctx_subjects() returns bytea[] language sql stable as 'select array[''\\x00''::bytea]'; "
    "alter policy wall_read on hermes_memory.sessions using (subject in (select unnest((select public.ctx_subjects())))"
    " or (subject = '' and (agent_identity = (select hermes_memory.ctx_theme()) or agent_identity in (select "
    "unnest((select hermes_memory.ctx_themes()))))))": "wall_read on sessions",
    "alter table hermes_memory.subject_members drop constraint subject_members_subject_check": (
        "subject_members CHECK((octet_length(subject)=32))"
    ),
    "alter table hermes_memory.theme_grants drop constraint sinks_are_never_granted, add constraint "
    "sinks_are_never_granted check (source not in ('whatsapp-dm', 'external-group', '_bench')) not valid": (
        "theme_grants CHECK((source<>ALL"
    ),
    # which words of one are in the way of another's
    "create unique index told on hermes_memory.memory_entries (agent_identity, lex_key)": "told; drop them",
    "create unique index told on hermes_memory.memory_entries (agent_identity, target, content_hash) "
    "include (subject)": "told; drop them",
    "create unique index told on hermes_memory.memory_entries (agent_identity, md5(content)) where subject <> ''": (
        "told; drop them"
    ),
    "create unique index told on hermes_memory.memory_entries_p1 (target, content_hash)": "told; drop them",
    "create unique index told on hermes_memory.history (agent_identity, new_content, merged_into) nulls not distinct": (
        "told; drop them"
    ),
    "alter table hermes_memory.memory_entries_p1 add constraint told exclude using btree (content_hash with =)": (
        "told; drop them"
    ),
    "alter table hermes_memory.memory_entries_p1 add constraint told unique (content_hash) deferrable": (
        "told; drop them"
    ),
    "create function public.same(bytea, bytea) returns int language sql immutable return 0; create operator class "
    "public.same for type bytea using btree as operator 1 <, operator 2 <=, operator 3 =, operator 4 >=, operator 5 >, "
    "function 1 public.same(bytea, bytea); create unique index told on hermes_memory.memory_entries "
    "(agent_identity, subject public.same, content_hash)": "told; drop them",
    # what sees rows on their way
    "create function public.tell(text) returns bool language plpgsql cost 0.0001 as 'begin raise notice ''%'', $1; "
    "return true; end'; create policy narrower on hermes_memory.inbox as restrictive using (public.tell(effect))": (
        "narrower on inbox"
    ),
    "create policy narrower on hermes_memory.memory_entries as restrictive using (content::int > 0)": (
        "narrower on memory_entries"
    ),
    "create policy narrower on hermes_memory.memory_entries as restrictive using (length(content) / 0 = 1)": (
        "narrower on memory_entries"
    ),
    "create policy narrower on hermes_memory.inbox as restrictive using (pg_notify('heard', effect) is not null)": (
        "narrower on inbox"
    ),
    "create function public.tell(text) returns bool language sql immutable return true; alter table "
    "hermes_memory.inbox add constraint heard check (public.tell(effect))": "heard on inbox",
    "alter table hermes_memory.inbox alter effect set default set_config('hermes_memory.subject', '00', false)": (
        "effect of inbox"
    ),
    "create function public.tell(text) returns bool language sql immutable return true; create index heard on "
    "hermes_memory.inbox (agent_identity) where public.tell(effect)": "heard; drop them",
    # what looks past it from elsewhere
    "create view public.peek as select content from hermes_memory.memory_entries; "
    "grant select on public.peek to {role}": "public.peek",
    "create view public.peek as select content from hermes_memory.memory_rows; "
    "create view public.peek_on with (security_barrier) as select * from public.peek; "
    "grant select (content) on public.peek_on to public": "public.peek_on",
    "create schema side; create view side.peek as select content from hermes_memory.memory_entries; grant select on "
    "side.peek to {role}; create view public.peek_on with (security_invoker) as table side.peek; "
    "grant select on public.peek_on to {role}": "side.peek",
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
    f"create schema side; create function side.peek() returns text {_PEEK} as 'select min(content) from "
    "hermes_memory.memory_entries'; create view public.peek with (security_invoker) as select side.peek(); "
    "grant select on public.peek to {role}": "side.peek()",
    f"create schema side; create function side.peek(int, int) returns int {_PEEK} as 'select 1'; "
    "create operator public.@@@ (function = side.peek, leftarg = int, rightarg = int)": "side.peek()",
    f"create function public.peek(int, int) returns int {_PEEK} as 'select 1'; revoke execute on function public.peek "
    "from public; create aggregate public.peeks(int) (sfunc = public.peek, stype = int)": "public.peek()",
    f"create type public.way as enum ('in'); create function public.peek(public.way) returns int {_PEEK} as "
    "'select 1'; revoke execute on function public.peek from public; create operator class public.ways for type "
    "public.way using hash as operator 1 = (anyenum, anyenum), function 1 public.peek(public.way)": "public.peek()",
    f"create function public.peek(int, int) returns float8 {_PEEK} immutable as 'select 1.0::float8'; revoke execute "
    "on function public.peek from public; create type public.span as range (subtype = int4, subtype_diff = "
    "public.peek)": "public.peek()",
    f"create function public.peek() returns int {_PEEK} as 'select 1'; alter extension plpgsql add function "
    "public.peek()": "public.peek()",
    "create function public.peek() returns event_trigger language plpgsql security definer as 'begin end'; revoke "
    "execute on function public.peek from public; create event trigger peeks on ddl_command_start execute function "
    "public.peek()": "public.peek()",
    "create function public.peek() returns event_trigger language plpgsql security definer as 'begin end'; "
    "create event trigger peeks on ddl_command_end execute function public.peek(); alter extension plpgsql add "
    "function public.peek()": "public.peek()",
    f"create function public.peek() returns int {_PEEK} as 'select 1'; alter extension vector add function "
    "public.peek()": "public.peek()",
    "create function public.through() returns trigger language plpgsql security definer as 'begin return new; end'; "
    "revoke execute on function public.through() from public; create table public.letterbox (theme text); "
    "create trigger through before insert on public.letterbox for each row execute function public.through(); "
    "grant insert on public.letterbox to {role}": "public.through()",
    "create function public.tell(text) returns bool language plpgsql immutable leakproof as "
    "'begin raise notice ''%'', $1; return true; end'": "public.tell()",
    "create function pg_catalog.tell(text) returns bool language sql immutable leakproof return true": (
        "pg_catalog.tell()"
    ),
    "alter function pg_catalog.int4div(int, int) leakproof": "pg_catalog.int4div()",
    "update pg_language set lanpltrusted = true where lanname = 'internal'": "marked as trusted",
    "create table public.spare as select * from hermes_memory.memory_entries; "
    "grant select on public.spare to public": "public.spare",
    "create table public.spare as select * from hermes_memory.memory_entries; alter table public.spare enable "
    "row level security; create policy all_of_it on public.spare using (true); "
    "grant select on public.spare to {role}": "public.spare",
    "create function public.taken() returns setof hermes_memory.inbox language sql as 'table hermes_memory.inbox'; "
    "create materialized view public.spare as select * from public.taken(); grant select on public.spare to {role}": (
        "public.spare"
    ),
    "create schema side; create table side.spare as select * from hermes_memory.memory_entries; grant select on "
    "side.spare to {role}": "side.spare",
    "create table public.forebear (subject bytea); alter table hermes_memory.subject_members inherit public.forebear": (
        "public.forebear"
    ),
    "create table public.whole (like hermes_memory.inbox) partition by list (agent_identity); alter table public.whole "
    "enable row level security; alter table public.whole attach partition hermes_memory.inbox default": "public.whole",
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
    "alter role hermes_memory_readonly bypassrls": "role hermes_memory_readonly looks past",
    "grant hermes_memory_owner to hermes_memory_readonly": "role hermes_memory_readonly looks past",
    "grant pg_read_all_data to hermes_memory_readonly": "role hermes_memory_readonly looks past",
    "grant {role} to hermes_memory_readonly": "role hermes_memory_readonly looks past",
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
    (
        "create policy narrower on hermes_memory.inbox as restrictive using (agent_identity <> 'desk' "
        "and agent_identity = (select hermes_memory.ctx_theme()))"
    ),
    "create unique index once on hermes_memory.memory_entries (agent_identity, subject, content_hash) include (target)",
    "alter function hermes_memory.ctx_theme() cost 10",
    f"create schema side; create function side.unseen() returns int {_PEEK} as 'select 1'",
    (
        "create function public.counted() returns event_trigger language plpgsql security definer as 'begin end'; "
        "create event trigger counts on ddl_command_end execute function public.counted(); "
        "alter extension vector add function public.counted()"
    ),
    (
        "create schema audit; revoke all on schema audit from public; create table public.orders (id int); "
        "create function audit.noted() returns trigger language plpgsql security definer as 'begin return new; end'; "
        "create trigger audited after insert on public.orders for each row execute function audit.noted()"
    ),
    "create function public.touched() returns trigger language plpgsql security definer as 'begin return new; end'",
    (
        "create table public.walled as select * from hermes_memory.memory_entries; alter table public.walled enable "
        "row level security; create policy own on public.walled using (subject = hermes_memory.ctx_subject()); "
        "grant select on public.walled to {role}"
    ),
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


@for_each(("hole", "named"), HOLES.items())
async def test_a_way_around_the_wall_is_named(place: Installation, hole: str, named: str) -> None:
    names, problems = await _problems(place, hole)

    assert any(named.format(**names) in problem for problem in problems), problems


@for_each("statements", HARMLESS)
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
