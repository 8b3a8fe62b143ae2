"""Moving in from files of other tools and from an early database of the peer, and going on after a stop."""

from __future__ import annotations

import json
from asyncio import gather
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

import anyio
import asyncpg
import pytest

from hermes_memory import Settings, StoreUnavailable
from hermes_memory.adapters.sources.pgvector import NAME, pgvector_source
from hermes_memory.bootstrap.home import open_local_half
from hermes_memory.bootstrap.moving import import_source
from hermes_memory.cli.exits import DEPENDENCY_DOWN, DONE, ERROR, USAGE
from hermes_memory.domain.foreign import Foreign
from hermes_memory.ports.sources import Source
from tests.acceptance.conftest import Command
from tests.support.postgres import TestServer
from tests.support.postgres_store import Installation

TURNS: Final = 1_100
STOP: Final = 700
EARLY: Final = """
create extension if not exists vector;
create table memory_entries (
  id bigserial primary key, agent_identity text not null, target text not null, content text not null,
  embedding vector(3), created_at timestamptz not null default now(), updated_at timestamptz not null default now(),
  metadata jsonb not null default '{}');
create table conversations (
  id bigserial primary key, session_id text not null, agent_identity text not null, role text not null,
  content text not null, ts timestamptz not null default now(), embedding vector(3),
  metadata jsonb not null default '{}')
"""
"""Its first tables, in their documented form: no agents, no delegations, no sessions that started others."""


