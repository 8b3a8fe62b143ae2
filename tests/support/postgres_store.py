"""A migrated Postgres store for tests: one template a module, a copy of it a test, the runtime role throughout."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any, Final

import asyncpg
import pytest

from hermes_memory.adapters.postgres.migrator import migrate
from hermes_memory.adapters.postgres.pool import Pool
from hermes_memory.adapters.postgres.store import PostgresStore
from hermes_memory.adapters.stemming import snowball_stem
from hermes_memory.domain.lexemes import Analyzer
from hermes_memory.domain.model import ReadPolicy, RowId, Subject, Theme
from hermes_memory.testing import CONTRACT_GENERATION, StoreUnderTest
from tests.support.postgres import TestServer

PARTITIONS: Final = 4
ANALYZE: Final = Analyzer(stem=snowball_stem()).analyze


class Installation:
    """A migrated database, seen by its administrator and by the runtime role.

    Attributes:
        admin_dsn: The superuser's address of the database.
        runtime_dsn: The runtime role's address of the same.
        role: Name of the runtime role.
    """

    def __init__(self, server: TestServer, database: str, role: str) -> None:
        self.server = server
        self.database = database
        self.role = role
        self.admin_dsn = server.dsn(database)
        self.runtime_dsn = server.dsn(database, user=role)

    @asynccontextmanager
    async def administrator(self) -> AsyncIterator[asyncpg.Connection[asyncpg.Record]]:
        """Give a connection of the superuser's."""
        connection = await asyncpg.connect(self.admin_dsn, timeout=30.0, command_timeout=60.0)
        try:
            yield connection
        finally:
            await connection.close()

    async def administer(self, statement: str, *arguments: object) -> Any:
        """Run a statement as the superuser and return the first value of its first row, None when there is none."""
        async with self.administrator() as connection:
            return await connection.fetchval(statement, *arguments)

    async def administer_all(self, statements: str) -> None:
        """Run any number of statements as the superuser."""
        async with self.administrator() as connection:
            await connection.execute(statements)

    async def rows(self, statement: str, *arguments: object) -> list[tuple[Any, ...]]:
        """Run a statement as the superuser and return its rows."""
        async with self.administrator() as connection:
            return [tuple(record) for record in await connection.fetch(statement, *arguments)]

    @asynccontextmanager
    async def copy(self) -> AsyncIterator[Installation]:
        """Give a fresh copy of this database, dropped afterwards."""
        name = self.server.unique_name("copy")
        await self.server.create_database(name, template=self.database)
        try:
            copied = Installation(self.server, name, self.role)
            # A copy keeps what is in the database, not the rights on it.
            await copied.administer(f'revoke temporary, create on database "{name}" from public')
            yield copied
        finally:
            await self.server.drop_database(name)

    @asynccontextmanager
    async def store(self, **options: Any) -> AsyncIterator[PostgresStore]:
        """Open the store as the runtime role."""
        pool = Pool(lambda: self.runtime_dsn, max_size=4)
        try:
            yield PostgresStore(pool, analyze=ANALYZE, **options)
        finally:
            await pool.close()

    @asynccontextmanager
    async def under_test(self) -> AsyncIterator[StoreUnderTest]:
        """Open the store with the levers of the contract suites."""
        async with self.store() as store:
            yield StoreUnderTest(
                delivery=store.delivery,
                search=store.search,
                reader=store.reader,
                queue=store.queue,
                people=store.people,
                inspector=store.inspector,
                analyze=ANALYZE,
                set_policy=self.set_policy,
                grant=self.grant,
                merge=self.merge,
                erase_turn=self.erase_turn,
                pass_time=_sleep,
            )

    async def require_refused(self, *statements: str) -> None:
        """Make sure that the runtime role lacks the right to run any of these statements."""
        connection = await asyncpg.connect(self.runtime_dsn, timeout=30.0, command_timeout=60.0)
        try:
            for statement in statements:
                with pytest.raises(asyncpg.InsufficientPrivilegeError):
                    await connection.execute(statement)
        finally:
            await connection.close()

    async def set_policy(self, policy: ReadPolicy) -> None:
        """Set the read policy."""
        await self.administer(f"update hermes_memory.installation set read_policy = '{policy}'")

    async def keep_forgotten(self, days: float) -> None:
        """Set how long what was forgotten keeps its texts."""
        await self.administer("update hermes_memory.installation set forgotten_days = $1", days)

    async def grant(self, reader: Theme | Subject, source: Theme, *, expires_at: datetime | None = None) -> None:
        """Let a theme, or somebody, read another theme."""
        theme, subject = ("", reader) if isinstance(reader, bytes) else (reader, b"")
        await self.administer(
            "insert into hermes_memory.theme_grants (reader, subject, source, expires_at) values ($1, $2, $3, $4) "
            "on conflict (reader, subject, source) do update set expires_at = excluded.expires_at",
            *(theme, subject, source, expires_at),
        )

    async def merge(self, *subjects: Subject) -> None:
        """Let subjects be one person."""
        await self.administer(
            "insert into hermes_memory.subject_members (subject, person) "
            "select u.s, md5(encode($1::bytea, 'hex'))::uuid from unnest($2::bytea[]) as u(s)",
            *(min(subjects), list(subjects)),
        )

    async def erase_turn(self, row: RowId) -> None:
        """Remove a turn with its vectors, as the owner would."""
        async with self.administrator() as connection, connection.transaction():
            theme = await connection.fetchval(
                "select agent_identity from hermes_memory.conversations where id = $1", row
            )
            await connection.execute("select hermes_memory.forget_turn_vectors($1, array[$2::uuid])", theme, row)
            await connection.execute("delete from hermes_memory.conversations where id = $1", row)


async def _sleep(seconds: float) -> None:
    await asyncio.sleep(seconds)


@asynccontextmanager
async def migrated(
    server: TestServer,
    generation: tuple[str, int] = (CONTRACT_GENERATION.model, CONTRACT_GENERATION.dimension),
    *,
    part_tokens: int | None = None,
) -> AsyncIterator[Installation]:
    """Give a database that was migrated for the vectors of a generation, dropped afterwards.

    Roles are the cluster's and go with it.
    """
    name, role = server.unique_name("template"), server.unique_name("app")
    dsn = await server.create_database(name)
    try:
        await migrate(dsn, runtime_role=role, partitions=PARTITIONS, generation=generation, part_tokens=part_tokens)
        yield Installation(server, name, role)
    finally:
        await server.drop_database(name)
