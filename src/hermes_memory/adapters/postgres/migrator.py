"""Brings a database to the schema of this version. Run by an operator with an admin login, never by the runtime."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, LiteralString

import asyncpg

from hermes_memory.adapters.postgres.database import ensure_vector, require_server, tighten
from hermes_memory.adapters.postgres.errors import ADMIN_DSN, DRIVER_ERRORS, domain_error
from hermes_memory.adapters.postgres.ledger import (
    CREATE_LEDGER,
    NOTE_IN_LEDGER,
    READ_LEDGER,
    Migration,
    check_unchanged,
    shipped,
)
from hermes_memory.adapters.postgres.lone_connection import lone_connection
from hermes_memory.adapters.postgres.roles import OWNER, READONLY, ensure_roles
from hermes_memory.adapters.postgres.statements import composed, identifier
from hermes_memory.domain.errors import ConfigurationError, HermesMemoryError, InvalidInput
from hermes_memory.domain.model import ReadPolicy

if TYPE_CHECKING:
    from hermes_memory.adapters.postgres.statements import Connection

logger = logging.getLogger(__name__)

RUNTIME_ROLE: Final = "hermes_memory_app"
FLEET_PARTITIONS: Final = 32
MAX_PARTITIONS: Final = 256
ATTEMPTS: Final = 5

# Transaction-level, so that it also holds behind a transaction pooler.
LOCK: Final[LiteralString] = "select pg_advisory_xact_lock(hashtextextended('hermes_memory migrations', 0))"

SCHEMA_OWNER: Final[LiteralString] = "select nspowner::regrole::text from pg_namespace where nspname = 'hermes_memory'"

FACTS: Final[LiteralString] = "select partitions, read_policy, active_generation from hermes_memory.installation"

HAS_GENERATION: Final[LiteralString] = "select active_generation is not null from hermes_memory.installation"

WITHDRAW: Final[LiteralString] = "select hermes_memory.withdraw_unused_generation($1, $2)"

MAKE: Final[LiteralString] = "select hermes_memory.make_generation($1, $2)"

NOTE_PARTS: Final[LiteralString] = "update hermes_memory.embedding_models set part_tokens = $2 where generation = $1"

BECOME_OWNER: Final = composed("set local role {owner}", owner=identifier(OWNER))


@dataclass(frozen=True, slots=True, kw_only=True)
class MigrationReport:
    """What a migration found and did.

    Attributes:
        applied: Names of the migrations applied now, in order; empty when the schema was up to date.
        partitions: Hash partitions of each row-bearing table, as fixed by the first migration.
        generation: The embedding generation in use, None when there is none.
        warnings: What could not be done with the rights of the admin login, each a sentence.
    """

    applied: tuple[str, ...]
    partitions: int
    read_policy: ReadPolicy
    generation: int | None
    runtime_role: str
    warnings: tuple[str, ...] = ()


async def migrate(
    admin_dsn: str,
    *,
    runtime_role: str = RUNTIME_ROLE,
    runtime_password: str | None = None,
    partitions: int = FLEET_PARTITIONS,
    read_policy: ReadPolicy | None = None,
    forgotten_days: float | None = None,
    generation: tuple[str, int] | None = None,
    part_tokens: int | None = None,
    timeout: float = 300.0,
) -> MigrationReport:
    """Make roles, extension and schema, apply the migrations that are missing, and grant the runtime role its rights.

    It may be run again at any time, and by several at once: each finds done what another has done.

    Args:
        admin_dsn: Login that may create roles and, in the database, schemas and extensions.
        runtime_role: The unprivileged role of the runtime; made when missing.
        runtime_password: Password to give it; None leaves what it has.
        partitions: Hash partitions of each row-bearing table, 1 to 256. Only the first migration heeds it.
        read_policy: Which themes read each other from now on; None keeps what holds, at first `ReadPolicy.OPEN`.
        forgotten_days: Days, 0 to 36,500, that what is forgotten keeps its texts from now on; None keeps what holds, at
            first 30.
        generation: Model and dimension of the first embedding generation, which is used at once. One that there is
            stays in use, whatever its model: another is filled first, and then switched to. Only one that holds no
            vector gives way, if none is under way for it either, and it is the only one.
        part_tokens: The longest parts, in estimated tokens, that texts are cut into for it.
        timeout: Seconds to wait for a single statement, the wait for another migration included.

    Raises:
        StoreUnavailable: The database cannot be reached.
        ConfigurationError: The server, the extension, the login or a role is not fit; the message names the remedy.
        InvalidInput: An argument is out of range.
    """
    if not 1 <= partitions <= MAX_PARTITIONS:
        raise InvalidInput(f"the number of partitions lies between 1 and {MAX_PARTITIONS}", field="partitions")
    async with _admin(admin_dsn, timeout) as connection:
        await _prepare_repeatedly(connection, runtime_role, runtime_password)
        applied = [m.name for m in shipped() if await _apply(connection, m, partitions)]
        facts = await _finish(
            connection, runtime_role, read_policy, forgotten_days, generation and (*generation, part_tokens)
        )
        async with _locked(connection):
            warnings = await tighten(connection, runtime_role)
    return MigrationReport(
        applied=tuple(applied),
        partitions=facts["partitions"],
        read_policy=ReadPolicy(facts["read_policy"]),
        generation=facts["active_generation"],
        runtime_role=runtime_role,
        warnings=warnings,
    )


@asynccontextmanager
async def _admin(dsn: str, timeout: float) -> AsyncIterator[Connection]:
    """Open the admin's connection and turn what goes wrong into errors an operator can act upon."""
    try:
        async with lone_connection("migrate", timeout=timeout, dsn=dsn) as connection:
            yield connection
    except DRIVER_ERRORS as error:
        raise _operator_error(error) from error


