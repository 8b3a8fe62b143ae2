"""Databases of a run on the embedded server or on a given one, made from templates."""

from __future__ import annotations

import secrets
from types import TracebackType
from urllib.parse import quote, urlsplit, urlunsplit

import asyncpg

from hermes_memory.adapters.postgres.roles import OWNER

SECONDS = 60.0

_EXISTS = "select exists (select from pg_roles where rolname = $1)"


class Databases:
    """Makes databases and roles with names of its own, and drops them all at the end, unless the server goes too.

    None is dropped before: that makes the server write out everything it holds, in the middle of measurements.
    """

    def __init__(self, admin_dsn: str, *, lasting: bool) -> None:
        """Work on the server of `admin_dsn`, a superuser's connection URL; a `lasting` one is left as it was."""
        self.admin_dsn = admin_dsn
        self._lasting = lasting
        self._mark = f"bench_{secrets.token_hex(4)}"
        self._number = 0
        self._databases: list[str] = []
        self._roles: dict[str, str] = {}
        self._connection: asyncpg.Connection | None = None
        self._owner_was_there = False

    async def __aenter__(self) -> Databases:
        self._connection = await asyncpg.connect(self.admin_dsn, timeout=SECONDS, command_timeout=SECONDS)
        self._owner_was_there = bool(await self._connection.fetchval(_EXISTS, OWNER))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if self._lasting:
                await self._drop_all()
        finally:
            await self.connection.close()

    @property
    def connection(self) -> asyncpg.Connection:
        """The superuser's connection to the maintenance database."""
        if self._connection is None:
            raise RuntimeError("not entered")
        return self._connection

    def role(self, purpose: str) -> tuple[str, str]:
        """Name a role of this run, and the password to give it. Whoever migrates makes it."""
        name = f"{self._mark}_{purpose}"
        return name, self._roles.setdefault(name, secrets.token_hex(16))

    async def make_role(self, purpose: str) -> str:
        """Make a role that may log in, unless this run has made it before, and return its name."""
        name, password = self.role(purpose)
        if not await self.connection.fetchval("select true from pg_roles where rolname = $1", name):
            await self.connection.execute(f"create role {name} login password '{password}'")
        return name

    async def create(self, template: str | None = None) -> str:
        """Create a database, as a copy of a template if one is named, and return its name."""
        self._number += 1
        name = f"{self._mark}_{self._number}"
        copied = f" template {template} strategy wal_log" if template else ""
        await self.connection.execute(f"create database {name}{copied}")
        self._databases.append(name)
        return name

    def dsn(self, database: str, role: str | None = None) -> str:
        """Return the connection URL of a database for the superuser, or for a role of this run."""
        parts = urlsplit(self.admin_dsn)
        place = parts.netloc.rpartition("@")[2]
        login = parts.netloc if role is None else f"{role}:{quote(self._roles[role])}@{place}"
        return urlunsplit(parts._replace(netloc=login, path=f"/{database}"))

    async def _drop_all(self) -> None:
        for name in self._databases:
            await self.connection.execute(f"drop database if exists {name} with (force)")
        for role in [*self._roles, *([] if self._owner_was_there else [OWNER])]:
            await self.connection.execute(f"drop role if exists {role}")

    async def connections(self, role: str) -> int:
        """Count the connections that a role has now."""
        found = await self.connection.fetchval("select count(*) from pg_stat_activity where usename = $1", role)
        return int(found)