@pytest.mark.usefixtures("served")
async def test_files_of_other_tools_come_in_once_with_their_times_and_owners(
    database: Installation, tmp_path: Path, typed: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", StringIO("telegram:12345\npostgresql://nobody@127.0.0.1:9/nowhere\n"))
    old = tmp_path / "old"
    old.mkdir()
    (old / "MEMORY.md").write_text("The office is in Turin\n§\nok\n§\npassword=hunter2-Xy9-long")
    listing = tmp_path / "mem0.json"
    kept = {"id": "1", "memory": "Likes tea", "agent_id": "Marketing", "created_at": "2024-05-03T10:00:00Z"}
    listing.write_text(json.dumps({"results": [kept, {"id": "2"}]}))
    config = tmp_path / "config.yaml"
    config.write_text("plugins:\n  pgvector:\n    embed_dim: 768\n    sync_turns: false\n    ttl_days: 9\n")
    notebooks = ("import", "markdown", str(old), "--theme", "Desk")
    mem0 = ("import", "mem0", str(listing), "--subject", "-", "--json")
    ran = [
        await anyio.to_thread.run_sync(typed, *arguments)
        for arguments in (
            *((*notebooks, "--dry-run"), notebooks, (*notebooks, "--json"), mem0),
            *(
                ("import", "pgvector", "--config", str(config)),
                ("import", "pgvector"),
                ("import", "markdown", "/nowhere"),
                ("import", "pgvector", "--dsn", "-"),
                ("import", "markdown", str(old), "--subject", "-"),
            ),
        )
    ]
    half = open_local_half(Settings())
    connection = await asyncpg.connect(database.admin_dsn)
    try:
        rows = await connection.fetch(
            "select agent_identity, subject, content, said_at, origin from hermes_memory.memory_entries"
        )
        reasons = await connection.fetchval("select array_agg(distinct reason) from hermes_memory.history")
    finally:
        await connection.close()

    dry, first, again, by_json, converted, unnamed, nowhere, entered, unentered = ran
    assert [each.code for each in ran] == [DONE, DONE, DONE, ERROR, DONE, USAGE, USAGE, DEPENDENCY_DOWN, USAGE]
    assert "would store at most: 3 of kind entry" in dry.out
    assert "stored: 3 of kind entry" in first.out
    assert (again.document["known"], again.document["stored"], again.document["verified"]) == (3, {}, 3)
    assert by_json.document["unreadable"] == [
        {"place": "memory 2", "reason": "it has no text: expected one of memory, text, data"}
    ]
    by_content = {row["content"]: row for row in rows}
    tea = by_content.pop("Likes tea")
    assert (tea["agent_identity"], tea["said_at"]) == ("marketing", datetime(2024, 5, 3, 10, tzinfo=UTC))
    assert tea["subject"] == half.subject_for("telegram", "12345")
    assert {"The office is in Turin", "ok"} <= by_content.keys()
    assert not any("hunter2" in content for content in by_content)
    assert {(row["agent_identity"], bytes(row["subject"])) for row in by_content.values()} == {("desk", b"")}
    assert {row["origin"] for row in rows} == {"import"}
    assert sorted(reasons) == ["imported from markdown", "imported from mem0"]
    assert json.loads(converted.out)["capture_turns"] is False, "what is printed is the file"
    assert "# ttl_days: nothing is deleted by age" in converted.err
    assert "--config" in unnamed.err
    assert "there is no" in nowhere.err
    assert "nobody" not in entered.err
    assert "no line to read for --subject" in unentered.err


@pytest.mark.timeout(300)
@pytest.mark.usefixtures("served")
async def test_an_import_that_was_stopped_goes_on_and_no_row_of_an_early_database_is_lost_or_doubled(
    server: TestServer, database: Installation
) -> None:
    name = server.unique_name("early")
    early = await server.create_database(name)
    try:
        await filled(early)
        with pytest.raises(StoreUnavailable):
            await moved(stopping(early))
        half_way = await database.administer("select count(*) from hermes_memory.conversations")
        done, beside = await gather(
            moved(pgvector_source(early, vectors=True)), moved(pgvector_source(early, vectors=True))
        )
        again = await moved(pgvector_source(keywords(early), vectors=True))
    finally:
        await server.drop_database(name)
    connection = await asyncpg.connect(database.admin_dsn)
    try:
        said = await connection.fetch(
            "select content, occurrence, position from hermes_memory.conversations"
            " where agent_identity = 'sales' order by position"
        )
        sunk = await connection.fetch(
            "select session_id, subject, content from hermes_memory.conversations where agent_identity = 'whatsapp-dm'"
        )
        entries = await connection.fetch("select content, metadata from hermes_memory.memory_entries order by content")
    finally:
        await connection.close()

    assert 0 < half_way < STOP
    assert done.source == {"memory_entries": 4, "conversations": TURNS + 2}
    assert (done.read, done.missing, done.complete) == (TURNS + 6, [], True)
    assert done.known >= half_way + 3
    assert [each.place for each in done.unreadable] == ["memory_entries 2"]
    assert done.known + done.stored["turn"] == beside.known + beside.stored["turn"] == TURNS + 5
    assert beside.complete
    assert (again.known, again.stored, len(again.unreadable)) == (TURNS + 5, {}, 1)
    assert [(row["content"], row["occurrence"]) for row in said] == [(f"line {n % 10}", n // 10) for n in range(TURNS)]
    assert [row["position"] for row in said] == list(range(TURNS))
    assert len({bytes(row["subject"]) for row in sunk}) == 2
    assert [row["content"] for row in entries] == ["kept", "twice"]
    assert "+4915550104711" not in str(entries)


async def moved(source: Any) -> Any:
    return await import_source(Settings(), source, default_theme="hermes")


def keywords(dsn: str) -> str:
    """Return the same address in the keywords of libpq, as the peer's settings have it."""
    parts = urlsplit(dsn)
    told = {"user": parts.username, "host": parts.hostname, "port": parts.port, "dbname": parts.path[1:]}
    told |= {name: values[0] for name, values in parse_qs(parts.query).items()}
    return " ".join(f"{name}='{value}'" for name, value in told.items() if value) + " connect_timeout=5"


async def filled(dsn: str) -> None:
    connection = await asyncpg.connect(dsn)
    try:
        await connection.execute(EARLY)
        await connection.execute(
            "insert into memory_entries (agent_identity, target, content, metadata) values"
            " ('sales', 'memory', 'kept', '{\"to\": \"+4915550104711\"}'), ('sales', 'memory', ' ', '{}'),"
            " ('sales', 'user', 'twice', '{}'), ('Sales', 'user', 'twice', '{}')"
        )
        await connection.execute(
            "insert into conversations (session_id, agent_identity, role, content, ts)"
            " select 's1', 'sales', 'user', 'line ' || n % 10, timestamptz '2024-05-03' + n * interval '1 second'"
            f" from generate_series(0, {TURNS} - 1) as n order by random()"
        )
        await connection.execute(
            "insert into conversations (session_id, agent_identity, role, content)"
            " values ('w1', 'whatsapp-dm', 'user', 'a secret wish'), ('w2', 'whatsapp-dm', 'user', 'another one')"
        )
    finally:
        await connection.close()


@asynccontextmanager
async def stopping(dsn: str) -> AsyncIterator[Source]:
    """The same source, which breaks off on its way."""
    async with pgvector_source(dsn, vectors=True) as whole:
        yield _Stopping(whole)


class _Stopping:
    """A source that ends after so many items."""

    name = NAME

    def __init__(self, whole: Source) -> None:
        self._whole = whole

    async def counts(self) -> Mapping[str, int] | None:
        return await self._whole.counts()

    async def items(self) -> AsyncIterator[Foreign]:
        left = STOP
        async for item in self._whole.items():
            if not left:
                raise StoreUnavailable("the connection broke")
            left -= 1
            yield item
