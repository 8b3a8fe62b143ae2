"""Every other memory that can be moved in is read as `Source` promises."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit, urlunsplit

import asyncpg
import pytest

from hermes_memory.adapters.sources.files import read_source
from hermes_memory.adapters.sources.holographic import read_facts
from hermes_memory.adapters.sources.listing import MEM0, TABLESTORE, read_listing
from hermes_memory.adapters.sources.markdown import read_notebooks
from hermes_memory.adapters.sources.pgvector import pgvector_source
from hermes_memory.domain.errors import StoreUnavailable
from hermes_memory.domain.foreign import Foreign, ForeignEntry, ForeignTurn, Unreadable, Whose
from hermes_memory.domain.model import Target
from hermes_memory.testing.source_contract import SourceContract, SourceUnderTest
from tests.support.postgres import TestServer

FIRST_RELEASES: Final = """
create table memory_entries (
  id bigserial primary key, agent_identity text not null, target text not null, content text not null,
  embedding real[], created_at timestamptz not null default now(), updated_at timestamptz not null default now(),
  metadata jsonb not null default '{}');
create table conversations (
  id bigserial primary key, session_id text not null, agent_identity text not null, role text not null,
  content text not null, embedding real[], ts timestamptz not null default now(), metadata jsonb not null default '{}');
insert into memory_entries (agent_identity, target, content) values
  ('marketing', 'memory', 'launch on 3 May'), ('marketing', 'user', 'likes tea'), ('sales', 'memory', 'on 3 May');
insert into conversations (session_id, agent_identity, role, content) values
  ('s1', 'marketing', 'user', 'yes'), ('s2', 'sales', 'user', 'yes'), ('s1', 'marketing', 'assistant', 'yes'),
  ('s1', 'marketing', 'user', 'yes')"""
SINCE_0_4: Final = """
alter table conversations add column parent_session_id text;
create table memory_agents (
  id bigserial primary key, agent_identity text not null unique, first_seen timestamptz not null default now(),
  last_seen timestamptz not null default now());
create table memory_agent_edges (
  id bigserial primary key, parent_identity text not null, child_identity text, parent_session_id text,
  child_session_id text, kind text not null, ts timestamptz not null default now(), attrs jsonb not null default '{}');
insert into memory_agents (agent_identity) values ('marketing'), ('sales');
insert into memory_agent_edges (parent_identity, child_identity, parent_session_id, kind, attrs) values
  ('marketing', 'sales', 's1', 'delegation', '{"task": "find a venue", "result": "found"}')"""


TABLES: Final = ("memory_entries", "conversations")


def by_file(name: str, path: Path, read: Callable[[], Sequence[Foreign]]) -> SourceUnderTest:
    async def fingerprint() -> object:
        files = sorted(file for file in path.rglob("*") if file.is_file())
        return [(file, file.stat().st_mtime_ns, file.read_bytes()) for file in files]

    return SourceUnderTest(opened=lambda: read_source(name, read()), fingerprint=fingerprint)


class TestReadSource(SourceContract):
    """What was read already, in memory."""

    @pytest.fixture
    def source(self) -> SourceUnderTest:
        whose = Whose(agent="marketing")
        read = [
            ForeignEntry(place=f"line {n}", key=str(n), whose=whose, target=Target.MEMORY, content="likes tea")
            for n in range(3)
        ]

        async def fingerprint() -> object:
            return list(read)

        return SourceUnderTest(opened=lambda: read_source("notes", read), fingerprint=fingerprint)


class TestMarkdownSource(SourceContract):
    """The notebooks of a home."""

    @pytest.fixture
    def source(self, tmp_path: Path) -> SourceUnderTest:
        (tmp_path / "MEMORY.md").write_text("launch on 3 May\n§\nbudget is 9")
        (tmp_path / "USER.md").write_text("launch on 3 May")
        return by_file("markdown", tmp_path, lambda: read_notebooks(tmp_path))


class TestMem0Source(SourceContract):
    """What mem0 gives."""

    @pytest.fixture
    def source(self, tmp_path: Path) -> SourceUnderTest:
        memories = [{"id": f"m{number}", "memory": "likes tea", "agent_id": "marketing"} for number in range(3)]
        path = tmp_path / "all.json"
        path.write_text(json.dumps({"results": [*memories, {"id": "m9"}]}))
        return by_file("mem0", tmp_path, lambda: read_listing(path, MEM0))


class TestTablestoreSource(SourceContract):
    """What Tablestore's memory gives."""

    @pytest.fixture
    def source(self, tmp_path: Path) -> SourceUnderTest:
        lines = [json.dumps({"id": f"t{number}", "text": "likes tea"}) for number in range(3)]
        path = tmp_path / "all.jsonl"
        path.write_text("\n".join([*lines, "no json"]))
        return by_file("tablestore", tmp_path, lambda: read_listing(path, TABLESTORE))


