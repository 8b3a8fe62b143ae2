"""Our side: the library's tables, and its vector leg through the pool, as the runtime role behind the wall."""

from __future__ import annotations

import time
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Final, LiteralString

import asyncpg

import hermes_memory
from benchmarks.filtered import binary
from benchmarks.filtered.asking import DEPTH, Asked
from benchmarks.filtered.processor import between, used_ms
from benchmarks.filtered.sides import ANSWER_SECONDS, LOAD_SECONDS, Answer, build, content, owner
from benchmarks.filtered.world import DIMENSION, Block, Keys, key_of, uuids
from benchmarks.kit.databases import Databases
from hermes_memory.adapters.postgres.pool import Pool
from hermes_memory.adapters.postgres.search import PostgresSearch
from hermes_memory.settings import Settings

MODEL: Final = "made up"

# $1 theme, $2 subject, $3 ids in a row, $4 contents. Nothing looks for these rows by their words.
ROWS: Final[LiteralString] = """
insert into hermes_memory.conversations
  (agent_identity, id, subject, session_id, position, role, content, content_hash, origin, ts, created_at, operation,
   row_hash, lex, lex_key, lex_length)
select $1, i.id, $2, 'session', r.place, 'user', r.content, sha256(convert_to(r.content, 'UTF8')), 'user', now(), now(),
       i.id, sha256(''), '', 0, 20
  from unnest($4::text[]) with ordinality as r(content, place)
 cross join lateral (select encode(substring($3::bytea from (r.place * 16 - 15)::int for 16), 'hex')::uuid as id) i"""
FORGET_VECTORS: Final[LiteralString] = """
delete from hermes_memory.turn_vectors_g1 v
 where v.agent_identity = $1 and v.row_id = any (
       array(select encode(substring($2::bytea from n * 16 + 1 for 16), 'hex')::uuid
               from generate_series(0, octet_length($2::bytea) / 16 - 1) as n))"""
FORGET_ROWS: Final[LiteralString] = """
delete from hermes_memory.conversations c
 where c.agent_identity = $1 and c.id = any (
       array(select encode(substring($2::bytea from n * 16 + 1 for 16), 'hex')::uuid
               from generate_series(0, octet_length($2::bytea) / 16 - 1) as n))"""
COUNT: Final[LiteralString] = """
insert into hermes_memory.term_blocks (agent_identity, shelf, subject, lexeme, hi, n, packed)
values ($1, 'turn', $2, '', 0, $3, array[$3 * 20])"""
REGISTER: Final[LiteralString] = """
insert into hermes_memory.memory_agents (agent_identity, first_seen_at, last_seen_at) values ($1, now(), now())
on conflict do nothing"""


class Ours:
    """This library, as it is in the checkout."""

    name = "ours"

    def __init__(self, databases: Databases, place: Path, *, partitions: int) -> None:
        self._databases = databases
        self._place = place
        self._partitions = partitions
        self._role, self._password = databases.role("ours")
        self._database = ""
        self._owner: asyncpg.Connection | None = None
        self._pool: Pool | None = None
        self._search: PostgresSearch | None = None
        self._pid = 0
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Ours:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    async def install(self) -> None:
        self._database = await self._databases.create()
        await hermes_memory.migrate(
            self._databases.dsn(self._database),
            settings=Settings(
                home=self._place,
                embedder="openai",
                embed_url="http://127.0.0.1:9",
                embed_model=MODEL,
                embed_dim=DIMENSION,
            ),
            runtime_role=self._role,
            runtime_password=self._password,
            partitions=self._partitions,
        )
        self._owner = await owner(self._databases.dsn(self._database), self._stack)
        await self._owner.execute("drop index hermes_memory.turn_vectors_g1_near")

    async def take(self, block: Block) -> None:
        count, theme, subject = len(block.keys), block.part.theme, block.part.subject
        async with self.owner.transaction():
            await self.owner.copy_to_table(
                "turn_vectors_g1",
                schema_name="hermes_memory",
                columns=["agent_identity", "row_id", "part", "subject", "embedding"],
                source=binary.copied(
                    [
                        binary.same(theme.encode(), count),
                        uuids(block.keys),
                        binary.same(b"\0\0", count),
                        binary.same(subject, count),
                        binary.vectors(block.vectors, "f2"),
                    ]
                ),
                format="binary",
            )
            contents = [content(int(key)) for key in block.keys]
            await self.owner.execute(ROWS, theme, subject, uuids(block.keys).tobytes(), contents)
            await self._count(theme, subject, count)

    async def drop(self, block: Block, keys: Keys) -> None:
        ids = uuids(keys).tobytes()
        async with self.owner.transaction():
            await self.owner.execute(FORGET_VECTORS, block.part.theme, ids)
            await self.owner.execute(FORGET_ROWS, block.part.theme, ids)
            await self._count(block.part.theme, block.part.subject, -len(keys))

    async def index(self, memory: str, workers: int) -> float:
        return await build(self.owner, "select hermes_memory.activate_generation(1)", memory=memory, workers=workers)

    async def connect(self) -> None:
        if self._pool is not None:
            await self._pool.close()
        self._pool = Pool(
            self._databases.dsn(self._database, self._role),
            max_size=1,
            command_timeout=ANSWER_SECONDS,
            idle_seconds=LOAD_SECONDS,
        )
        self._stack.push_async_callback(self._pool.close)
        self._search = PostgresSearch(self._pool)
        async with self._pool.transaction(None, timeout=ANSWER_SECONDS, read_only=True) as transaction:
            self._pid = await transaction.fetch_value("select pg_backend_pid()")

    async def ask(self, asked: Asked) -> list[Answer]:
        return [await self._answer(asked, question.tolist()) for question in asked.questions]

    async def _answer(self, asked: Asked, question: list[float]) -> Answer:
        if self._search is None:
            raise RuntimeError("not connected")
        cpu, started = used_ms(self._pid), time.perf_counter()
        hits = await self._search.by_vector(asked.caller, asked.space, question, limit=DEPTH, timeout=ANSWER_SECONDS)
        taken = time.perf_counter() - started
        return Answer(
            keys=[key_of(hit.row.id.bytes) for hit in hits],
            wall_ms=taken * 1_000,
            cpu_ms=between(cpu, used_ms(self._pid)),
        )

    @property
    def owner(self) -> asyncpg.Connection:
        """The superuser's connection to the database."""
        if self._owner is None:
            raise RuntimeError("not installed")
        return self._owner

    async def _count(self, theme: str, subject: bytes, count: int) -> None:
        await self.owner.execute(COUNT, theme, subject, count)
        await self.owner.execute(REGISTER, theme)
