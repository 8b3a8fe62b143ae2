"""Ours and the peer's: a database and a home for each, filled with the same rows, and an agent that asks there."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import asyncpg

import hermes_memory
from benchmarks.kit.agents import Agent
from benchmarks.kit.databases import Databases
from benchmarks.kit.peer import migrate_peer
from benchmarks.latency.loading import DIMENSION, PATIENCE, THEME, load_ours, load_peer
from benchmarks.latency.plan import PARTITIONS
from benchmarks.latency.texts import Text, Vectors
from hermes_memory import Settings
from hermes_memory.adapters.embedding.local import LOCAL_MODEL
from hermes_memory.settings import ENV_PREFIX

AGENT: Final = str(Path(__file__).with_name("agent.py"))
READ_SECONDS: Final = 30.0
PREFETCH_SECONDS: Final = 7.5
"""For an answer while it is measured: a busy machine makes it late, not absent."""
OUR_INDEXES: Final = "drop index hermes_memory.entry_vectors_g1_near, hermes_memory.turn_vectors_g1_near"
PEER_INDEXES: Final = {
    "ix_conversations_embedding_hnsw": "conversations",
    "ix_memory_entries_embedding_hnsw": "memory_entries",
}


class Ours:
    """This library, with the local embedder in the agent's process."""

    name = "ours"

    def __init__(self, databases: Databases, home: Path) -> None:
        self._databases = databases
        self._home = home
        self._role, self._password = databases.role("ours")
        self._dsn = ""

    async def fill(self, rows: Sequence[Text], vectors: Vectors) -> None:
        """Make the database and store the rows."""
        database = await self._databases.create()
        admin = self._databases.dsn(database)
        self._dsn = self._databases.dsn(database, self._role)
        await hermes_memory.migrate(
            admin,
            settings=self.settings("local"),
            runtime_role=self._role,
            runtime_password=self._password,
            partitions=PARTITIONS,
        )
        connection = await asyncpg.connect(admin, command_timeout=PATIENCE)
        try:
            await connection.execute(OUR_INDEXES)
            await load_ours(self.settings("none"), rows, vectors)
            await connection.execute("select hermes_memory.activate_generation(1)")
            await connection.execute("vacuum (analyze)")
        finally:
            await connection.close()

    def settings(self, embedder: str) -> Settings:
        """Return what the library is opened with."""
        return Settings(
            home=self._home,
            dsn=self._dsn or None,
            runtime_role=self._role,
            embedder=embedder,
            spool_sync="NORMAL",
            tool_timeout=READ_SECONDS,
            embed_read_timeout=READ_SECONDS,
        )

    def agent(self) -> Agent:
        """Return a process that asks."""
        configured = {
            "DSN": self._dsn,
            "RUNTIME_ROLE": self._role,
            "EMBEDDER": "local",
            "TOOL_TIMEOUT": f"{READ_SECONDS:g}",
            "EMBED_READ_TIMEOUT": f"{READ_SECONDS:g}",
            "PREFETCH_TIMEOUT": f"{PREFETCH_SECONDS:g}",
        }
        environment = {f"{ENV_PREFIX}{key}": value for key, value in configured.items()}
        return _agent(sys.executable, self.name, self._home, {}, environment)


class Peer:
    """The peer's release, with the same model behind an address on loopback: it takes no other."""

    name = "peer"

    def __init__(self, databases: Databases, home: Path, python: Path, embed_url: str) -> None:
        self._databases = databases
        self._home = home
        self._python = python
        self._embed_url = embed_url
        self._dsn = ""

    async def fill(self, rows: Sequence[Text], vectors: Vectors) -> None:
        """Make the database and store the rows."""
        role = await self._databases.make_role("peer")
        database = await self._databases.create()
        admin = self._databases.dsn(database)
        self._dsn = self._databases.dsn(database, role)
        await migrate_peer(self._python, admin, role)
        connection = await asyncpg.connect(admin, command_timeout=PATIENCE)
        try:
            for index, indexed in PEER_INDEXES.items():
                await connection.execute(
                    f"drop index {index}; alter table {indexed} alter column embedding type vector({DIMENSION})"
                )
            await load_peer(connection, rows, vectors)
            for index, indexed in PEER_INDEXES.items():
                await connection.execute(
                    f"create index {index} on {indexed} using hnsw (embedding vector_cosine_ops)"
                    " with (m = 16, ef_construction = 64)"
                )
            await connection.execute("vacuum (analyze)")
        finally:
            await connection.close()

    def agent(self) -> Agent:
        """Return a process that asks."""
        config = {
            "dsn": self._dsn,
            "embed_url": self._embed_url,
            "embed_model": LOCAL_MODEL,
            "embed_dim": DIMENSION,
            "embed_protocol": "openai",
            "prefetch_budget": READ_SECONDS,
        }
        return _agent(str(self._python), self.name, self._home, {"config": config}, {})


def _agent(python: str, side: str, home: Path, extra: Mapping[str, Any], environment: Mapping[str, str]) -> Agent:
    inherited = {key: value for key, value in os.environ.items() if not key.startswith((ENV_PREFIX, "HERMES_"))}
    return Agent(
        [python, AGENT],
        {"side": side, "home": str(home), "theme": THEME, **extra},
        environment={**inherited, "HERMES_HOME": str(home), **environment},
        log=home / "log",
    )
