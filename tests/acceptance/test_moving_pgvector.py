"""Moving in from hermes-memory-pgvector: published releases write, and every row is here afterwards."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from pathlib import Path
from typing import Any, Final

import anyio
import asyncpg
import pytest
from benchmarks.kit.embeddings import DIMENSION, MODEL

from hermes_memory import Settings
from hermes_memory.application.importing.pgvector_settings import DROPPED, RENAMED
from hermes_memory.bootstrap.home import open_local_half
from hermes_memory.cli.exits import DONE, USAGE
from tests.acceptance.conftest import Command
from tests.support.command import command
from tests.support.peer import keys_of, releases, written_by_the_peer
from tests.support.postgres import TestServer
from tests.support.postgres_store import Installation

PHONE: Final = "+4915550104711"


@pytest.mark.timeout(400)
@pytest.mark.parametrize("release", releases())
async def test_every_row_of_a_peers_database_comes_over_with_its_time_its_owner_and_its_vector(
    server: TestServer, database: Installation, served: Path, typed: Command, tmp_path: Path, release: str
) -> None:
    await use_generation(database)
    async with written_by_the_peer(server, tmp_path, release) as peer:
        before = await fingerprint(peer)
        arguments = ("import", "pgvector", "--dsn", peer, "--model", MODEL, "--json")
        dry = await anyio.to_thread.run_sync(typed, *arguments, "--dry-run")
        nothing = await rows(database.admin_dsn, "select 1 from hermes_memory.memory_entries")
        moved = await anyio.to_thread.run_sync(command, *arguments)
        again = await anyio.to_thread.run_sync(typed, *arguments)
        text = await anyio.to_thread.run_sync(typed, *arguments[:4], "--model", "another")
        theirs = await rows(peer, "select *, embedding::text as vector from memory_entries order by content")
        said = await rows(peer, "select *, embedding::text as vector from conversations order by id")
        edges = await rows(peer, "select * from memory_agent_edges")
        agents = await rows(peer, "select agent_identity, first_seen, last_seen from memory_agents")
        after = await fingerprint(peer)
    other = await anyio.to_thread.run_sync(typed, "import", "pgvector", "--dsn", database.admin_dsn)
    ana = open_local_half(Settings()).subject_for("whatsapp", PHONE)
    entries = await rows(database.admin_dsn, "select * from hermes_memory.memory_entries order by content")
    turns = await rows(
        database.admin_dsn, "select * from hermes_memory.conversations order by agent_identity, session_id, position"
    )
    vectors = {
        row["row_id"]: [float(number) for number in row["embedding"][1:-1].split(",")]
        for kind in ("entry", "turn")
        for row in await rows(
            database.admin_dsn, f"select row_id, embedding::text from hermes_memory.{kind}_vectors_g2"
        )
    }
    delegated = await rows(database.admin_dsn, "select * from hermes_memory.memory_agent_edges")
    registry = await rows(database.admin_dsn, "select * from hermes_memory.memory_agents")
    everything = await text_of_all(database)

    total = len(theirs) + len(said) + len(edges)
    assert (dry.code, moved.code, again.code, text.code, other.code) == (DONE, DONE, DONE, DONE, USAGE), moved.out
    assert nothing == []
    assert before == after
    assert moved.document["source"] == {
        "memory_entries": len(theirs),
        "conversations": len(said),
        "memory_agent_edges": len(edges),
    }
    assert moved.document["stored"] == {"entry": len(theirs), "turn": len(said), "delegation": len(edges)}
    assert dry.document["would_store"] == moved.document["stored"]
    assert moved.document["verified"] == len(theirs) + len(said)
    assert again.document["known"] == total
    assert (again.document["stored"], again.document["changed"], again.document["missing"]) == ({}, 0, [])
    assert len(said) >= 43
    for theirs_row, ours in zip(theirs, entries, strict=True):
        assert compared_entry(theirs_row) == compared_entry(ours)
        assert ours["origin"] == "import"
        assert json.loads(ours["metadata"])["imported"]["id"] == theirs_row["id"]
        compare_vectors(theirs_row["vector"], vectors.get(ours["id"]))
    places = {row["id"]: row for row in said}
    assert len(turns) == len(said)
    for ours in turns:
        origin = places[json.loads(ours["metadata"])["imported"]["id"]]
        assert (ours["content"], ours["role"], ours["ts"]) == (origin["content"].strip(), origin["role"], origin["ts"])
        assert (ours["agent_identity"], ours["session_id"]) == (theme_of(origin), origin["session_id"])
        compare_vectors(origin["vector"], vectors.get(ours["id"]))
    ours_m1 = [json.loads(row["metadata"])["imported"]["id"] for row in turns if row["session_id"] == "m1"]
    assert ours_m1 == [row["id"] for row in sorted(said, key=lambda r: (r["ts"], r["id"])) if row["session_id"] == "m1"]
    assert Counter(row["occurrence"] for row in turns if row["content"].startswith("Question 0")) == Counter(range(4))
    assert {row["subject"] for row in entries + turns if row["agent_identity"] == "whatsapp-dm"} == {bytes(ana)}
    assert {row["subject"] for row in entries + turns if row["agent_identity"] == "marketing"} == {b""}
    assert [(row["agent_identity"], row["parent_session_id"], row["child_session_id"]) for row in delegated] == [
        ("marketing", "m1", "c1")
    ]
    assert "caterers" in delegated[0]["task"]
    seen = {row["agent_identity"]: (row["first_seen_at"], row["last_seen_at"]) for row in registry}
    theirs_seen = {theme_of(row): (row["first_seen"], row["last_seen"]) for row in agents}
    assert theirs_seen.keys() == seen.keys() == {"marketing", "whatsapp-dm"}
    assert theirs_seen["marketing"][0] == seen["marketing"][0]
    assert theirs_seen["marketing"][1] <= seen["marketing"][1]
    assert moved.document["vectors"] == len(vectors) >= 44
    assert PHONE not in everything + moved.out + text.out
    assert "there already" in text.out
    assert "of another model" in text.out
    assert moved.document["notes"] == []
    assert "holds no memory" in other.err


@pytest.mark.timeout(400)
@pytest.mark.parametrize("release", releases())
async def test_the_converter_knows_every_setting_that_a_release_offers_or_reads(release: str) -> None:
    keys = await keys_of(release)
    unknown = set(keys) - {*RENAMED, *DROPPED, "dsn"}

    assert len(keys) >= 18
    assert unknown == set()


def compared_entry(row: Any) -> tuple[Any, ...]:
    at = row["said_at"] if "said_at" in row else row["updated_at"]
    return theme_of(row), row["target"], row["content"], at


def theme_of(row: Any) -> str:
    """Return the theme of a row. Releases before 0.6 leave the case of a name as it was given."""
    return str(row["agent_identity"]).casefold()


def compare_vectors(theirs: str | None, ours: list[float] | None) -> None:
    """What it stored without a vector, as it does at a shutdown, waits for one here."""
    if theirs is None or ours is None:
        assert (theirs, ours) == (None, None)
        return
    wanted = [float(number) for number in theirs[1:-1].split(",")]
    assert len(wanted) == len(ours) == DIMENSION
    assert max(abs(a - b) for a, b in zip(wanted, ours, strict=True)) < 1e-3


async def use_generation(database: Installation) -> None:
    """Make the model of the peer's vectors the one in use."""
    await database.administer_all(
        f"set role hermes_memory_owner; select hermes_memory.make_generation('{MODEL}', {DIMENSION}); "
        "select hermes_memory.activate_generation(2)"
    )


async def rows(dsn: str, statement: str) -> list[Any]:
    connection = await asyncpg.connect(dsn)
    try:
        return [dict(row) for row in await connection.fetch(statement)]
    finally:
        await connection.close()


async def fingerprint(dsn: str) -> str:
    """Return a digest of all that a peer's database holds, and of when it was last written."""
    found = [
        str(row)
        for table in ("memory_entries", "conversations", "memory_agents", "memory_agent_edges")
        for row in await rows(dsn, f"select xmin::text, ctid::text, t.* from {table} t order by 2")
    ]
    return hashlib.sha256("\n".join(found).encode()).hexdigest()


async def text_of_all(database: Installation) -> str:
    tables = await rows(
        database.admin_dsn,
        "select c.oid::regclass::text as name from pg_class c join pg_namespace n on n.oid = c.relnamespace "
        "where n.nspname = 'hermes_memory' and c.relkind in ('r', 'p') and not c.relispartition",
    )
    found = [await rows(database.admin_dsn, f"select t::text as t from {table['name']} t") for table in tables]
    return "".join(str(row["t"]) for each in found for row in each)
