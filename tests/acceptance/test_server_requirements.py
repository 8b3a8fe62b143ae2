"""A server whose pgvector is too old: who migrates and who asks the doctor is told so, and what to do."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.command import in_process
from tests.support.postgres import TestServer
from tests.support.postgres_store import Installation

OLD = "update pg_extension set extversion = '0.7.4' where extname = 'vector'"
"""What a database says of itself whose extension was made by an older pgvector and never updated."""


@pytest.fixture
def unmigrated(server: TestServer) -> Iterator[Installation]:
    """A database without a schema, whose extension is old."""
    place = Installation(server, server.unique_name("old"), server.unique_name("app"))
    asyncio.run(server.create_database(place.database))
    asyncio.run(place.administer_all(f"create extension vector; {OLD}"))
    yield place
    asyncio.run(server.drop_database(place.database))


def test_migrating_refuses_an_old_pgvector_before_it_makes_anything(
    unmigrated: Installation, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = in_process("migrate", "--admin-dsn", unmigrated.admin_dsn, "--runtime-role", unmigrated.role)
    said = capsys.readouterr()

    assert code == 64
    assert "the extension vector is 0.7.4, 0.8 or newer is needed" in said.err
    assert "alter extension vector update" in said.err
    asyncio.run(unmigrated.administer_all("create schema hermes_memory"))  # there is none


def test_the_doctor_names_an_old_pgvector_under_a_database_that_serves(
    database: Installation, served: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asyncio.run(database.administer_all(OLD))
    code = in_process("doctor")
    said = capsys.readouterr()

    assert code == 1
    assert "the extension vector is 0.7.4" in said.out
    assert "update it to 0.8 or newer" in said.out
