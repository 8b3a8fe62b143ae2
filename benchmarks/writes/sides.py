"""Ours and the peer's: how each is installed in a database, configured, started and looked at."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

import asyncpg

import hermes_memory
from benchmarks.kit.agents import Agent
from benchmarks.kit.databases import Databases
from benchmarks.kit.embeddings import DIMENSION, MODEL, Endpoint
from benchmarks.kit.peer import migrate_peer
from hermes_memory.settings import ENV_PREFIX, Settings

AGENT: Final = str(Path(__file__).with_name("agent.py"))
PARTITIONS: Final = 8
"""As the embedded database of a home has them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """What a database holds: turns, different texts among them, and turns with a vector."""

    rows: int
    distinct: int
    embedded: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """A database and a home of their own, and what is needed to start agents there."""

    database: str
    dsn: str
    home: Path
    embed_url: str


class Side(Protocol):
    """One of the two that are compared."""

    name: str
    role: str

    async def install(self) -> None:
        """Make the role and the template database."""
        ...

    async def bench(self, latency_ms: int) -> Bench:
        """Make a database and a home."""
        ...

    def agent(self, bench: Bench, *, sync: str = "FULL", first: int = 0, probe: Path | None = None) -> Agent:
        """Return a process that writes there; its exchanges are numbered from `first`."""
        ...

    async def stored(self, connection: asyncpg.Connection) -> Stored:
        """Look at what is stored."""
        ...

    async def rows(self, connection: asyncpg.Connection) -> tuple[int, int]:
        """Count turns and those with a vector, cheaply."""
        ...


class _Common:
    """What both sides share."""

    name = ""

    def __init__(self, databases: Databases, endpoint: Endpoint, place: Path) -> None:
        self._databases = databases
        self._endpoint = endpoint
        self._place = place
        self._number = 0
        self._template = ""
        self.role = ""

    async def bench(self, latency_ms: int) -> Bench:
        self._number += 1
        database = await self._databases.create(self._template)
        # A copy brings no rights on the database itself.
        await self._databases.connection.execute(f"revoke temporary on database {database} from public")
        home = self._place / f"{self.name}-{self._number}"
        home.mkdir()
        return Bench(
            database=database,
            dsn=self._databases.dsn(database, self.role),
            home=home,
            embed_url=self._endpoint.url(latency_ms),
        )

    def _start(
        self, command: list[str], bench: Bench, extra: Mapping[str, Any], environment: Mapping[str, str]
    ) -> Agent:
        inherited = {key: value for key, value in os.environ.items() if not key.startswith((ENV_PREFIX, "HERMES_"))}
        settings = {"side": self.name, "home": str(bench.home), **extra}
        return Agent([*command, AGENT], settings, environment={**inherited, **environment}, log=bench.home / "log")


class Ours(_Common):
    """This library, as it is in the checkout."""

    name = "ours"

    async def install(self) -> None:
        self.role, password = self._databases.role("ours")
        self._template = await self._databases.create()
        await hermes_memory.migrate(
            self._databases.dsn(self._template),
            settings=Settings(
                home=self._place,
                embedder="openai",
                embed_url=self._endpoint.url(0),
                embed_model=MODEL,
                embed_dim=DIMENSION,
            ),
            runtime_role=self.role,
            runtime_password=password,
            partitions=PARTITIONS,
        )

    def agent(self, bench: Bench, *, sync: str = "FULL", first: int = 0, probe: Path | None = None) -> Agent:
        configured = {
            "DSN": bench.dsn,
            "RUNTIME_ROLE": self.role,
            "EMBEDDER": "openai",
            "EMBED_URL": bench.embed_url,
            "EMBED_MODEL": MODEL,
            "EMBED_DIM": str(DIMENSION),
            "SPOOL_SYNC": sync,
        }
        environment = {f"{ENV_PREFIX}{key}": value for key, value in configured.items()}
        extra = {"first": first, "probe": str(probe) if probe else None}
        return self._start([sys.executable], bench, extra, {"HERMES_HOME": str(bench.home), **environment})

    async def stored(self, connection: asyncpg.Connection) -> Stored:
        (found,) = await connection.fetch(
            "select count(*) as rows, count(distinct content) as texts from hermes_memory.conversations"
        )
        _, embedded = await self.rows(connection)
        return Stored(rows=found["rows"], distinct=found["texts"], embedded=embedded)

    async def rows(self, connection: asyncpg.Connection) -> tuple[int, int]:
        (found,) = await connection.fetch(
            "select (select count(*) from hermes_memory.conversations) as rows,"
            " (select count(*) from hermes_memory.turn_vectors_g1 where part = 0) as embedded"
        )
        return found["rows"], found["embedded"]


class Peer(_Common):
    """The peer's release."""

    name = "peer"

    def __init__(self, databases: Databases, endpoint: Endpoint, place: Path, python: Path) -> None:
        super().__init__(databases, endpoint, place)
        self._python = python

    async def install(self) -> None:
        self.role = await self._databases.make_role("peer")
        self._template = await self._databases.create()
        await migrate_peer(self._python, self._databases.dsn(self._template), self.role)

    def agent(self, bench: Bench, *, sync: str = "FULL", first: int = 0, probe: Path | None = None) -> Agent:
        config = {
            "dsn": bench.dsn,
            "embed_url": bench.embed_url,
            "embed_model": MODEL,
            "embed_dim": DIMENSION,
            "embed_protocol": "openai",
        }
        extra = {"config": config, "first": first, "probe": str(probe) if probe else None}
        return self._start([str(self._python)], bench, extra, {"HERMES_HOME": str(bench.home)})

    async def stored(self, connection: asyncpg.Connection) -> Stored:
        (found,) = await connection.fetch(
            "select count(*) as rows, count(distinct content) as texts, count(embedding) as embedded"
            " from public.conversations"
        )
        return Stored(rows=found["rows"], distinct=found["texts"], embedded=found["embedded"])

    async def rows(self, connection: asyncpg.Connection) -> tuple[int, int]:
        (found,) = await connection.fetch(
            "select count(*) as rows, count(embedding) as embedded from public.conversations"
        )
        return found["rows"], found["embedded"]