def _operator_error(error: BaseException) -> HermesMemoryError:
    if not isinstance(error, asyncpg.PostgresError):
        return domain_error(error, address=ADMIN_DSN)
    state = error.sqlstate or ""
    if state == "42501":
        return ConfigurationError("the admin login lacks rights: it must create roles, and schemas in this database")
    if state.startswith("28"):
        return ConfigurationError("the database refuses the admin login: check user and password")
    if state == "3D000":
        return ConfigurationError("there is no such database: create it first")
    if state[:2] in {"08", "53", "55", "57"}:
        return domain_error(error)
    return ConfigurationError(f"the migration failed ({state} {type(error).__name__}); nothing of the step was kept")


async def _prepare_repeatedly(connection: Connection, runtime_role: str, runtime_password: str | None) -> None:
    """Prepare roles, extension and schema; another database's migration may change the same catalogue rows."""
    for attempt in range(ATTEMPTS):
        try:
            async with _locked(connection):
                await _prepare(connection, runtime_role, runtime_password)
        except asyncpg.InternalServerError:
            if attempt == ATTEMPTS - 1:
                raise
        else:
            return


async def _prepare(connection: Connection, runtime_role: str, runtime_password: str | None) -> None:
    version = await require_server(connection)
    await ensure_roles(connection, runtime_role=runtime_role, runtime_password=runtime_password, server_version=version)
    await ensure_vector(connection)
    await connection.execute(
        composed("create schema if not exists hermes_memory authorization {owner}", owner=identifier(OWNER))
    )
    if (owner := await connection.fetchval(SCHEMA_OWNER)) != OWNER:
        raise ConfigurationError(f"the schema hermes_memory belongs to {owner}, not to {OWNER}: give it to that role")
    await connection.execute(BECOME_OWNER)
    # Functions are open to everybody unless their owner says otherwise before making them.
    await connection.execute("alter default privileges revoke execute on functions from public")
    await connection.execute(CREATE_LEDGER)


async def _apply(connection: Connection, migration: Migration, partitions: int) -> bool:
    """Apply a migration in a transaction of its own, unless it was; tell whether it was applied now."""
    async with _locked(connection):
        await connection.execute(BECOME_OWNER)
        recorded = {row["name"]: row["checksum"] for row in await connection.fetch(READ_LEDGER)}
        if migration.name in recorded:
            check_unchanged(migration, recorded[migration.name])
            return False
        await connection.execute(composed("set local hermes_memory.partitions = '{number}'", number=partitions))
        await connection.execute(migration.statements)
        await connection.execute(NOTE_IN_LEDGER, migration.name, migration.checksum)
    logger.info("migration applied", extra={"action": "migrate.applied", "migration": migration.name})
    return True


async def _finish(
    connection: Connection,
    runtime_role: str,
    read_policy: ReadPolicy | None,
    forgotten_days: float | None,
    generation: tuple[str, int, int | None] | None,
) -> asyncpg.Record:
    """Settle policy, retention and generation, then the grants, which also cover the generation's tables."""
    async with _locked(connection):
        await connection.execute(BECOME_OWNER)
        if read_policy is not None:
            await connection.execute("update hermes_memory.installation set read_policy = $1", str(read_policy))
        if forgotten_days is not None:
            await connection.execute("update hermes_memory.installation set forgotten_days = $1", forgotten_days)
        if generation is not None:
            await _make_first_generation(connection, *generation)
        await connection.execute("select hermes_memory.admit_runtime($1)", runtime_role)
        await connection.execute("select hermes_memory.admit_readonly($1)", READONLY)
        facts = await connection.fetchrow(FACTS)
    if facts is None:
        raise ConfigurationError("the table hermes_memory.installation is empty: restore its row from a backup")
    return facts


async def _make_first_generation(connection: Connection, model: str, dimension: int, part_tokens: int | None) -> None:
    """Make the first generation, unless there is one that does not give way; see `migrate`."""
    withdrawn = await connection.fetchval(WITHDRAW, model, dimension)
    if withdrawn is not None:
        logger.warning(
            "an embedding generation without vectors gives way to that of the configured model",
            extra={"action": "migrate.generation", "generation": withdrawn},
        )
    if not await connection.fetchval(HAS_GENERATION):
        await connection.execute(NOTE_PARTS, await connection.fetchval(MAKE, model, dimension), part_tokens)


@asynccontextmanager
async def _locked(connection: Connection) -> AsyncIterator[None]:
    async with connection.transaction():
        await connection.execute(LOCK)
        yield