class TestHolographicSource(SourceContract):
    """The host's holographic memory."""

    @pytest.fixture
    def source(self, tmp_path: Path) -> SourceUnderTest:
        with closing(sqlite3.connect(tmp_path / "memory_store.db")) as made:
            made.execute(
                "create table facts (fact_id integer primary key, content text, category text, tags text, "
                "trust_score real, created_at text, updated_at text)"
            )
            made.executemany(
                "insert into facts (content) values (?)", [("likes tea",), ("likes tea",), ("owns a dog",)]
            )
            made.commit()
        return by_file("holographic", tmp_path, lambda: read_facts(tmp_path))


class TestPgvectorSource(SourceContract):
    """A database of hermes-memory-pgvector, of its first releases and since."""

    @pytest.fixture(params=[FIRST_RELEASES, f"{FIRST_RELEASES};{SINCE_0_4}"], ids=["first", "0.4"])
    async def source(self, server: TestServer, request: pytest.FixtureRequest) -> AsyncIterator[SourceUnderTest]:
        name = server.unique_name("source")
        dsn = await server.create_database(name)
        await run(dsn, request.param)

        async def fingerprint() -> object:
            return [await run(dsn, f"select xmin, ctid, t.* from {table} t") for table in TABLES]

        yield SourceUnderTest(opened=lambda: pgvector_source(dsn, vectors=True), fingerprint=fingerprint)
        await server.drop_database(name)


async def test_a_row_whose_metadata_cannot_be_read_is_named_and_the_others_are_read(server: TestServer) -> None:
    name = server.unique_name("source")
    dsn = await server.create_database(name)
    await run(dsn, f"{FIRST_RELEASES};{SINCE_0_4}")
    deep, long = "repeat('[', 12000) || repeat(']', 12000)", "repeat('9', 5000)"
    await run(dsn, f"update memory_entries set metadata = ({deep})::jsonb where id = 1")
    await run(dsn, f"update conversations set metadata = ({long})::jsonb where id = 2")
    await run(dsn, f"update memory_agent_edges set attrs = ({deep})::jsonb where id = 1")
    async with pgvector_source(dsn, vectors=False) as source:
        found = [item async for item in source.items()]
    await server.drop_database(name)

    refused = [each for each in found if isinstance(each, Unreadable)]
    assert [each.place for each in refused] == ["memory_entries 1", "conversations 2", "memory_agent_edges 1"]
    assert all("nested too deep, or hold a number of too many digits" in each.reason for each in refused)
    assert len([each for each in found if isinstance(each, ForeignEntry | ForeignTurn)]) == 5


async def test_a_database_to_import_from_that_is_not_there_is_told_apart_from_the_memorys_own(
    server: TestServer,
) -> None:
    missing = urlunsplit(urlsplit(server.superuser_dsn)._replace(path="/nosuch"))
    for address in (missing, "postgresql://nobody@127.0.0.1:1/nowhere"):
        with pytest.raises(StoreUnavailable, match=r"--dsn \(the database to import from\)"):
            async with pgvector_source(address, vectors=False):
                pass


async def run(dsn: str, statement: str) -> list[str]:
    connection = await asyncpg.connect(dsn)
    try:
        if statement.startswith("select"):
            return [str(row) for row in await connection.fetch(statement)]
        return [await connection.execute(statement)]
    finally:
        await connection.close()
