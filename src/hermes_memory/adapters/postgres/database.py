"""What a database needs before there is a schema: a server and an extension new enough, and no open doors."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final, LiteralString

import asyncpg

from hermes_memory.domain.errors import ConfigurationError

if TYPE_CHECKING:
    from hermes_memory.adapters.postgres.statements import Connection

logger = logging.getLogger(__name__)

MIN_SERVER: Final = 150000
MIN_VECTOR: Final = (0, 8)

EXTENSION: Final[LiteralString] = """
select e.extversion as version, n.nspname as schema
  from pg_extension e join pg_namespace n on n.oid = e.extnamespace where e.extname = 'vector'"""

TIGHTEN_DATABASE: Final = """
do $$ begin
  execute format('revoke temporary, create on database %I from public', current_database());
  execute 'revoke create on schema public from public';
end $$"""

OPEN_DATABASE: Final[LiteralString] = """
select has_database_privilege($1, current_database(), 'TEMPORARY')
    or has_database_privilege($1, current_database(), 'CREATE')
    or has_schema_privilege($1, 'public', 'CREATE')"""

OPEN_WARNING: Final = (
    "the runtime role may create temporary tables or objects in this database: have the database's owner run "
    "`revoke temporary, create on database NAME from public` and `revoke create on schema public from public`"
)


async def require_server(connection: Connection) -> int:
    """Return the server's version number.

    Raises:
        ConfigurationError: The server is too old.
    """
    version = int(await connection.fetchval("select current_setting('server_version_num')"))
    if version < MIN_SERVER:
        raise ConfigurationError("the server is too old: PostgreSQL 15 or newer is needed")
    return version


async def ensure_vector(connection: Connection) -> None:
    """Make the extension unless it is there, and check that it is usable.

    Raises:
        ConfigurationError: It cannot be made, is too old, or lives in another schema than `public`.
    """
    found = await connection.fetchrow(EXTENSION)
    if found is None:
        await _create_vector(connection)
        found = await connection.fetchrow(EXTENSION)
    if found is None or found["schema"] != "public":
        raise ConfigurationError(
            "the extension vector must be in schema public: `alter extension vector set schema public`"
        )
    if _version(found["version"]) < MIN_VECTOR:
        raise ConfigurationError(
            f"the extension vector is {found['version']}, 0.8 or newer is needed: install it on the server and run "
            "`alter extension vector update`"
        )


async def _create_vector(connection: Connection) -> None:
    try:
        async with connection.transaction():
            await connection.execute("create extension if not exists vector schema public")
    except asyncpg.InsufficientPrivilegeError as error:
        raise ConfigurationError(
            "the admin login may not create the extension vector: have a superuser run `create extension vector`"
        ) from error
    except (asyncpg.FeatureNotSupportedError, asyncpg.UndefinedFileError) as error:
        raise ConfigurationError("the server lacks the extension vector: install pgvector 0.8 or newer") from error


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".") if part.isdigit())


async def tighten(connection: Connection, runtime_role: str) -> tuple[str, ...]:
    """Take from everybody the rights by which a role could put objects of its own into the database.

    Returns:
        A warning when the runtime role keeps such a right.
    """
    try:
        async with connection.transaction():
            await connection.execute(TIGHTEN_DATABASE)
    except asyncpg.InsufficientPrivilegeError:
        logger.debug("the admin login does not own the database", extra={"action": "migrate.tighten"})
    if await connection.fetchval(OPEN_DATABASE, runtime_role):
        return (OPEN_WARNING,)
    return ()
