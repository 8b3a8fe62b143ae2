"""The wall, tried with raw SQL as the runtime role: conditions dropped, doors tried, and the catalogue read.

The library is used to store the rows and for nothing else. What comes back is compared with the domain's rule.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import asyncpg
import pytest
import pytest_asyncio

from hermes_memory.adapters.postgres.context import caller_settings
from hermes_memory.domain.errors import InvalidInput
from hermes_memory.domain.model import DIRECT_MESSAGES, SINKS, Caller, ReadPolicy, Subject, Theme
from hermes_memory.domain.operations import RecordDelegation
from hermes_memory.domain.visibility import Access, changeable, visible
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
from tests.support.postgres import TestServer
from tests.support.postgres_store import ANALYZE, Installation, migrated

THEMES = (MARKETING, SALES, DIRECT_MESSAGES)
SUBJECTS = (None, ANA, BEN)
ROWS = 4
(LEXEME,) = ANALYZE("zebra")
EXPIRED = "2001-01-01T00:00:00Z"

READS = {
    "entries, nothing asked": "select agent_identity, subject from hermes_memory.memory_entries",
    "entries, all but mine": "select agent_identity, subject from hermes_memory.memory_entries "
    "where agent_identity <> coalesce(hermes_memory.ctx_theme(), '')",
    "entries, by known ids": "select agent_identity, subject from hermes_memory.memory_entries where id = any ($1)",
    "turns": "select agent_identity, subject from hermes_memory.conversations",
    "rows of both kinds": "select agent_identity, subject from hermes_memory.memory_rows",
    "documents of the text index": "select agent_identity, subject from hermes_memory.memory_documents",
    "posting blocks": "select agent_identity, subject from hermes_memory.term_blocks",
    "blocks of a word": f"select agent_identity, subject from hermes_memory.term_blocks where lexeme = '{LEXEME}'",
    "words by their vector": "select agent_identity, subject from hermes_memory.memory_entries "
    f"where lex @@ '{LEXEME}'::tsquery",
    "vectors, by nearness": "select agent_identity, subject from hermes_memory.entry_vectors_g1 "
    "order by embedding operator(public.<=>) '[1,0,0,0]' limit 1000",
    "vectors, exactly": "select agent_identity, subject from hermes_memory.entry_vectors_g1 "
    "order by (embedding operator(public.<=>) '[1,0,0,0]') + 0",
    "vectors of turns": "select agent_identity, subject from hermes_memory.turn_vectors_g1",
    "a join": "select e.agent_identity, e.subject from hermes_memory.memory_entries e "
    "join hermes_memory.entry_vectors_g1 v on v.row_id = e.id",
    "sessions": "select agent_identity, subject from hermes_memory.sessions",
    "history": "select agent_identity, subject from hermes_memory.history",
    "inbox": "select agent_identity, subject from hermes_memory.inbox",
    "jobs": "select agent_identity, subject from hermes_memory.embedding_jobs",
    "delegations": "select agent_identity, subject from hermes_memory.memory_agent_edges",
}

CHANGES = {
    "update entries": "update hermes_memory.memory_entries set tool = tool returning agent_identity, subject",
    "delete entries": "delete from hermes_memory.memory_entries returning agent_identity, subject",
    "update sessions": "update hermes_memory.sessions set turns = turns returning agent_identity, subject",
    "delete blocks": "delete from hermes_memory.term_blocks returning agent_identity, subject",
    "delete vectors": "delete from hermes_memory.entry_vectors_g1 returning agent_identity, subject",
    "delete jobs": "delete from hermes_memory.embedding_jobs returning agent_identity, subject",
}

FORBIDDEN = (
    "select * from hermes_memory.theme_grants",
    "select * from hermes_memory.seals",
    "select * from hermes_memory.memory_maintenance_log",
    "insert into hermes_memory.theme_grants (reader, source) values ('marketing', 'sales')",
    "insert into hermes_memory.sinks values ('marketing')",
    "delete from hermes_memory.sinks",
    "update hermes_memory.installation set read_policy = 'open'",
    "update hermes_memory.embedding_models set fed = false",
    "delete from hermes_memory.schema_migrations",
    "update hermes_memory.history set change = change",
    "delete from hermes_memory.history",
    "update hermes_memory.inbox set effect = effect",
    "delete from hermes_memory.inbox",
    "update hermes_memory.conversations set content = content",
    "delete from hermes_memory.conversations",
    "update hermes_memory.term_blocks set n = n",
    "insert into hermes_memory.entry_vectors_g1 select * from hermes_memory.entry_vectors_g1",
    "update hermes_memory.entry_vectors_g1 set part = part",
    "delete from hermes_memory.memory_agents",
    "select * from hermes_memory.memory_entries_p0",
    "select * from hermes_memory.entry_vectors_g1_p0",
    "truncate hermes_memory.memory_entries",
    "alter table hermes_memory.memory_entries disable row level security",
    "drop policy wall_read on hermes_memory.memory_entries",
    "create table hermes_memory.mine (x int)",
    "create table public.mine (x int)",
    "create temporary table mine (x int)",
    "create schema mine",
    "create function hermes_memory.mine() returns int language sql return 1",
    "set role hermes_memory_owner",
    "set session authorization hermes_memory_owner",
    "select pg_read_file('PG_VERSION')",
    "select last_value from hermes_memory.lex_numbers",
    "select hermes_memory.make_generation('mine', 4)",
    "select hermes_memory.activate_generation(1)",
    "select hermes_memory.admit_runtime('public')",
    "select hermes_memory.raise_wall('memory_entries')",
    "copy hermes_memory.memory_entries from '/dev/null'",
)

BREAKAGES = {
    "alter table hermes_memory.memory_entries disable row level security": "memory_entries",
    "alter table hermes_memory.history force row level security": "history",
    "create policy helpful on hermes_memory.conversations for select using (true)": "helpful on conversations",
    "grant select on hermes_memory.memory_entries_p1 to {role}": "memory_entries_p1",
    "grant select on all tables in schema hermes_memory to {role}": "conversations_p0",
    "grant truncate on hermes_memory.inbox to {role}": "inbox",
    "grant trigger on hermes_memory.sessions to {role}": "sessions",
    "grant hermes_memory_owner to {role}": "hermes_memory_owner",
    "alter role {role} bypassrls": "{role}",
    "alter function hermes_memory.ctx_themes() reset search_path": "ctx_themes",
    "grant temporary on database {database} to {role}": "temporary tables",
    "grant create on schema public to {role}": "schema public",
}


@dataclass(frozen=True)
class Context:
    """What the settings of a transaction say."""

    theme: str | None
    subject: Subject | None

    @property
    def settings(self) -> str:
        if not self.theme:
            unset = "" if self.theme is None else "set local hermes_memory.theme = ''; "
            return unset + f"set local hermes_memory.subject = '{self.subject.hex() if self.subject else ''}'"
        return caller_settings(self._asking)

    @property
    def _asking(self) -> Caller:
        # A sink without a subject cannot be a caller; in raw SQL it can be said all the same.
        caller = Caller(theme=Theme("anybody"), subject=self.subject)
        object.__setattr__(caller, "theme", Theme(self.theme or ""))
        return caller

    def sees(self, theme: Theme, subject: Subject | None, access: Access) -> bool:
        if not self.theme:
            return subject is not None and subject == self.subject
        return visible(theme, subject, self._asking, access)

    def may_change(self, theme: Theme, subject: Subject | None) -> bool:
        return bool(self.theme) and changeable(theme, subject, self._asking)


CONTEXTS = [
    Context(theme, subject)
    for theme in (None, "", "unknown", "'; set row_security = off; --", *THEMES)
    for subject in SUBJECTS
]


@pytest.fixture(scope="module")
def server() -> Iterator[TestServer]:
    with TestServer() as started:
        yield started


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
            await store.queue.complete({job.row: [(1.0, 0.0, 0.0, 0.0)] for job in jobs}, jobs)
            for theme in (MARKETING, SALES):
                await deliver(store, add("waits for its vector", Caller(theme=theme, subject=ANA)))
        await installation.grant(MARKETING, SALES)
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
async def _asking(connection: asyncpg.Connection[Any], context: Context) -> AsyncIterator[None]:
    """Act in a context and leave no trace."""
    transaction = connection.transaction()
    await transaction.start()
    try:
        await connection.execute(context.settings)
        yield
    finally:
        await transaction.rollback()


@asynccontextmanager
async def _runtime(place: Installation) -> AsyncIterator[asyncpg.Connection[Any]]:
    connection = await asyncpg.connect(place.runtime_dsn)
    try:
        yield connection
    finally:
        await connection.close()


async def _all(place: Installation, statement: str, *arguments: object) -> list[tuple[Theme, Subject | None]]:
    """Run a read as the superuser, for whom there is no wall."""
    connection = await asyncpg.connect(place.admin_dsn)
    try:
        return _pairs(await connection.fetch(statement, *arguments))
    finally:
        await connection.close()


def _pairs(records: list[asyncpg.Record]) -> list[tuple[Theme, Subject | None]]:
    return sorted(
        ((Theme(r[0]), Subject(r[1]) if r[1] else None) for r in records), key=lambda pair: (pair[0], pair[1] or b"")
    )


def _access(policy: ReadPolicy, context: Context) -> Access:
    granted = frozenset({SALES}) if context.theme == MARKETING else frozenset[Theme]()
    return Access(policy=policy, grants=granted)


@pytest.mark.parametrize("policy", list(ReadPolicy))
async def test_reads_without_their_conditions_return_what_the_rule_allows(
    wall: Installation, policy: ReadPolicy
) -> None:
    await wall.set_policy(policy)
    ids = await wall.administer("select array_agg(id) from hermes_memory.memory_entries")
    stored = {
        name: await _all(wall, sql.replace("hermes_memory.ctx_theme()", "null"), *([ids] if "$1" in sql else []))
        for name, sql in READS.items()
    }
    assert [name for name, rows in stored.items() if not rows] == []

    async with _runtime(wall) as connection:
        for context in CONTEXTS:
            access = _access(policy, context)
            async with _asking(connection, context):
                for name, statement in READS.items():
                    found = _pairs(await connection.fetch(statement, *([ids] if "$1" in statement else [])))
                    expected = [pair for pair in stored[name] if context.sees(*pair, access)]
                    if "all but mine" in name and context.theme:
                        expected = [pair for pair in expected if pair[0] != context.theme]
                    assert found == expected, (name, context)


@pytest.mark.parametrize("policy", [ReadPolicy.OPEN, ReadPolicy.GRANTS])
async def test_changes_without_their_conditions_change_what_is_ones_own(wall: Installation, policy: ReadPolicy) -> None:
    await wall.set_policy(policy)
    tables = {name: statement.replace("delete from", "update").split()[1] for name, statement in CHANGES.items()}
    stored = {name: await _all(wall, f"select agent_identity, subject from {tables[name]}") for name in CHANGES}

    async with _runtime(wall) as connection:
        for context in CONTEXTS:
            for name, statement in CHANGES.items():
                async with _asking(connection, context):
                    changed = _pairs(await connection.fetch(statement))
                    assert changed == [pair for pair in stored[name] if context.may_change(*pair)], (name, context)


async def test_rows_can_be_put_under_ones_own_theme_and_subject_only(wall: Installation) -> None:
    statement = """
        insert into hermes_memory.memory_entries
          (agent_identity, id, subject, target, content, content_hash, origin, said_at, created_at, updated_at,
           operation, lex, lex_key, lex_length)
        values ($1, gen_random_uuid(), $2, 'memory', 'smuggled', sha256('smuggled'), 'agent', now(), now(), now(),
                gen_random_uuid(), '', 0, 0)"""
    async with _runtime(wall) as connection:
        for context in CONTEXTS:
            for theme in THEMES:
                for subject in SUBJECTS:
                    allowed = context.may_change(theme, subject) and not (theme in SINKS and subject is None)
                    async with _asking(connection, context):
                        try:
                            await connection.execute(statement, theme, subject or b"")
                        except (asyncpg.InsufficientPrivilegeError, asyncpg.CheckViolationError):
                            assert not allowed, (context, theme, subject)
                        else:
                            assert allowed, (context, theme, subject)


async def test_an_entry_cannot_be_moved_to_another_theme_or_subject(wall: Installation) -> None:
    async with _runtime(wall) as connection:
        for move in ("agent_identity = 'sales'", f"subject = '\\x{BEN.hex()}'"):
            async with _asking(connection, Context(MARKETING, ANA)):
                with pytest.raises(asyncpg.InsufficientPrivilegeError):
                    await connection.execute(f"update hermes_memory.memory_entries set {move}")


async def test_conflicting_with_a_row_one_cannot_see_tells_nothing_and_loses_nothing(wall: Installation) -> None:
    """One subject's words never decide whether another's are kept."""
    async with wall.under_test() as store:
        for subject in (ANA, BEN):
            caller = Caller(theme=MARKETING, subject=subject)
            (outcome,) = await deliver(store, add("my PIN is 8841", caller))

            assert outcome.effect == "stored"


@pytest.mark.parametrize("statement", FORBIDDEN)
async def test_the_runtime_role_is_refused(template: Installation, statement: str) -> None:
    async with _runtime(template) as connection, _asking(connection, Context(MARKETING, ANA)):
        with pytest.raises((asyncpg.InsufficientPrivilegeError, asyncpg.UndefinedFunctionError)) as refusal:
            await connection.execute(statement)

        assert isinstance(refusal.value, asyncpg.InsufficientPrivilegeError)


async def test_switching_the_wall_off_is_an_error_and_no_way_around(template: Installation) -> None:
    async with _runtime(template) as connection, _asking(connection, Context(MARKETING, ANA)):
        await connection.execute("set local row_security = off")
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await connection.fetch("select * from hermes_memory.memory_entries")


async def test_an_error_about_a_hidden_row_never_comes_up(template: Installation) -> None:
    async with _runtime(template) as connection, _asking(connection, Context("unknown", None)):
        await template.set_policy(ReadPolicy.OWN)
        try:
            for table in ("memory_entries", "conversations", "memory_rows"):
                assert await connection.fetch(f"select content::int from hermes_memory.{table}") == []
        finally:
            await template.set_policy(ReadPolicy.OPEN)


async def test_a_context_ends_with_its_transaction(template: Installation) -> None:
    async with _runtime(template) as connection:
        async with _asking(connection, Context(MARKETING, ANA)):
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
            async with _asking(connection, Context(name, None)):
                assert await connection.fetchval("select hermes_memory.ctx_theme()") == name
                assert await connection.fetchval("select count(*) from hermes_memory.memory_agents") == 2

    with pytest.raises(InvalidInput):
        caller_settings(Caller(theme=Theme("a\0b")))


async def test_a_theme_that_is_nobody_elses_sees_itself_alone_in_the_registry(wall: Installation) -> None:
    await wall.set_policy(ReadPolicy.GRANTS)
    expected = {MARKETING: {MARKETING, SALES}, SALES: {SALES}, DIRECT_MESSAGES: {DIRECT_MESSAGES}, "unknown": set()}
    async with _runtime(wall) as connection:
        for theme, readable in expected.items():
            async with _asking(connection, Context(theme, ANA)):
                for view in ("memory_agents", "v_agent_memory"):
                    rows = await connection.fetch(f"select agent_identity from hermes_memory.{view}")
                    assert {row[0] for row in rows} == readable, (theme, view)


async def test_the_view_of_agents_counts_what_its_reader_may_see(wall: Installation) -> None:
    async with _runtime(wall) as connection, _asking(connection, Context(MARKETING, ANA)):
        row = await connection.fetchrow("select * from hermes_memory.v_agent_memory where agent_identity = 'marketing'")

    assert row is not None
    assert (row["entries"], row["turns"], row["sessions"], row["delegations"]) == (2 * ROWS + 1, 2 * ROWS, 2, 2)


async def test_a_sink_cannot_be_granted(wall: Installation) -> None:
    with pytest.raises(asyncpg.CheckViolationError):
        await wall.grant(MARKETING, DIRECT_MESSAGES)


async def test_a_caller_with_a_subject_who_is_in_no_theme_sees_its_subject_alone(wall: Installation) -> None:
    async with _runtime(wall) as connection, _asking(connection, Context(None, ANA)):
        rows = await connection.fetch("select agent_identity, subject from hermes_memory.memory_entries")

    assert {subject for _, subject in _pairs(rows)} == {ANA}


async def test_the_catalogue_shows_an_unbroken_wall(wall: Installation) -> None:
    async with wall.store() as store:
        assert (await store.inspector.verify()).problems == ()


@pytest.mark.parametrize(("breakage", "named"), BREAKAGES.items(), ids=lambda text: text.split(" to {")[0][:60])
async def test_a_broken_wall_is_noticed(server: TestServer, breakage: str, named: str) -> None:
    async with migrated(server) as wall:
        names = {"role": wall.role, "database": wall.database}
        await wall.administer(breakage.format(role=f'"{wall.role}"', database=f'"{wall.database}"'))
        async with wall.store() as store:
            problems = (await store.inspector.verify()).problems

        assert any(named.format(**names) in problem for problem in problems)


async def test_a_superuser_is_told_that_there_is_no_wall_before_it(wall: Installation) -> None:
    wall.runtime_dsn = wall.admin_dsn
    async with wall.store() as store:
        problems = (await store.inspector.verify()).problems

    assert any("superuser" in problem for problem in problems)


async def test_history_keeps_every_change_with_a_salted_hash(wall: Installation) -> None:
    caller = Caller(theme=MARKETING, subject=ANA)
    async with wall.under_test() as store:
        await deliver(store, add("draft", caller), replace(by_content("draft"), "fair copy", caller))

    rows = await wall.administer("""
        select array_agg(change || ':' || coalesce(old_content, '') || ':' || coalesce(new_content, '') order by at)
          from hermes_memory.history
         where new_content in ('draft', 'fair copy') and octet_length(salt) = 16 and octet_length(row_hash) = 32""")

    assert rows == ["added::draft", "replaced:draft:fair copy"]
