"""The peer's side: its tables with the dimension of the vectors changed, and its own search."""

from __future__ import annotations

import os
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Final

import asyncpg
import numpy as np

from benchmarks.filtered import binary
from benchmarks.filtered.asking import Asked
from benchmarks.filtered.sides import ANSWER_SECONDS, Answer, build, content, owner
from benchmarks.filtered.world import DIMENSION, SINK, Block, Keys, Vectors
from benchmarks.kit.agents import Agent
from benchmarks.kit.databases import Databases
from benchmarks.kit.peer import migrate_peer

LIMIT: Final = 10
PROGRAM: Final = str(Path(__file__).with_name("peer_program.py"))
INDEX: Final = (
    "create index ix_conversations_embedding_hnsw on conversations using hnsw (embedding vector_cosine_ops)"
    " with (m = 16, ef_construction = 64)"
)
"""As its migration makes it."""


class Peer:
    """The peer's release."""

    name = "peer"

    def __init__(self, databases: Databases, place: Path, python: Path) -> None:
        self._databases = databases
        self._place = place
        self._python = python
        self._database = ""
        self._role = ""
        self._owner: asyncpg.Connection | None = None
        self._agent: Agent | None = None
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Peer:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    async def install(self) -> None:
        self._role = await self._databases.make_role("peer")
        self._database = await self._databases.create()
        await migrate_peer(self._python, self._databases.dsn(self._database), self._role)
        self._owner = await owner(self._databases.dsn(self._database), self._stack)
        await self._owner.execute(
            "drop index ix_conversations_embedding_hnsw;"
            f" alter table conversations alter column embedding type vector({DIMENSION})"
        )

    async def take(self, block: Block) -> None:
        count = len(block.keys)
        # It knows no contacts: whatever they say is kept in the sink.
        theme = SINK if block.part.subject else block.part.theme
        await self.owner.copy_to_table(
            "conversations",
            columns=["id", "session_id", "agent_identity", "role", "content", "embedding"],
            source=binary.copied(
                [
                    binary.integers(block.keys),
                    binary.same(b"session", count),
                    binary.same(theme.encode(), count),
                    binary.same(b"user", count),
                    binary.texts([content(int(key)) for key in block.keys]),
                    binary.vectors(block.vectors, "f4"),
                ]
            ),
            format="binary",
        )

    async def drop(self, block: Block, keys: Keys) -> None:
        await self.owner.execute("delete from conversations where id = any ($1)", list(map(int, keys)))

    async def index(self, memory: str, workers: int) -> float:
        return await build(self.owner, INDEX, memory=memory, workers=workers)

    async def connect(self) -> None:
        agent = Agent(
            [str(self._python), PROGRAM],
            {"dsn": self._databases.dsn(self._database, self._role)},
            environment={key: value for key, value in os.environ.items() if not key.startswith("HERMES_")},
            log=self._place / "peer.log",
        )
        self._agent = await self._stack.enter_async_context(agent)

    async def ask(self, asked: Asked) -> list[Answer]:
        # Its pool changes connections now and then: the first question finds out which one serves.
        await self._search(asked, asked.questions[:1], [])
        pids = await self.owner.fetchval(
            "select array_agg(pid) from pg_stat_activity where usename = $1 and datname = $2",
            self._role,
            self._database,
        )
        told = await self._search(asked, asked.questions, pids)
        return [Answer(**answer) for answer in told["answers"]]

    async def _search(self, asked: Asked, questions: Vectors, pids: list[int]) -> dict[str, Any]:
        if self._agent is None:
            raise RuntimeError("not connected")
        return await self._agent.tell(
            "search",
            theme=asked.peer_theme,
            sinks=[SINK],
            questions=np.round(questions, 6).tolist(),
            limit=LIMIT,
            pids=pids,
            timeout=ANSWER_SECONDS * len(questions),
        )

    @property
    def owner(self) -> asyncpg.Connection:
        """The superuser's connection to the database."""
        if self._owner is None:
            raise RuntimeError("not installed")
        return self._owner
