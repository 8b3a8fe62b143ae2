"""The roles of an installation: the owner, the runtime and who only watches.

The owner has everything and no login. The runtime owns nothing. Who watches sees numbers, and has no login of its own.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
import unicodedata
from typing import TYPE_CHECKING, Final, LiteralString

import asyncpg

from hermes_memory.adapters.postgres.statements import composed, identifier, literal
from hermes_memory.domain.errors import ConfigurationError

if TYPE_CHECKING:
    from hermes_memory.adapters.postgres.statements import Connection

OWNER: Final = "hermes_memory_owner"
READONLY: Final = "hermes_memory_readonly"
SCRAM_ITERATIONS: Final = 4096
# From this version on, membership and the right to act as a role are separate.
_SET_OPTION_VERSION: Final = 160000

ROLE_FLAGS: Final[LiteralString] = """
select r.rolname = session_user as is_admin, r.rolsuper or r.rolbypassrls as looks_past_walls,
       not r.rolsuper and pg_has_role(r.oid, owner.oid, 'MEMBER') as may_own
  from pg_roles r cross join pg_roles owner
 where r.rolname = $1 and owner.rolname = $2"""

MAY_ACT_AS: Final[LiteralString] = "select pg_has_role(current_user, $1::name, $2)"


async def ensure_roles(
    connection: Connection, *, runtime_role: str, runtime_password: str | None, server_version: int
) -> None:
    """Make the roles that are missing, and let the admin login act as the owner.

    Roles belong to the whole cluster, so another database's migration may make them at the same moment.

    Raises:
        ConfigurationError: The runtime role is one before whom there is no wall.
    """
    await _create_role(connection, OWNER, "nologin")
    await _create_role(connection, READONLY, "nologin")
    await _create_role(connection, runtime_role, "login")
    flags = await connection.fetchrow(ROLE_FLAGS, runtime_role, OWNER)
    if flags is None or flags["is_admin"] or flags["looks_past_walls"] or flags["may_own"]:
        raise ConfigurationError(
            f"role {runtime_role} cannot be the runtime role: it is the admin login, a superuser, exempt from "
            f"row-level security or a member of {OWNER}; name another with --runtime-role"
        )
    if runtime_password is not None:
        verifier = literal(scram_verifier(runtime_password))
        login = composed(
            "alter role {role} login password {verifier}", role=identifier(runtime_role), verifier=verifier
        )
        await connection.execute(login)
    await _join_owner(connection, server_version)


def scram_verifier(password: str) -> str:
    """Return what the server keeps of a password, so that the password itself never travels or shows up in a log.

    SCRAM-SHA-256 of RFC 5802 and RFC 7677, in the form of the server's pg_authid.rolpassword.
    """
    salt = secrets.token_bytes(16)
    prepared = unicodedata.normalize("NFKC", password).encode()
    salted = hashlib.pbkdf2_hmac("sha256", prepared, salt, SCRAM_ITERATIONS)
    stored_key = hashlib.sha256(hmac.digest(salted, b"Client Key", "sha256")).digest()
    server_key = hmac.digest(salted, b"Server Key", "sha256")
    encoded = [base64.b64encode(part).decode() for part in (salt, stored_key, server_key)]
    return f"SCRAM-SHA-256${SCRAM_ITERATIONS}:{encoded[0]}${encoded[1]}:{encoded[2]}"


async def _create_role(connection: Connection, name: str, login: LiteralString) -> None:
    if await connection.fetchval("select exists (select from pg_roles where rolname = $1)", name):
        return
    try:
        async with connection.transaction():
            await connection.execute(composed("create role {role} " + login, role=identifier(name)))
    except (asyncpg.DuplicateObjectError, asyncpg.UniqueViolationError):
        pass  # somebody made it just now


async def _join_owner(connection: Connection, server_version: int) -> None:
    option = "SET" if server_version >= _SET_OPTION_VERSION else "MEMBER"
    if not await connection.fetchval(MAY_ACT_AS, OWNER, option):
        await connection.execute(composed("grant {owner} to current_user", owner=identifier(OWNER)))
